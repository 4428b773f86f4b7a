// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import SystemPackage

// What swift-system has no call for.

extension FileDescriptor {
    /// The next bytes; none at the end.
    func chunk() throws -> [UInt8] {
        try unsafe [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
            count = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}

extension FileDescriptor {
    /// Waits until the bytes are on the disk.
    func synchronise() throws(Errno) {
        guard fsync(rawValue) == 0 else { throw Errno(rawValue: errno) }
    }
}

extension FilePath {
    /// Puts this file in the place of another, at once.
    func replace(_ other: FilePath) throws(Errno) {
        let result = unsafe withPlatformString { old in
            unsafe other.withPlatformString { new in
                #if canImport(Darwin)
                    unsafe Darwin.rename(old, new)
                #elseif canImport(Musl)
                    unsafe Musl.rename(old, new)
                #else
                    unsafe Glibc.rename(old, new)
                #endif
            }
        }
        guard result == 0 else { throw Errno(rawValue: errno) }
    }

    /// Removes the file, if it is there.
    func remove() { _ = unsafe withPlatformString { unsafe unlink($0) } }
}

extension UserID {
    /// The user as whom this process acts.
    static var effectiveOfThisProcess: UserID { UserID(rawValue: geteuid()) }
}
