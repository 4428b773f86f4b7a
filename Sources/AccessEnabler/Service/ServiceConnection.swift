// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AsyncHTTPClient
internal import Entitlements
internal import NIOCore
internal import NIOHTTP1

/// How to ask one service: it shows the application's access token, waits no longer than it may, asks again where that may
/// help, and turns what is no answer into a ``ServiceFailure``.
struct ServiceConnection: Sendable {
    let url: String
    let settings: ConnectionSettings
    let tokens: AccessTokens
    /// What goes along with every call.
    let headers: [(String, String)]

    /// Asks, and gives the answer where it is a success, or has a status in `accepting`.
    func send(_ request: ServiceRequest, accepting: Set<Int> = []) async throws(ServiceFailure) -> ServiceAnswer {
        guard request.path.allSatisfy({ !["", ".", ".."].contains($0) }) else {
            throw .unreadable("an id is empty, or cannot stand in a path", httpStatus: 0)
        }
        return try await settings.repeated(while: request.isRepeatable) { () async throws(ServiceFailure) in
            try await authorized(request, accepting)
        }
    }

    /// Asks once, or twice where the access token is not taken: it may have been withdrawn, and then a new one helps.
    private func authorized(
        _ request: ServiceRequest,
        _ accepting: Set<Int>
    ) async throws(ServiceFailure) -> ServiceAnswer {
        guard request.isAuthorized else { return try await once(request, nil, accepting) }
        let token = try await tokens.token()
        do throws(ServiceFailure) { return try await once(request, token, accepting) } catch {
            guard error.httpStatus == 401 else { throw error }
            await tokens.discard(token)
            return try await once(request, try await tokens.token(), accepting)
        }
    }

    private func once(
        _ request: ServiceRequest,
        _ token: String?,
        _ accepting: Set<Int>
    ) async throws(ServiceFailure) -> ServiceAnswer {
        var request = request
        request.headers += headers
        if let token { request.headers.append(("Authorization", "Bearer \(token)")) }
        let answer = try await settings.http.answer(request, at: url, within: settings.timeout)
        if 200..<300 ~= answer.status || accepting.contains(answer.status) { return answer }
        throw answer.failure
    }

    /// Asks for a body in JSON.
    func value<Value: Decodable & Sendable>(
        _ type: Value.Type,
        _ request: ServiceRequest
    ) async throws(ServiceFailure) -> Value {
        let answer = try await send(request)
        return try answer.value(type)
    }
}

/// What all connections of a client have in common.
struct ConnectionSettings: Sendable {
    let http: HTTPTransport
    let retry: RetryPolicy
    /// For a question and its whole answer, each time.
    let timeout: Duration
    /// Waits; a test does not.
    let sleep: @Sendable (Duration) async throws -> Void
}

extension ConnectionSettings {
    /// Does something again where that may help, as often and as late as it may be.
    func repeated<Value: Sendable>(
        while isRepeatable: Bool = true,
        _ body: () async throws(ServiceFailure) -> Value
    ) async throws(ServiceFailure) -> Value {
        var attempt = 1
        while true {
            do throws(ServiceFailure) { return try await body() } catch {
                guard error.isRetried, isRepeatable,
                    let delay = retry.delay(after: attempt, asked: error.retryAfter)
                else { throw error }
                attempt += 1
                do { try await sleep(delay) } catch { throw .cancelled }
            }
        }
    }
}

extension ServiceAnswer {
    /// The body, read from JSON.
    func value<Value: Decodable>(_ type: Value.Type) throws(ServiceFailure) -> Value {
        do throws(EntitlementBodyError) { return try EntitlementBody.read(type, json: body) } catch {
            throw .unreadable("the answer cannot be read: \(error.message)", httpStatus: status)
        }
    }

    /// The body, read from XML.
    func xml<Value>(
        _ read: ([UInt8]) throws(EntitlementBodyError) -> Value
    ) throws(ServiceFailure) -> Value {
        do throws(EntitlementBodyError) { return try read(body) } catch {
            throw .unreadable("the answer cannot be read: \(error.message)", httpStatus: status)
        }
    }

    /// What this says where it is no success.
    fileprivate var failure: ServiceFailure {
        var failure: ServiceFailure
        if status == 429 {
            failure = .throttled(httpStatus: status)
        } else if let known = try? EntitlementBody.read(Status.self, json: body) {
            failure = ServiceFailure(known, httpStatus: status)
        } else if let wrapped = try? EntitlementBody.read(Wrapped.self, json: body) {
            failure = ServiceFailure(wrapped.status, httpStatus: status)
        } else if isXML, let known = try? Status(xml: body) {
            failure = ServiceFailure(known, httpStatus: status)
        } else {
            failure = .unreadable(
                "the service answered with the HTTP status \(status) and no error",
                httpStatus: status
            )
        }
        failure.retryAfter = headers.first(name: "retry-after").flatMap { Int64($0) }
            .flatMap { 0...86_400 ~= $0 ? .seconds($0) : nil }
        return failure
    }
}

/// An error as preauthorizations have it: in a body that is an answer otherwise.
private struct Wrapped: Decodable { let status: Status }
