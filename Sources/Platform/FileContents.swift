// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reason why a file cannot be read.
package struct FileFault: Error, Hashable {
    /// The description of the problem, without the path.
    package let reason: String
    /// True if there is no such file.
    package let isMissing: Bool

    package init(reason: String, isMissing: Bool = false) {
        self.reason = reason
        self.isMissing = isMissing
    }
}

extension String {
    /// Returns the text of the file at this path.
    ///
    /// - Parameter limit: The maximum size, in bytes.
    /// - Throws: ``FileFault`` if the file cannot be read, is too large or is not UTF-8.
    package func contentsOfFile(limit: Int) throws(FileFault) -> String {
        guard let text = String(validating: try bytesOfFile(limit: limit), as: UTF8.self) else {
            throw FileFault(reason: "is not UTF-8 text")
        }
        return text
    }

    /// The bytes of the file at this path.
    ///
    /// - Parameter limit: The most bytes that it may have.
    package func bytesOfFile(limit: Int) throws(FileFault) -> [UInt8] {
        var bytes: [UInt8] = []
        try readFile { chunk throws(FileFault) in
            bytes += chunk
            guard bytes.count <= limit else { throw FileFault(reason: "is larger than \(limit) bytes") }
        }
        return bytes
    }

    /// Passes the bytes of the file at this path to `body`, in chunks of up to 64 KiB.
    package func readFile(_ body: ([UInt8]) throws(FileFault) -> Void) throws(FileFault) {
        var file: CInt = -1
        repeat { file = unsafe open(self, O_RDONLY | O_CLOEXEC) } while file < 0 && errno == EINTR
        guard file >= 0 else {
            let isMissing = errno == ENOENT
            throw FileFault(reason: "cannot be opened: \(errorText)", isMissing: isMissing)
        }
        defer { close(file) }
        while true {
            var count = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, filled in
                repeat { count = unsafe read(file, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
                filled = max(0, count)
            }
            guard count >= 0 else { throw FileFault(reason: "cannot be read: \(errorText)") }
            if chunk.isEmpty { return }
            try body(chunk)
        }
    }

    /// This text without the trailing line ends that editors and shells append.
    package var trimmingTrailingLineEnds: Substring {
        var rest = self[...]
        while let last = rest.unicodeScalars.last, last == "\n" || last == "\r" { rest.unicodeScalars.removeLast() }
        return rest
    }
}

/// The system's text for the last error of this thread, such as `No such file or directory`.
private var errorText: String { unsafe String(cString: strerror(errno)) }
