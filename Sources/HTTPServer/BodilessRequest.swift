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
    package init(_ method: HTTPMethod, _ target: Substring, _ fields: HTTPFields, _ connection: HTTPConnection) {
        self.method = method
        self.target = target
        self.fields = fields
        self.connection = connection
    }

    /// Creates the same request from one that NIO has parsed, without its body.
    package init(_ request: HTTPRequest) {
        self.init(request.head.method, request.head.uri[...], HTTPFields(request.head.headers), request.connection)
    }
}

/// A service that answers every request at its head and ignores bodies: ``HTTPService/receive(_:_:)`` returns `.answer`.
package protocol BodilessService: HTTPService {
    /// Answers a request, as ``HTTPService/answer(_:into:)`` does.
    func answer(_ request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer?
}

extension BodilessService {
    package func receive(_ head: HTTPRequestHead, _ connection: HTTPConnection) -> HTTPReception { .answer }

    package func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        answer(BodilessRequest(request), into: &output)
    }
}
