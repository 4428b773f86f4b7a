// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension String {
    /// Writes a file at this path that only its owner may read, and replaces an existing one at once. A reader finds
    /// the old content or the new, and a crash leaves one of them.
    ///
    /// - Throws: ``FileFault`` if it cannot be written. The old file stays then.
    package func replaceFile(with content: [UInt8]) throws(FileFault) {
        let new = self + ".new"
        _ = unsafe unlink(new)
        try new.writeNewFile(content)
        guard unsafe rename(new, self) != 0 else { return }
        let fault = Self.errorText
        _ = unsafe unlink(new)
        throw FileFault(reason: "cannot be written: \(fault)")
    }

    /// Writes a file at this path that only its owner may read, unless there is one, which stays as it is. Of several
    /// processes that do this at the same time, one writes.
    ///
    /// - Returns: False if there is a file already.
    /// - Throws: ``FileFault`` if it cannot be written. There is no file then.
    package func createFile(with content: [UInt8]) throws(FileFault) -> Bool {
        // Processes in containers have the same number.
        let new = self + ".new-\(UInt64.random(in: .min ... .max))"
        try new.writeNewFile(content)
        defer { _ = unsafe unlink(new) }
        guard unsafe link(new, self) != 0 else { return true }
        guard errno != EEXIST else { return false }
        throw FileFault(reason: "cannot be written: \(Self.errorText)")
    }

    /// Makes a folder at this path that only its owner may read, unless there is one.
    ///
    /// - Throws: ``FileFault`` if it cannot be made.
    package func createFolder() throws(FileFault) {
        guard unsafe mkdir(self, 0o700) != 0, errno != EEXIST else { return }
        throw FileFault(reason: "cannot be made: \(Self.errorText)")
    }

    private func writeNewFile(_ content: [UInt8]) throws(FileFault) {
        let file = unsafe open(self, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileFault(reason: "cannot be written: \(Self.errorText)") }
        var fault = Self.write(content, to: file)
        if fault == nil, fsync(file) != 0 { fault = Self.errorText }
        close(file)
        guard let fault else { return }
        _ = unsafe unlink(self)
        throw FileFault(reason: "cannot be written: \(fault)")
    }

    /// Writes all bytes. Returns the system's text for an error.
    private static func write(_ content: [UInt8], to file: CInt) -> String? {
        var sent = 0
        while sent < content.count {
            let count = unsafe content[sent...].withUnsafeBytes { bytes in
                #if canImport(Darwin)
                    unsafe Darwin.write(file, bytes.baseAddress, bytes.count)
                #elseif canImport(Musl)
                    unsafe Musl.write(file, bytes.baseAddress, bytes.count)
                #else
                    unsafe Glibc.write(file, bytes.baseAddress, bytes.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errorText }
            sent += count
        }
        return nil
    }

    /// The system's text for the last error of this thread.
    private static var errorText: String { unsafe String(cString: strerror(errno)) }
}
