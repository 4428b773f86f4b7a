// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

/// A deliberate fault of an endpoint.
struct Fault: Sendable {
    let operation: Operation
    let effect: Effect
    /// The number of times that it still happens; `nil` until the switches are reset.
    var times: Int?

    enum Effect: Sendable {
        /// A documented code in the dialect of the endpoint, with a text for viewers.
        case code(StatusCode, details: String?)
        /// An error code of dynamic client registration.
        case registration(RegistrationError)
        /// An HTTP response status without a body.
        case status(Int)
        /// A body that is not a valid answer.
        case body(String)
        /// No answer for a minute.
        case stall
        /// No answer: the connection is closed.
        case close
        /// The usual answer after a delay.
        case delay(Duration)
    }
}

extension Fault {
    /// The duration of a stall.
    private static let longest = Duration.seconds(60)

    /// Returns the response in place of the endpoint's; `nil` if the endpoint is to answer.
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
            // The client does not get this response, but the server requires one.
            try? await call.channel.close()
            return .empty(.serviceUnavailable)
        }
    }

    /// Waits until the server shuts down at the latest. A client that disconnects is not noticed while its request is in
    /// flight.
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
        // An error about one resource is part of its decision, in a response with status 200.
        if isDecision, code.isOfOneResource, let decisions = try refusal.decisions(for: call) { return decisions }
        if call.dialect == .legacy {
            // Legacy clients get a denial with status 200. Any other status means an outage to them.
            var told = refusal
            told.httpStatus = 200
            told.status.details = details ?? refusal.status.message
            return try told.response(to: call)
        }
        return try refusal.response(to: call)
    }
}

extension EndpointError {
    /// Returns decisions that deny every requested resource with this error; `nil` if the dialect has no such response, or
    /// the request is malformed.
    fileprivate func decisions(for call: EndpointRequest) throws -> Response? {
        if call.dialect == .v2, let resources = try? DecisionRequest(call).resources {
            let decisions = resources.map { resource in
                AuthorizationDecision(
                    resource: resource,
                    serviceProvider: call.segment("provider"),
                    mvpd: call.segment("mvpd"),
                    source: .mvpd,
                    isAuthorized: false,
                    error: status.told(to: call)
                )
            }
            return try .json(AuthorizationDecisions(decisions: decisions))
        }
        guard call.dialect == .v1Preauthorization else { return nil }
        let decisions = call.resourceList.map { resource in
            PreauthorizeResponse.Decision(id: resource, isAuthorized: false, error: status.told(to: call))
        }
        return try .json(PreauthorizeResponse(decisions: decisions))
    }
}

extension StatusCode {
    /// True if the code is about one resource, not about the whole request.
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
