// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore

/// Tells the connection of bytes before they are parsed: a request begins with its first byte, and counts against the
/// budget long before its head is whole.
final class ArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: HTTPConnectionHandler

    init(_ connection: HTTPConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection.takesBytes(unwrapInboundIn(data).readableBytes) else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }
}
