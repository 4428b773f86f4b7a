// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// What a file looked like at a glance: not the link to it, for that stays as it is where another file takes its place.
struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let times: [UInt8]

    /// Looks at a file; nil where it cannot be looked at.
    init?(_ path: String) {
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

/// What a configuration and the files that it names looked like.
///
/// To see a change, compare with what they looked like *before* they were read: what is written while they are read, or
/// before anybody watches, is a change too.
struct FileStamps: Equatable, Sendable {
    private let stamps: [String: FileStamp]

    /// What they look like now.
    init(_ configuration: GateConfiguration) {
        self.init(configuration, FileStamp(configuration.file.path))
    }

    /// What they looked like before they were read, where what `configuration` names is yet to be read.
    init(before configuration: GateConfiguration) {
        self.init(configuration, configuration.file.stamp)
    }

    private init(_ configuration: GateConfiguration, _ own: FileStamp?) {
        let named =
            configuration.trust.keys.map(\.file.value) + configuration.trust.anchors.map(\.value)
            + configuration.catalogue.feeds.map(\.file.value)
        var stamps: [String: FileStamp] = [:]
        for path in named { stamps[path] = FileStamp(path) }
        stamps[configuration.file.path] = own
        self.stamps = stamps
    }
}
