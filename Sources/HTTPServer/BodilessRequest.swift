// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOHTTP1

/// A request that is answered at its head, in few copies: slices of one text.
package struct BodilessRequest {
    package let method: HTTPMethod
    /// The target, as it was sent.
    package let target: Substring
    package let fields: HTTPFields
    package let connection: HTTPConnection

    /// Creates a request that arrived in another protocol than HTTP/1.1.
    package init(method: HTTPMethod, target: Substring, fields: HTTPFields, connection: HTTPConnection) {
        self.method = method
        self.target = target
        self.fields = fields
        self.connection = connection
    }

    /// Creates the same request from one that NIO has parsed, without its body.
    package init(_ request: HTTPRequest) {
        self.init(
            method: request.head.method,
            target: request.head.uri[...],
            fields: HTTPFields(request.head.headers),
            connection: request.connection
        )
    }
}

/// A service that answers every request at its head and ignores bodies: ``HTTPService/receive(_:on:)`` returns `.answer`.
package protocol BodilessService: HTTPService {
    /// Answers a request, as ``HTTPService/respond(to:into:)`` does.
    func respond(to request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer?
}

extension BodilessService {
    package func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception { .answer }

    package func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        respond(to: BodilessRequest(request), into: &output)
    }
}
