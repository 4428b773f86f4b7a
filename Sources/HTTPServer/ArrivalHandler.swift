// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore
package import NIOHTTP1

/// Receives the bytes of a connection before NIO's decoder.
///
/// Reports bytes before they are parsed: a request begins with its first byte and counts against the budget before its
/// head is complete. Then reads plain heads itself, for a ``BodilessService``. Everything else is left to the decoder,
/// to its end.
package final class ArrivalHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private let connection: HTTPConnectionHandler
    /// The parser of plain heads; `nil` if the decoder reads everything.
    private var parser: PlainHeadParser?
    /// The beginning of a plain head.
    private var held = ByteBuffer()
    /// True if the decoder has the beginning of a request, or may have it.
    private var isDecoding = false

    /// Creates a handler in front of a decoder with `limits`.
    ///
    /// - Parameter readsPlainHeads: False to let the decoder read everything.
    package init(
        _ connection: HTTPConnectionHandler,
        limits: NIOHTTPDecoderLimitConfiguration,
        readsPlainHeads: Bool = true
    ) {
        self.connection = connection
        if readsPlainHeads, connection.bodiless != nil { parser = PlainHeadParser(limits) }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard connection.reserve(bytes.readableBytes) else { return context.close(promise: nil) }
        guard parser != nil else { return context.fireChannelRead(data) }
        if isDecoding { decode(bytes, in: context) } else { read(bytes, in: context) }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { endReading(context) }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        endReading(context)
        context.fireChannelInactive()
    }

    /// Leaves a head that remains incomplete to the decoder, which refuses it.
    private func endReading(_ context: ChannelHandlerContext) {
        isDecoding = true
        guard held.readableBytes > 0 else { return }
        let bytes = held
        held = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    /// The most bytes of a partial head that are read again when more arrives.
    private static let heldLimit = 8192

    /// Reads the plain heads at the beginning of `bytes`, of which each is answered before the next is read.
    private func read(_ bytes: ByteBuffer, in context: ChannelHandlerContext) {
        var bytes = bytes
        if held.readableBytes > 0 {
            held.writeBuffer(&bytes)
            swap(&held, &bytes)
            held = ByteBuffer()
        }
        while bytes.readableBytes > 0 {
            guard connection.isReady, let reading = parser?.read(bytes.readableBytesUInt8Span) else {
                return decode(bytes, in: context)
            }
            switch reading {
            case .whole(let size):
                let text = String(copying: bytes.readableBytesUInt8Span.extracting(first: size))
                bytes.moveReaderIndex(forwardBy: size)
                passRequest(text)
            case .partial:
                // What comes in many pieces would be read from its beginning for each.
                guard bytes.readableBytes <= Self.heldLimit else { return decode(bytes, in: context) }
                held = bytes
                return
            case .unusual: return decode(bytes, in: context)
            }
        }
    }

    /// Answers the request whose head has been read.
    private func passRequest(_ text: String) {
        guard let parser else { return }
        let fields = HTTPFields(text, locations: parser.ranges)
        connection.receive(parser.isHead ? .HEAD : .GET, target: fields.slice(parser.target), fields: fields)
    }

    /// Passes bytes to the decoder, and finds out if it has read all of them as whole requests.
    ///
    /// Bytes that end like a head may end a request. That is certain if the decoder reports the end of a request when
    /// it receives only the last byte. It then has no bytes left.
    private func decode(_ bytes: ByteBuffer, in context: ChannelHandlerContext) {
        isDecoding = true
        var first = bytes
        let size = bytes.readableBytes
        guard size > 4, bytes.readableBytesUInt8Span.starts(with: "\r\n\r\n", at: size - 4),
            let start = first.readSlice(length: size - 1)
        else { return context.fireChannelRead(wrapInboundOut(bytes)) }
        context.fireChannelRead(wrapInboundOut(start))
        connection.decoder.noteBytes()
        context.fireChannelRead(wrapInboundOut(first))
        isDecoding = !connection.decoder.isAtEnd
    }
}
