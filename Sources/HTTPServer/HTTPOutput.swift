// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore

/// The buffer that gathers the answers of a connection until they are written.
package struct HTTPOutput {
    /// Complete answers up to a shared body, and that body.
    private var segments: [ByteBuffer] = []
    private var buffer = ByteBuffer()
    private var isBufferEmpty = true
    package var isEmpty: Bool { isBufferEmpty && segments.isEmpty }
    /// The number of bytes gathered.
    package var count: Int {
        (isBufferEmpty ? 0 : buffer.readableBytes) + segments.reduce(0) { $0 + $1.readableBytes }
    }
    /// True if the next answer is to a HEAD request.
    package var isHead = false
    /// The fields that end the head of the next answer.
    package var closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)

    /// The largest buffer, in bytes, that a connection retains for its next answers.
    private static let keptCapacity = 2048

    /// Removes the gathered bytes, in order. A buffer of ordinary size is retained for the next answer.
    package mutating func drain(_ write: (ByteBuffer) -> Void) {
        if !segments.isEmpty {
            for segment in segments { write(segment) }
            segments = []
        }
        if !isBufferEmpty { write(drainBuffer()) }
    }

    private mutating func drainBuffer() -> ByteBuffer {
        isBufferEmpty = true
        guard buffer.capacity > Self.keptCapacity else { return buffer }
        defer { buffer = ByteBuffer() }
        return buffer
    }

    package mutating func write(atMost limit: Int, _ body: (inout ByteWriter) -> Void) {
        if isBufferEmpty { buffer.clear() }
        isBufferEmpty = false
        buffer.write(atMost: limit, body)
    }

    package mutating func write(_ answer: some HTTPAnswer) {
        let (isHead, closing) = (isHead, closing)
        write(atMost: answer.limit + HTTPCommonFields.limit) { writer in
            answer.write(into: &writer, isHead: isHead, closing: closing)
        }
        guard let body = answer.sharedBody, !isHead else { return }
        segments.append(drainBuffer())
        segments.append(body)
    }

    /// Writes an available answer, or returns one that must be awaited.
    package mutating func write<Answer: HTTPAnswer>(_ reply: Reply<Answer>) -> PendingAnswer? {
        switch reply {
        case .now(let answer): write(answer)
        case .later(let pending): return pending.map { $0 }
        case .last(let answer):
            closing.closesConnection = true
            write(answer)
        }
        return nil
    }
}
