// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Entitlements

/// The reason why a request to a service failed.
package struct ServiceFailure: Error, Hashable {
    enum Kind: Hashable {
        /// The service refused and gave a reason.
        case refused
        /// The service received too many requests.
        case throttled
        /// No response arrived in time.
        case unreachable
        /// The response cannot be interpreted.
        case unreadable
        /// The service does not accept the application: its software statement or its access token.
        case noAccess(isStatement: Bool)
        /// The application cancelled the request.
        case cancelled
    }

    private(set) var kind: Kind
    /// The failure as an enhanced error; the client's own if the service gives none.
    package var status: Status
    /// The HTTP status of the response; 0 without one.
    var httpStatus = 0
    /// The error of a registration or of a request for an access token.
    var registrationError: RegistrationError?
    /// True if there was no access token to send the request with. It had no effect, so it may be repeated.
    var isBeforeRequest = false
    /// The time after which the service allows a retry, if it reports one.
    var retryAfter: Duration? { status.retryAfter }

    init(_ status: Status, httpStatus: Int) {
        kind = .refused
        self.status = status
        self.httpStatus = httpStatus
    }

    private init(_ kind: Kind, code: StatusCode, message: String, httpStatus: Int = 0) {
        self.kind = kind
        status = Status(code, by: .client, message: message) ?? Status(status: 0, code: code.rawValue, message: message)
        self.httpStatus = httpStatus
    }

    static func unreachable(_ message: String) -> ServiceFailure {
        .init(.unreachable, code: .networkError, message: message)
    }

    static let cancelled = ServiceFailure(.cancelled, code: .networkError, message: "the call was cancelled")

    static func unreadable(_ message: String, httpStatus: Int) -> ServiceFailure {
        .init(.unreadable, code: .serverResponseFormatUnknown, message: message, httpStatus: httpStatus)
    }

    /// Creates the failure for the HTTP status 429, by the service's error if there is one. The documented limit allows a
    /// request each second.
    static func throttled(_ known: Status?) -> ServiceFailure {
        let status = Status(
            status: 429,
            code: "too_many_requests",
            message: "the service limits the rate of requests; retry later",
            action: .retryAfter,
            retryAfter: .seconds(1)
        )
        var failure = ServiceFailure(known ?? status, httpStatus: 429)
        failure.kind = .throttled
        return failure
    }

    static func noAccess(_ error: RegistrationError?, isStatement: Bool) -> ServiceFailure {
        var failure = ServiceFailure(
            .noAccess(isStatement: isStatement),
            code: .accessTokenUnavailable,
            message:
                "no access token (\(error?.error ?? "the service returned none")); check the software statement and that "
                + "the redirect URL is registered"
        )
        failure.registrationError = error
        return failure
    }

    /// A fault without a response of a service, with a code of this client.
    static func ofThisClient(_ code: String, message: String) -> Status {
        Status(status: 0, code: code, message: message, action: .noAction)
    }

    /// True if a retry can help: the service requests it, or there was no response.
    var isRetried: Bool {
        switch kind {
        case .unreachable: true
        case .refused: status.action == .retry || status.action == .retryAfter
        case .throttled, .unreadable, .noAccess, .cancelled: false
        }
    }

    /// True if the viewer must log in again.
    var needsAuthentication: Bool { kind == .refused && status.action == .authentication }
}

/// Returns the result of an operation as a value.
func result<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws(ServiceFailure) -> Value
) async -> Result<Value, ServiceFailure> {
    do throws(ServiceFailure) { return .success(try await operation()) } catch { return .failure(error) }
}
