// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Platform

/// The processing of a file of tokens, one on a line, on all cores and in constant memory.
///
/// Blocks of lines are processed concurrently, and their results are written in the order of the file.
package enum LineBatch {
    /// A block of complete lines, each with a line feed at its end.
    package struct Lines: Sendable {
        package let text: [UInt8]
        /// The number of the first line in its file, from 1.
        package let first: Int

        /// Passes each line with its number, without the end of the line. Blank lines are counted, and not passed.
        package func forEach(_ body: (Int, ArraySlice<UInt8>) throws -> Void) rethrows {
            var (number, start) = (first, text.startIndex)
            while let end = text.span.firstIndex(of: UInt8(ascii: "\n"), from: start) {
                let line = text[start..<end]
                start = end + 1
                let content = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
                let isBlank = content.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
                if !isBlank { try body(number, content) }
                number += 1
            }
        }
    }

    /// The result of a block of lines.
    package struct Block: Sendable {
        /// The lines to write.
        package var output: [UInt8] = []
        /// The number of lines by their verdicts.
        package var counts: [String: Int] = [:]

        /// Creates an empty result.
        package init() {}

        /// Adds the result of a line.
        package mutating func add(_ verdict: String, line: Int, members: [JSON.Member]) {
            JSON.object([("line", .number(Int64(line)))] + members).write(to: &output)
            output.append(UInt8(ascii: "\n"))
            counts[verdict, default: 0] += 1
        }
    }

    /// Processes the file at `path`, or standard input for `-`. Returns the number of lines by their verdicts.
    ///
    /// - Parameters:
    ///   - lines: An assembler of lines.
    ///   - jobs: The number of blocks that are processed at once; `nil` for all cores.
    ///   - process: Returns the result of a block of complete lines.
    package static func run(
        on path: String,
        lines: BatchLines,
        jobs: Int?,
        process: @escaping @Sendable (Lines) throws -> Block
    ) async throws -> [String: Int] {
        let file = try InputFile(path)
        defer { file.close() }
        var lines = LineBlocks(file: file, lines: lines)
        var progress = ProgressBar(total: file.size)
        // A failure, too, leaves no bar behind.
        defer { progress.clear() }
        var counts: [String: Int] = [:]
        var (next, written) = (0, 0)
        var finished: [Int: Block] = [:]
        try await withThrowingTaskGroup(of: (Int, Block).self) { group in
            var running = 0
            while true {
                while running < jobs ?? onlineCores(), let text = try lines.next() {
                    let index = next
                    group.addTask { (index, try process(text)) }
                    next += 1
                    running += 1
                }
                guard let (index, block) = try await group.next() else { break }
                running -= 1
                finished[index] = block
                // A slow block delays the output of the blocks behind it. Blocks are of similar size, so these are few.
                while let block = finished.removeValue(forKey: written) {
                    Terminal.output.write(block.output)
                    counts.merge(block.counts, uniquingKeysWith: +)
                    written += 1
                }
                progress.show(done: lines.bytesRead, note: "\(counts.values.reduce(0, +)) tokens")
            }
        }
        return counts
    }
}

/// The blocks of lines of a file.
private struct LineBlocks {
    private let file: InputFile
    private var lines: BatchLines
    private var isAtEnd = false
    private(set) var bytesRead = 0
    /// The number of the next line.
    private var number = 1

    /// The size of a block, in bytes: some hundred tokens, enough for some milliseconds.
    private static let blockSize = 256 * 1024

    init(file: InputFile, lines: BatchLines) {
        self.file = file
        self.lines = lines
    }

    mutating func next() throws(CommandFailure) -> LineBatch.Lines? {
        while !isAtEnd {
            let piece = try file.read(upTo: Self.blockSize)
            bytesRead += piece.count
            isAtEnd = piece.isEmpty
            let block = isAtEnd ? lines.end() : lines.add(piece)
            guard !block.isEmpty else { continue }
            defer { number += Self.lines(in: block) }
            return LineBatch.Lines(text: block, first: number)
        }
        return nil
    }

    private static func lines(in block: [UInt8]) -> Int {
        var (count, start) = (0, 0)
        while let end = block.span.firstIndex(of: UInt8(ascii: "\n"), from: start) {
            (count, start) = (count + 1, end + 1)
        }
        return count
    }
}
