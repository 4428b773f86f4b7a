// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
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

    /// Returns the response instead of the endpoint's; `nil` if the endpoint is to answer.
    func response(to call: EndpointRequest, operation: Operation) async throws -> Response? {
        switch effect {
        case .code(let code, let details):
            return try Self.refusal(code, details: details, to: call, operation: operation)
        case .registration(let error): throw error
        case .status(let status):
            return Response(status: .init(code: status), headers: status == 429 ? [.retryAfter: "1"] : [:])
        case .body(let text): return .text(text, type: "application/json;charset=UTF-8")
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

    private static func refusal(
        _ code: StatusCode,
        details: String?,
        to call: EndpointRequest,
        operation: Operation
    ) throws -> Response {
        let refusal = EndpointError.of(call, v1: code, v2: code, details: details)
        let isDecision = operation == .preauthorize || operation == .authorize
        // An error about one resource is part of its decision, in a response with status 200.
        if isDecision, code.isOfOneResource, let decisions = try refusal.decisions(for: call) { return decisions }
        if call.dialect == .legacy {
            // Legacy clients get a denial with status 200. Any other status means an outage to them.
            var reported = refusal
            reported.httpStatus = 200
            reported.status.details = details ?? refusal.status.message
            return try reported.response(to: call)
        }
        return try refusal.response(to: call)
    }
}

// MARK: JSON

extension Fault {
    /// Reads a fault with one effect; `nil` if it has a problem.
    static func read(_ section: ConfigurationSection) -> Fault? {
        if !section.has("on") { section.note(at: "on", message: "is missing: name the operation that fails") }
        let operation = section.choice("on", default: Operation.any)
        let times = section.has("times") ? section.integer("times", in: 1...1_000_000, default: 1) : nil
        let details = section.optionalString("details")
        var effects: [Effect] = []
        if section.has("code") {
            let effect = section.parsed("code", default: nil) { try Effect(code: $0, details: details, of: operation) }
            effects += effect.map { [$0] } ?? []
        }
        if section.has("status") { effects.append(.status(section.integer("status", in: 400...599, default: 503))) }
        if section.has("body") { effects.append(.body(section.string("body", default: ""))) }
        if section.bool("stall", default: false) { effects.append(.stall) }
        if section.bool("close", default: false) { effects.append(.close) }
        if section.has("delay") {
            effects.append(.delay(section.duration("delay", in: .zero ... .seconds(600), default: .seconds(1))))
        }
        if effects.count > 1 {
            section.note(at: "on", message: "a fault has one effect; add another fault for the second effect")
        }
        guard let effect = effects.first, !section.isFaulty else {
            if !section.isFaulty {
                section.note(at: "on", message: "has no effect: add code, status, body, stall, close or delay")
            }
            return nil
        }
        if operation == .mvpd, !section.has("code") {
            section.note(at: "on", message: "a fault of mvpd must have a code")
        }
        return Fault(operation: operation, effect: effect, times: times)
    }

    /// This fault in the form that sets it.
    var json: JSON {
        var members: [JSON.Member] = [("on", .string(operation.rawValue))]
        switch effect {
        case .code(let code, let details):
            members.append(("code", .string(code.rawValue)))
            if let details { members.append(("details", .string(details))) }
        case .registration(let error): members.append(("code", .string(error.error)))
        case .status(let status): members.append(("status", .number(Int64(status))))
        case .body(let text): members.append(("body", .string(text)))
        case .stall: members.append(("stall", true))
        case .close: members.append(("close", true))
        case .delay(let duration): members.append(("delay", .string(duration.text)))
        }
        if let times { members.append(("times", .number(Int64(times)))) }
        return .object(members)
    }
}

extension Fault.Effect {
    /// Creates the effect of a documented code of the service or of registration.
    fileprivate init(code name: String, details: String?, of operation: Operation) throws(SwitchChange.Message) {
        let errors: [RegistrationError] = [
            .invalidRequest, .invalidRedirectURI, .invalidSoftwareStatement, .unapprovedSoftwareStatement,
            .invalidClient, .unauthorizedClient, .unsupportedGrantType,
        ]
        if let error = errors.first(where: { $0.error == name }) {
            guard operation == .register || operation == .token else {
                throw SwitchChange.Message("codes of client registration are valid only for register and token")
            }
            self = .registration(error)
            return
        }
        guard let code = StatusCode(rawValue: name), code.documentation(.v1) != nil || code.documentation(.v2) != nil
        else { throw SwitchChange.Message("\(name.prefix(64)) is not a service code; see /sandbox/errors") }
        guard operation != .mvpd || code.isOfOneResource else {
            throw SwitchChange.Message("a fault of mvpd must have a code of one resource")
        }
        self = .code(code, details: details)
    }
}

extension EndpointError {
    /// Returns decisions that deny every requested resource with this error; `nil` if the dialect has no such response, or
    /// the request is malformed.
    fileprivate func decisions(for call: EndpointRequest) throws -> Response? {
        if call.dialect == .v2, let resources = try? call.resourcesOfBody() {
            let decisions = resources.map { resource in
                AuthorizationDecision(
                    resource: resource,
                    serviceProvider: call.segment("provider"),
                    mvpd: call.segment("mvpd"),
                    source: .mvpd,
                    isAuthorized: false,
                    error: status.reported(to: call)
                )
            }
            return try .json(AuthorizationDecisions(decisions: decisions))
        }
        guard call.dialect == .v1Preauthorization else { return nil }
        let decisions = call.resourceList.map { resource in
            PreauthorizeResponse.Decision(id: resource, isAuthorized: false, error: status.reported(to: call))
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
