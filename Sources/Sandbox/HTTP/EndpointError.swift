// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// An error that an endpoint answers a request with.
struct EndpointError: Error {
    /// The error without help URL and trace, which the response adds.
    var status: Status
    /// The HTTP response status, if it differs from that of ``status``.
    var httpStatus: Int?
}

extension EndpointError {
    /// Creates an error in the old form, without a code.
    init(_ httpStatus: Int, message: String, action: StatusAction? = nil) {
        self.init(status: Status(status: httpStatus, code: "", message: message, action: action))
    }

    /// Returns a refusal with a code of REST API v1, its documented action and its message.
    ///
    /// - Parameters:
    ///   - httpStatus: One of the documented statuses of the code, if not the first.
    ///   - message: A message for developers, instead of the default one.
    static func v1(
        _ code: StatusCode,
        httpStatus: Int? = nil,
        message: String? = nil,
        details: String? = nil
    ) -> EndpointError {
        var refusal = EndpointError(status: .documented(code, by: .v1, message: message, details: details))
        refusal.status.status = httpStatus ?? refusal.status.status
        return refusal
    }

    static func v2(_ code: StatusCode, details: String? = nil) -> EndpointError {
        EndpointError(status: .documented(code, by: .v2, details: details))
    }

    /// Returns the refusal with the code of the API of a request.
    static func of(_ call: EndpointRequest, v1: StatusCode, v2: StatusCode, details: String? = nil) -> EndpointError {
        call.isV2 ? .v2(v2, details: details) : .v1(v1, details: details)
    }

    /// Returns the refusal of a request that cannot be parsed.
    static func unreadable(_ call: EndpointRequest, message: String, httpStatus: Int = 400) -> EndpointError {
        var refusal: EndpointError
        switch call.dialect {
        case .v1, .v1Preauthorization, .legacy: refusal = .v1(.badRequest, message: message)
        default: refusal = EndpointError(httpStatus, message: message)
        }
        refusal.httpStatus = httpStatus
        return refusal
    }

    /// Returns the response to `call`, in its dialect.
    func response(to call: EndpointRequest) throws -> Response {
        let reported = status.reported(to: call)
        let http = HTTPResponse.Status(code: httpStatus ?? reported.status)
        switch call.dialect {
        // Registration has no other code for a malformed request.
        case .registration: return try .json(RegistrationError.invalidRequest, status: http)
        case .v2, .plain: return try .json(reported, status: http)
        case .v1:
            return call.wantsJSON(default: true)
                ? try .json(reported, status: http) : .xml(try reported.xml, status: http)
        case .v1Preauthorization:
            return try .json(PreauthorizeResponse(decisions: [], status: reported), status: http)
        case .legacy: return .xml(try reported.xml, status: http)
        case .page:
            if call.headers[.accept]?.contains("application/json") ?? false { return try .json(reported, status: http) }
            return Page.error(reported).response(status: http)
        }
    }
}

extension Status {
    /// Returns a documented code with its action and message. A code that `origin` does not define is read from the
    /// other API.
    static func documented(
        _ code: StatusCode,
        by origin: StatusCode.Origin,
        message: String? = nil,
        details: String? = nil
    ) -> Status {
        let message = message ?? code.explanation
        return Status(code, by: origin, message: message, details: details)
            ?? Status(code, by: origin == .v2 ? .v1 : .v2, message: message, details: details)
            ?? Status(status: 500, code: code.rawValue, message: message, details: details, action: .noAction)
    }

    /// Returns this error with the trace of `call` and, for a code, a help URL.
    func reported(to call: EndpointRequest) -> Status {
        var reported = self
        reported.trace = call.trace
        if !code.isEmpty { reported.helpURL = "\(call.origin)/sandbox/errors#\(code)" }
        return reported
    }
}
