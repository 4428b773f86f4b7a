// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AsyncHTTPClient
internal import ConfigurationReading
internal import Encodings
package import GateConfiguration
package import NIOCore
internal import NIOHTTP1

/// A collector of spans, reached by OTLP/HTTP in JSON. Redirects are not followed.
package final class SpanCollector: Sendable {
    private let client: HTTPClient
    private let settings: GateConfiguration.Traces

    private static let limit = TimeAmount.seconds(10)
    private static let largestAnswer = 64 * 1024

    package init(_ settings: GateConfiguration.Traces, loops: any EventLoopGroup) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(2))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        client = HTTPClient(eventLoopGroupProvider: .shared(loops), configuration: configuration)
        self.settings = settings
    }

    /// Ends all connections.
    package func shutdown() async { try? await client.shutdown() }

    /// Sends a batch.
    package func send(_ body: [UInt8]) async -> Answer {
        var request = HTTPClientRequest(url: settings.endpoint)
        request.method = .POST
        request.headers = [
            "Content-Type": "application/json", "User-Agent": "Playgate/\(GateVersion.current)",
        ]
        for header in settings.headers { request.headers.replaceOrAdd(name: header.name, value: header.value.text) }
        request.body = .bytes(body)
        do {
            let response = try await client.execute(request, timeout: Self.limit)
            let text = try? await response.body.collect(upTo: Self.largestAnswer)
            return Answer(status: response.status, headers: response.headers, body: text ?? ByteBuffer())
        } catch { return .later("\(error)", after: nil) }
    }
}

extension SpanCollector.Answer {
    fileprivate init(status: HTTPResponseStatus, headers: HTTPHeaders, body: ByteBuffer) {
        switch status.code {
        case 200..<300:
            let partial = try? JSONReader.read(body.readableBytesUInt8Span, limits: Self.limits)["partialSuccess"]
            self = .taken(refused: partial?["rejectedSpans"].number ?? 0, partial?["errorMessage"]?.text ?? "")
        case 429, 502, 503, 504:
            let seconds = headers.first(name: "retry-after").flatMap { Int64($0) }
            self = .later("status \(status.code)", after: seconds.map { .seconds(min(max($0, 1), 300)) })
        default: self = .refused("status \(status.code)")
        }
    }

    private static let limits = JSONLimits(depth: 8, members: 64, elements: 64)
}

extension JSON? {
    /// A 64-bit integer in the JSON form of Protocol Buffers: a string or a number.
    fileprivate var number: Int? {
        switch self {
        case .number(let number): Int(number)
        case .string(let text): Int(text)
        default: nil
        }
    }
}

extension SpanCollector {
    /// The answer to a batch.
    package enum Answer: Sendable {
        /// The collector has the batch, except for a number of spans.
        case taken(refused: Int, _ reason: String)
        /// The collector will not have the batch.
        case refused(_ reason: String)
        /// The batch is to be sent again.
        case later(_ reason: String, after: Duration?)
    }
}
