// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import SystemPackage

/// A file that is read sequentially; `-` is standard input.
package struct InputFile {
    private let descriptor: FileDescriptor
    private let name: String

    /// Opens a file.
    ///
    /// - Parameter path: The path of a file, or `-`.
    /// - Throws: ``CommandFailure`` if the file cannot be opened.
    package init(_ path: String) throws(CommandFailure) {
        name = path == "-" ? "standard input" : path
        guard path != "-" else {
            descriptor = .standardInput
            return
        }
        do { descriptor = try FileDescriptor.open(FilePath(path), .readOnly) } catch {
            throw CommandFailure("\(path): cannot be opened: \(error)", code: "input_unreadable")
        }
    }

    /// The size in bytes; `nil` if the file is empty or not seekable, such as a pipe.
    package var size: Int? {
        guard let end = try? descriptor.seek(offset: 0, from: .end), end > 0 else { return nil }
        _ = try? descriptor.seek(offset: 0, from: .start)
        return Int(end)
    }

    /// Reads up to `count` bytes; returns an empty array at the end of the file.
    package func read(upTo count: Int) throws(CommandFailure) -> [UInt8] {
        do {
            return try unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
                read = try unsafe descriptor.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
        } catch { throw CommandFailure("\(name): cannot be read: \(error)", code: "input_unreadable") }
    }

    /// Reads the rest of the file, at most `limit` bytes.
    package func bytes(limit: Int) throws(CommandFailure) -> [UInt8] {
        var content: [UInt8] = []
        while true {
            let chunk = try read(upTo: 64 * 1024)
            if chunk.isEmpty { break }
            content += chunk
            guard content.count <= limit else {
                throw CommandFailure("\(name): larger than \(limit) bytes", code: "input_too_large")
            }
        }
        return content
    }

    /// Reads the rest of the file as UTF-8 text, at most `limit` bytes.
    package func text(limit: Int) throws(CommandFailure) -> String {
        let content = try bytes(limit: limit)
        guard let text = String(validating: content, as: UTF8.self) else {
            throw CommandFailure("\(name): not UTF-8 text", code: "input_invalid_utf8")
        }
        return text
    }

    package func close() {
        if descriptor.rawValue > 2 { try? descriptor.close() }
    }

    /// Returns the text of the file at `path`, or of standard input for `-`, without the trailing line ends that editors and
    /// shells append. Tokens and resources enforce their own, smaller limits.
    package static func text(_ path: String) throws(CommandFailure) -> String {
        let file = try InputFile(path)
        defer { file.close() }
        var text = try file.text(limit: 1 << 20)[...]
        while let last = text.utf8.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            text = Substring(text.unicodeScalars.dropLast())
        }
        return String(text)
    }

    /// Returns the text of an argument, which may be `@FILE` or `-`.
    package static func argument(_ argument: String) throws(CommandFailure) -> String {
        if argument == "-" { return try text("-") }
        return argument.hasPrefix("@") ? try text(String(argument.dropFirst())) : argument
    }
}
