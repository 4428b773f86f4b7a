// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

/// Something that an endpoint does in place of its work.
struct Fault: Sendable {
    let operation: Operation
    let effect: Effect
    /// How often it still happens; nil until the switches are reset.
    var times: Int?

    enum Effect: Sendable {
        /// A documented code, as the API that was asked tells it, with a text for viewers.
        case code(StatusCode, details: String?)
        /// A word of dynamic client registration.
        case registration(RegistrationError)
        /// A status of HTTP without a body.
        case status(Int)
        /// A body that is no answer.
        case body(String)
        /// No answer, for a minute.
        case stall
        /// No answer, and the connection is closed.
        case close
        /// The usual answer, later.
        case delay(Duration)
    }
}

extension Fault {
    /// The longest that a client is kept waiting.
    private static let longest = Duration.seconds(60)

    /// What to answer in the endpoint's place; nil where the endpoint shall answer after all.
    func answer(to call: EndpointRequest, operation: Operation) async throws -> Response? {
        switch effect {
        case .code(let code, let details): return try Self.answer(code, details: details, to: call, operation)
        case .registration(let error): throw error
        case .status(let status): return .empty(HTTPResponse.Status(code: status))
        case .body(let text): return .text(text, "application/json;charset=UTF-8")
        case .delay(let duration):
            try await Self.wait(duration)
            return nil
        case .stall:
            try await Self.wait(Self.longest)
            return .empty(.serviceUnavailable)
        case .close:
            // Nobody hears the answer: it is for the server, which must have one.
            try? await call.channel.close()
            return .empty(.serviceUnavailable)
        }
    }

    /// Waits, unless the server is shut down. That the client has gone away cannot be seen while its request is in hand.
    private static func wait(_ duration: Duration) async throws {
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }

    private static func answer(
        _ code: StatusCode,
        details: String?,
        to call: EndpointRequest,
        _ operation: Operation
    ) throws -> Response {
        let origin = call.dialect == .v2 ? StatusCode.Origin.v2 : .v1
        let refusal = EndpointError(code, by: origin, details: details)
        let isDecision = operation == .preauthorize || operation == .authorize
        // What is said of one resource stands beside it, in an answer that is none of the error's status.
        if isDecision, code.isOfOneResource {
            if call.dialect == .v2, let resources = try? DecisionRequest(call).resources {
                let decisions = resources.map { resource in
                    AuthorizationDecision(
                        resource: resource,
                        serviceProvider: call.segment("provider"),
                        mvpd: call.segment("mvpd"),
                        source: .mvpd,
                        isAuthorized: false,
                        error: refusal.status.told(to: call)
                    )
                }
                return try .json(AuthorizationDecisions(decisions: decisions))
            }
            if call.dialect == .v1Preauthorization {
                let decisions = call.resourceList.map { resource in
                    PreauthorizeResponse.Decision(
                        id: resource,
                        isAuthorized: false,
                        error: refusal.status.told(to: call)
                    )
                }
                return try .json(PreauthorizeResponse(decisions: decisions))
            }
        }
        if call.dialect == .legacy {
            // This is how those clients are told no; any other status means that there is no service.
            var told = refusal
            told.httpStatus = 200
            told.status.details = details ?? refusal.status.message
            return try told.response(to: call)
        }
        return try refusal.response(to: call)
    }
}

extension StatusCode {
    /// Whether it says something of one resource, and not of the whole request.
    var isOfOneResource: Bool {
        switch self {
        case .preauthorizationDeniedByMVPD, .authorizationDeniedByMVPD, .authorizationDeniedByParentalControls,
            .authorizationDeniedByDegradationRule, .authorizationDeniedByHBAPolicies,
            .authorizationDeniedBySessionInvalidated, .identityNotRecognizedByMVPD,
            .temporaryAccessDurationLimitExceeded, .temporaryAccessResourcesLimitExceeded,
            .invalidConfigurationTemporaryAccess, .invalidHeaderIdentityForTemporaryAccess,
            .authenticatedProfileMissing, .authenticatedProfileExpired, .authenticatedProfileInvalidated,
            .networkReceivedError, .networkConnectionTimeout, .maximumExecutionTimeExceeded:
            true
        default: false
        }
    }
}
