// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// Reports bytes to the connection before they are parsed. A request begins with its first byte and counts against the
/// budget before its head is complete.
package final class ArrivalHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer

    private let connection: HTTPConnectionHandler

    package init(_ connection: HTTPConnectionHandler) { self.connection = connection }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection.takesBytes(unwrapInboundIn(data).readableBytes) else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }
}
