// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import SystemPackage

/// Why a file cannot be read.
package struct FileFault: Error, Hashable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

extension String {
    /// The text of the file at this path.
    ///
    /// - Parameter limit: The most bytes that it may have.
    package func contentsOfFile(limit: Int) throws(FileFault) -> String {
        var bytes: [UInt8] = []
        try readFile { chunk throws(FileFault) in
            bytes += chunk
            guard bytes.count <= limit else { throw FileFault(reason: "is larger than \(limit) bytes") }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw FileFault(reason: "is not UTF-8 text")
        }
        return text
    }

    /// Hands out the bytes of the file at this path, piece by piece.
    package func readFile(_ body: ([UInt8]) throws(FileFault) -> Void) throws(FileFault) {
        let file: FileDescriptor
        do { file = try FileDescriptor.open(FilePath(self), .readOnly) } catch {
            throw FileFault(reason: "cannot be opened: \(error)")
        }
        defer { try? file.close() }
        while true {
            let chunk: [UInt8]
            do {
                chunk = try unsafe [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
                    count = try unsafe file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
            } catch { throw FileFault(reason: "cannot be read: \(error)") }
            if chunk.isEmpty { return }
            try body(chunk)
        }
    }

    /// This text without line ends behind it, as editors and shells put there.
    package var trimmingTrailingLineEnds: Substring {
        var rest = self[...]
        while let last = rest.unicodeScalars.last, last == "\n" || last == "\r" { rest.unicodeScalars.removeLast() }
        return rest
    }
}
