// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// Why a service did not do what it was asked for.
struct ServiceFailure: Error, Hashable {
    enum Kind: Hashable {
        /// It said why.
        case refused
        /// It was asked too often.
        case throttled
        /// There was no answer, or not in time.
        case unreachable
        /// It answered what cannot be understood.
        case unreadable
        /// It does not let the application in: the software statement, or the access token.
        case noAccess(isStatement: Bool)
        /// The application gave up waiting.
        case cancelled
    }

    let kind: Kind
    /// In the words of enhanced errors; the client's own where the service has none.
    let status: Status
    /// The HTTP status of the answer; 0 without one.
    var httpStatus = 0
    /// What the service said to a registration.
    var registrationError: RegistrationError?
    /// After what time the service wants to be asked again, where it says so.
    var retryAfter: Duration?

    init(_ status: Status, httpStatus: Int) {
        kind = .refused
        self.status = status
        self.httpStatus = httpStatus
    }

    private init(_ kind: Kind, _ code: StatusCode, _ message: String, httpStatus: Int = 0) {
        self.kind = kind
        let documentation = code.documentation(.client)
        status = Status(status: 0, code: code.rawValue, message: message, action: documentation?.action)
        self.httpStatus = httpStatus
    }

    static func unreachable(_ message: String) -> ServiceFailure { .init(.unreachable, .networkError, message) }

    static let cancelled = ServiceFailure(.cancelled, .networkError, "the call was cancelled")

    static func unreadable(_ message: String, httpStatus: Int) -> ServiceFailure {
        .init(.unreadable, .serverResponseFormatUnknown, message, httpStatus: httpStatus)
    }

    static func throttled(httpStatus: Int) -> ServiceFailure {
        .init(.throttled, .networkError, "the service was asked too often; ask again later", httpStatus: httpStatus)
    }

    static func noAccess(_ error: RegistrationError?, isStatement: Bool) -> ServiceFailure {
        var failure = ServiceFailure(
            .noAccess(isStatement: isStatement),
            .accessTokenUnavailable,
            "no access token (\(error?.error ?? "the service gives none")); check the software statement, and whether the "
                + "redirect URL is registered"
        )
        failure.registrationError = error
        return failure
    }

    /// Whether asking again may help: the service says so, or there was no answer.
    var isRetried: Bool {
        switch kind {
        case .unreachable: true
        case .refused: status.action == .retry || status.action == .retryAfter
        case .throttled, .unreadable, .noAccess, .cancelled: false
        }
    }

    /// Whether the viewer must log in again.
    var needsAuthentication: Bool { kind == .refused && status.action == .authentication }
}
