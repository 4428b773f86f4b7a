// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AsyncHTTPClient
internal import Encodings
internal import Entitlements
internal import NIOCore
internal import NIOHTTP1

/// A connection to one service. It sends the application's access token, limits the time, retries if that can help, and
/// turns error responses into a ``ServiceFailure``.
struct ServiceConnection: Sendable {
    let url: String
    let settings: ConnectionSettings
    let tokens: AccessTokens
    /// The header fields of every request with the access token.
    let headers: [(String, String)]
    /// The application's options, for every request.
    let options: RequestOptions

    /// Sends a request, and returns the response if it is a success or has a status in `accepting`.
    func send(_ request: ServiceRequest, accepting: Set<Int> = []) async throws(ServiceFailure) -> ServiceAnswer {
        try await send(request, accepting: accepting) { answer throws(ServiceFailure) in answer }
    }

    /// Sends a request, and reads the response. A failure that `read` throws counts as a failure of the request: a successful
    /// response may report that its provider did not answer.
    func send<Value: Sendable>(
        _ request: ServiceRequest,
        accepting: Set<Int> = [],
        read: (ServiceAnswer) throws(ServiceFailure) -> Value
    ) async throws(ServiceFailure) -> Value {
        guard request.path.allSatisfy({ !$0.isEmpty && URIPath.dots(of: $0.utf8.span) == 0 }) else {
            throw .unreadable("an identifier is empty, \".\" or \"..\", which cannot be a path segment", httpStatus: 0)
        }
        var attempts = Attempts(settings)
        while true {
            do throws(ServiceFailure) { return try read(try await authorized(request, accepting: accepting)) } catch {
                guard error.isRetried, request.isRepeatable || error.isBeforeRequest,
                    try await attempts.next(after: error.retryAfter)
                else { throw error }
            }
        }
    }

    /// Sends a request once, or twice if the service rejects the access token: a revoked token is replaced by a new one.
    private func authorized(
        _ request: ServiceRequest,
        accepting: Set<Int>
    ) async throws(ServiceFailure) -> ServiceAnswer {
        guard request.isAuthorized else { return try await once(request, token: nil, accepting: accepting) }
        let token = try await token()
        do throws(ServiceFailure) { return try await once(request, token: token, accepting: accepting) } catch {
            guard error.httpStatus == 401 else { throw error }
            await tokens.discard(token)
            return try await once(request, token: try await self.token(), accepting: accepting)
        }
    }

    private func token() async throws(ServiceFailure) -> String {
        do throws(ServiceFailure) { return try await tokens.token(options) } catch {
            var failure = error
            failure.isBeforeRequest = true
            throw failure
        }
    }

    private func once(
        _ request: ServiceRequest,
        token: String?,
        accepting: Set<Int>
    ) async throws(ServiceFailure) -> ServiceAnswer {
        var request = request
        request.add(options)
        request.headers += headers
        if let token { request.headers.append(("Authorization", "Bearer \(token)")) }
        let answer = try await settings.http.send(request, to: url, within: settings.timeout)
        if 200..<300 ~= answer.status || accepting.contains(answer.status) { return answer }
        throw answer.failure
    }

    /// Sends a request and decodes the JSON body of the response.
    func value<Value: Decodable & Sendable>(
        _ type: Value.Type,
        for request: ServiceRequest
    ) async throws(ServiceFailure) -> Value {
        let answer = try await send(request)
        return try answer.value(type)
    }
}

/// The settings that all connections of a client share.
struct ConnectionSettings: Sendable {
    let http: HTTPTransport
    var retry: RetryPolicy
    /// The time limit of one request with its whole response.
    let timeout: Duration
    /// Sleeps between attempts; tests replace it.
    let sleep: @Sendable (Duration) async throws -> Void
}

extension ServiceAnswer {
    /// Decodes the body from JSON.
    func value<Value: Decodable>(_ type: Value.Type) throws(ServiceFailure) -> Value {
        do throws(EntitlementBodyError) { return try EntitlementBody.read(type, json: body) } catch {
            throw .unreadable("the response cannot be parsed: \(error.message)", httpStatus: status)
        }
    }

    /// Decodes the body from XML.
    func xml<Value>(
        _ read: ([UInt8]) throws(EntitlementBodyError) -> Value
    ) throws(ServiceFailure) -> Value {
        do throws(EntitlementBodyError) { return try read(body) } catch {
            throw .unreadable("the response cannot be parsed: \(error.message)", httpStatus: status)
        }
    }

    /// The failure that this response describes, if it is not a success.
    var failure: ServiceFailure {
        let known =
            (try? EntitlementBody.read(ErrorBody.self, json: body))?.status ?? (isXML ? try? Status(xml: body) : nil)
        var failure: ServiceFailure =
            if status == 429 {
                .throttled(known)
            } else if let known {
                ServiceFailure(known, httpStatus: status)
            } else {
                .unreadable("the service returned HTTP status \(status) without an error body", httpStatus: status)
            }
        failure.status.retryAfter =
            headers.first(name: "retry-after").flatMap { Int64($0) }
            .flatMap { 0...86_400 ~= $0 ? .seconds($0) : nil } ?? failure.status.retryAfter
        return failure
    }
}

/// An error in JSON. That of a preauthorization is wrapped in the body of a regular response.
private struct ErrorBody: Decodable {
    let status: Status

    private enum Key: CodingKey { case status }

    init(from decoder: any Decoder) throws {
        if let status = try? Status(from: decoder) {
            self.status = status
        } else {
            status = try decoder.container(keyedBy: Key.self).decode(Status.self, forKey: .status)
        }
    }
}
