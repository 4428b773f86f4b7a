// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AsyncHTTPClient
internal import Entitlements
internal import NIOCore
internal import NIOHTTP1

/// Sends requests, each with a time limit and a size limit. One HTTP client serves the whole process, so connections are
/// reused and no caller has to shut it down.
package struct HTTPTransport: Sendable {
    /// A hook for tests that receives every request before it is sent, and can answer instead of the network.
    var intercept: @Sendable (ServiceRequest) async -> ServiceAnswer? = { _ in nil }

    init(intercept: @escaping @Sendable (ServiceRequest) async -> ServiceAnswer?) { self.intercept = intercept }

    package init() {}

    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        // A redirect would send the access token elsewhere.
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5))
        // The retry policy of the client decides about retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a request, and reads the whole response.
    package func send(
        _ request: ServiceRequest,
        to url: String,
        within limit: Duration
    ) async throws(ServiceFailure) -> ServiceAnswer {
        var request = request
        request.service = url
        if let answer = await intercept(request) { return answer }
        var message = HTTPClientRequest(url: url + request.target)
        message.method = request.method
        message.headers.add(name: "Accept", value: request.accept)
        message.headers.add(name: "User-Agent", value: "Playgate AccessEnabler")
        for (name, value) in request.headers { message.headers.add(name: name, value: value) }
        if let json = request.json {
            message.headers.add(name: "Content-Type", value: "application/json")
            message.body = .bytes(ByteBuffer(bytes: json))
        } else if let form = request.form {
            message.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            message.body = .bytes(ByteBuffer(string: form.formEncoded))
        }
        let outcome = await Self.race(message, within: limit)
        return try outcome.get()
    }

    /// Returns the response, or a failure if it is not complete in time. The limit covers the whole response, so a service
    /// that sends single bytes slowly also fails.
    private static func race(
        _ message: HTTPClientRequest,
        within limit: Duration
    ) async -> Result<ServiceAnswer, ServiceFailure> {
        await withTaskGroup(of: Result<ServiceAnswer, ServiceFailure>?.self) { group in
            group.addTask { await fetch(message) }
            group.addTask {
                do { try await Task.sleep(for: limit) } catch { return nil }
                return .failure(.unreachable("the service did not respond within \(limit)"))
            }
            defer { group.cancelAll() }
            for await outcome in group {
                if let outcome { return outcome }
                // The sleep was cancelled before the limit: the whole request is cancelled, and the other task reports it.
            }
            return .failure(.cancelled)
        }
    }

    private static func fetch(_ message: HTTPClientRequest) async -> Result<ServiceAnswer, ServiceFailure> {
        do {
            let response = try await client.execute(message, deadline: .distantFuture)
            let body = try await response.body.collect(upTo: EntitlementBody.maximumSize)
            return .success(
                ServiceAnswer(
                    status: Int(response.status.code),
                    headers: response.headers,
                    body: Array(body.readableBytesView)
                )
            )
        } catch is NIOTooManyBytesError {
            return .failure(.unreadable("the response is too large", httpStatus: 0))
        } catch is CancellationError {
            return .failure(.cancelled)
        } catch let error as HTTPClientError where error == .cancelled {
            return .failure(.cancelled)
        } catch let error as HTTPClientError where error == .invalidURL || error == .emptyScheme || error == .emptyHost
        {
            return .failure(.unreachable("the service URL is not valid"))
        } catch is HTTPParserError {
            return .failure(.unreadable("the response is not HTTP", httpStatus: 0))
        } catch {
            return .failure(.unreachable("the service cannot be reached"))
        }
    }
}
