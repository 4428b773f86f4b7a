// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What a file looked like at a glance: not the link to it, for that stays as it is where another file takes its place.
package struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let times: [UInt8]

    /// Looks at a file; nil where it cannot be looked at.
    package init?(_ path: String) {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        number = UInt64(truncatingIfNeeded: facts.st_ino)
        size = Int64(facts.st_size)
        #if canImport(Darwin)
            let (modified, changed) = (facts.st_mtimespec, facts.st_ctimespec)
        #else
            let (modified, changed) = (facts.st_mtim, facts.st_ctim)
        #endif
        // Of its content, and of who may read it.
        times =
            unsafe withUnsafeBytes(of: modified) { unsafe Array($0) }
            + withUnsafeBytes(of: changed) { unsafe Array($0) }
    }
}
