// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import Platform

/// The lines of several files as one sequence, in the order of their times, in constant memory.
///
/// Each file is in that order, or nearly so: the earliest of the files' next lines comes first.
package struct MergedLines<Element> {
    /// The meaning of a line.
    package enum Line {
        case element(Element, at: Timestamp)
        case skipped
    }

    private var files: [FileLines]
    /// The next element of each file; `nil` at its end.
    private var heads: [(element: Element, time: Timestamp)?] = []
    private let read: (ArraySlice<UInt8>) -> Line
    private var progress: ProgressBar

    /// Opens files.
    ///
    /// - Parameters:
    ///   - paths: The paths of files; `-` is standard input.
    ///   - longest: The maximum size of a line, in bytes. The rest of a longer one is cut.
    ///   - read: Returns the meaning of a line, without its end.
    /// - Throws: ``CommandFailure`` if a file cannot be opened or read.
    package init(
        _ paths: [String],
        longest: Int,
        read: @escaping (ArraySlice<UInt8>) -> Line
    ) throws(CommandFailure) {
        self.read = read
        files = []
        for path in paths { files.append(FileLines(try InputFile(path), longest: longest)) }
        let sizes = files.map(\.size)
        progress = ProgressBar(total: sizes.contains(nil) ? nil : sizes.reduce(0) { $0 + ($1 ?? 0) })
        for index in files.indices { heads.append(try nextElement(of: index)) }
    }

    /// Returns the next element; `nil` at the end of all files.
    package mutating func next() throws(CommandFailure) -> Element? {
        do throws(CommandFailure) { return try earliest() } catch {
            // A failure, too, leaves no bar behind.
            progress.clear()
            throw error
        }
    }

    private mutating func earliest() throws(CommandFailure) -> Element? {
        let times = heads.indices.compactMap { index in heads[index].map { (time: $0.time, index: index) } }
        guard let first = times.min(by: { $0.time < $1.time }), let head = heads[first.index] else {
            progress.clear()
            return nil
        }
        heads[first.index] = try nextElement(of: first.index)
        progress.show(done: files.reduce(0) { $0 + $1.bytesRead }, note: "")
        return head.element
    }

    private mutating func nextElement(of index: Int) throws(CommandFailure) -> (element: Element, time: Timestamp)? {
        while let line = try files[index].next() {
            if case .element(let element, let time) = read(line) { return (element, time) }
        }
        return nil
    }
}

/// The lines of a file, one after the other.
private struct FileLines {
    private let file: InputFile
    private let longest: Int
    private var block: [UInt8] = []
    private var position = 0
    private(set) var bytesRead = 0
    private var isAtEnd = false
    let size: Int?

    private static let blockSize = 256 * 1024

    init(_ file: InputFile, longest: Int) {
        (self.file, self.longest) = (file, longest)
        size = file.size
    }

    /// Returns the next line without its end, at most one byte longer than permitted; `nil` at the end of the file.
    mutating func next() throws(CommandFailure) -> ArraySlice<UInt8>? {
        var line: [UInt8] = []
        while !isAtEnd {
            let rest = block[position...]
            if let end = rest.span.firstIndex(of: UInt8(ascii: "\n"), from: 0).map({ rest.startIndex + $0 }) {
                position = end + 1
                return (line + rest[..<end]).prefix(longest + 1)
            }
            line += rest.prefix(longest + 1 - line.count)
            block = try file.read(upTo: Self.blockSize)
            (position, bytesRead) = (0, bytesRead + block.count)
            isAtEnd = block.isEmpty
            if isAtEnd { file.close() }
        }
        return line.isEmpty ? nil : line[...]
    }
}
