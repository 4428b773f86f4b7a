// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore
package import NIOHTTP1

/// The time limits of a client.
package struct HTTPTimeLimits: Sendable {
    /// The time from the connection, or the first byte of a request, to the last byte of the request.
    package let request: TimeAmount
    /// The time from an answer to the next request.
    package let idle: TimeAmount

    package init(_ limits: HTTPLimits) {
        request = TimeAmount(limits.requestTimeout)
        idle = TimeAmount(limits.idleTimeout)
    }
}

/// The facts in a request's head about its connection and its body.
package struct HTTPFramingFacts {
    /// True if the connection ends after this request.
    private(set) var isLast: Bool
    private(set) var contentLength: Int?
    private(set) var expectsContinue = false

    package init(_ head: HTTPRequestHead) {
        // NIO parses nothing after a CONNECT or a request with `Upgrade`, neither of which is granted.
        isLast = head.version != .http1_1 || head.method == .CONNECT
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 6 where name.isSameField("expect"): expectsContinue = value.isSameField("100-continue")
            case 7 where name.isSameField("upgrade"): isLast = true
            case 10 where name.isSameField("connection"): if !value.isSameField("keep-alive") { isLast = true }
            case 14 where name.isSameField("content-length"): contentLength = Int(value)
            default: break
            }
        }
    }
}
