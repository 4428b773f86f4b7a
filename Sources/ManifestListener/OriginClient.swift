// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import AsyncHTTPClient
package import GateAPI
package import GateConfiguration
internal import Manifests
package import NIOCore
package import NIOHTTP1
internal import NIOHTTPCompression
internal import Platform
internal import Telemetry

/// Fetches manifests from their origin, each with limits of time and size.
package final class OriginClient: Sendable {
    package let client: HTTPClient

    /// - Parameter settings: The time for a connection, the number of fetches and the largest manifest; later changes of them
    ///   need a new client.
    package init(_ settings: GateConfiguration.Manifest, loops: any EventLoopGroup) {
        var configuration = HTTPClient.Configuration()
        // Followed here, within their rules.
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: TimeAmount(settings.limits.connect))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.limits.fetches
        configuration.httpVersion = .http1Only
        configuration.decompression = .enabled(limit: .size(settings.limits.bytes))
        client = HTTPClient(eventLoopGroupProvider: .shared(loops), configuration: configuration)
    }

    /// Ends all connections.
    package func shutdown() async { try? await client.shutdown() }

    /// Fetches a manifest. Cancelling the task ends the fetch.
    ///
    /// - Parameters:
    ///   - accept: The value of `Accept`.
    ///   - settings: The time for the head and the body of the answer, and the largest body.
    package func fetch(
        _ url: String,
        isHead: Bool,
        accept: String,
        by settings: GateConfiguration.Manifest
    ) async -> Result<Answer, ManifestRefusal> {
        do {
            let (response, url) = try await response(from: url, isHead: isHead, accept: accept, by: settings)
            if let fault = Self.fault(response) { return .failure(fault) }
            if isHead { return .success(Answer(url: url, headers: response.headers, body: ByteBuffer())) }
            if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }) {
                guard length <= settings.limits.bytes else { return .failure(.manifest(.tooLarge)) }
            }
            let body = try await Self.collect(response.body, by: settings)
            return .success(Answer(url: url, headers: response.headers, body: body))
        } catch { return .failure(ManifestRefusal(error)) }
    }

    /// Requests a URL, and follows its redirects. Returns the first response that is none, and its URL.
    private func response(
        from first: String,
        isHead: Bool,
        accept: String,
        by settings: GateConfiguration.Manifest
    ) async throws -> (HTTPClientResponse, url: String) {
        var url = first
        let deadline = NIODeadline.now() + TimeAmount(settings.limits.response)
        for _ in 0...OriginRedirects.maximum {
            var request = HTTPClientRequest(url: url)
            request.method = isHead ? .HEAD : .GET
            request.headers = [
                "Accept": accept, "Accept-Encoding": "gzip", "User-Agent": "Playgate/\(GateVersion.current)",
            ]
            let response = try await client.execute(request, deadline: deadline)
            guard [301, 302, 303, 307, 308].contains(response.status.code) else { return (response, url) }
            let locations = response.headers["location"]
            guard let location = locations.first, locations.count == 1,
                let target = settings.redirects.target(of: location, from: url)
            else { break }
            url = target
        }
        throw ManifestRefusal.redirected
    }

    private static func fault(_ response: HTTPClientResponse) -> ManifestRefusal? {
        switch response.status.code {
        case 200: break
        case 404, 410: return .notFound
        default: return .failed
        }
        // The client has decoded these; others would reach the player as if they were text.
        let codings = response.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
        return codings.allSatisfy { ["identity", "gzip", "deflate"].contains($0) } && codings.count < 2
            ? nil : .encoding
    }

    /// Reads a body within its limits of time and size.
    private static func collect(
        _ body: HTTPClientResponse.Body,
        by settings: GateConfiguration.Manifest
    ) async throws -> ByteBuffer {
        try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask { try await body.collect(upTo: settings.limits.bytes) }
            group.addTask {
                try await Task.sleep(for: settings.limits.body)
                throw ManifestRefusal.timedOut
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw ManifestRefusal.unreachable }
            return first
        }
    }
}

extension ManifestRefusal {
    /// The fault that an error of the client is.
    fileprivate init(_ error: any Error) {
        switch error {
        case let fault as ManifestRefusal: self = fault
        case is CancellationError: self = .abandoned
        case is NIOTooManyBytesError: self = .manifest(.tooLarge)
        case let error as NIOHTTPDecompression.DecompressionError:
            self = error == .limit ? .manifest(.tooLarge) : .encoding
        case is NIOHTTPDecompression.ExtraDecompressionError: self = .encoding
        case let error as HTTPClientError where error == .cancelled: self = .abandoned
        case let error as HTTPClientError
        where error == .deadlineExceeded || error == .connectTimeout || error == .getConnectionFromPoolTimeout:
            self = .timedOut
        default: self = .unreachable
        }
    }
}

extension OriginClient {
    /// The answer of an origin with status 200.
    package struct Answer: Sendable {
        /// Its URL: the requested one, or that of the last redirect.
        package let url: String
        package let headers: HTTPHeaders
        /// The body, decoded; empty for HEAD.
        package let body: ByteBuffer
    }
}
