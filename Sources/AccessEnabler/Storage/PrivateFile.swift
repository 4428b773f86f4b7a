// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import SystemPackage

// System calls that swift-system does not wrap.

extension FileDescriptor {
    /// Reads the next bytes; empty at the end of the file.
    func chunk() throws -> [UInt8] {
        try unsafe [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
            count = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}

extension FileDescriptor {
    /// Waits until the bytes are written to the disk.
    func synchronise() throws(Errno) {
        guard fsync(rawValue) == 0 else { throw Errno(rawValue: errno) }
    }
}

extension FilePath {
    /// Replaces another file with this one, atomically.
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

    /// Creates the folder and its missing parents, only for this user.
    func makeFolders() {
        guard !isEmpty, !components.isEmpty else { return }
        removingLastComponent().makeFolders()
        _ = unsafe withPlatformString { unsafe mkdir($0, 0o700) }
    }

    /// Removes the file if it exists.
    func remove() { _ = unsafe withPlatformString { unsafe unlink($0) } }
}

extension UserID {
    /// The effective user of this process.
    static var effectiveOfThisProcess: UserID { UserID(rawValue: geteuid()) }
}
