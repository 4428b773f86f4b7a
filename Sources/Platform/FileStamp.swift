// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The device, inode, size and times of a file, to detect changes. Symbolic links are followed, because a link stays
/// unchanged if another file replaces its target.
package struct FileStamp: Hashable, Sendable {
    private let identity: FileIdentity
    private let size: Int64
    private let times: [UInt8]

    /// Reads the stamp of a file; `nil` if that fails.
    package init?(_ path: String) {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        identity = FileIdentity(facts)
        size = Int64(facts.st_size)
        #if canImport(Darwin)
            let (modified, changed) = (facts.st_mtimespec, facts.st_ctimespec)
        #else
            let (modified, changed) = (facts.st_mtim, facts.st_ctim)
        #endif
        // The times of the last change to the content, and to the permissions.
        times =
            unsafe withUnsafeBytes(of: modified) { unsafe Array($0) }
            + withUnsafeBytes(of: changed) { unsafe Array($0) }
    }
}

/// The device and inode of a file: the same for as long as it is this file, even if its content changes.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// Reads the identity of the file at a path; `nil` if there is none. Symbolic links are followed.
    package init?(_ path: String) {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }

    fileprivate init(_ facts: stat) {
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        number = UInt64(truncatingIfNeeded: facts.st_ino)
    }
}
