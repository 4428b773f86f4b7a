// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import XML

/// The reason for a failure, from the entitlement service or a client library: an enhanced error.
///
/// Use ``action`` and not ``status`` to decide about a retry: the service also uses 403 for timeouts.
public struct Status: Hashable, Sendable {
    /// The HTTP status of the error; 0 if a client library reports it without a response of the service.
    public var status: Int
    /// The error code of the service; ``knownCode`` is set if the code is documented. Empty in the old form of errors, which
    /// have a status and a message only.
    public var code: String
    /// A description for developers, in English.
    public var message: String?
    /// A description for viewers, if the provider supplies one.
    public var details: String?
    /// The URL of a page about the code. It depends on the language: never compare it.
    public var helpURL: String?
    /// The id of the response in the logs of the service.
    public var trace: String?
    /// The recommended action.
    public var action: StatusAction?
    /// The time after which the service allows a retry (`Retry-After`, RFC 9110 §10.2.3). It is not a part of the body.
    public var retryAfter: Duration?

    /// Creates a status.
    public init(
        status: Int,
        code: String,
        message: String? = nil,
        details: String? = nil,
        helpURL: String? = nil,
        trace: String? = nil,
        action: StatusAction? = nil,
        retryAfter: Duration? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.helpURL = helpURL
        self.trace = trace
        self.action = action
        self.retryAfter = retryAfter
    }

    /// Creates the status of a documented code, with the action and the first HTTP status that belong to it. The message of a
    /// client's code begins with the documented meaning; `message` follows in parentheses.
    ///
    /// - Returns: `nil` if `origin` does not use the code.
    public init?(
        _ code: StatusCode,
        by origin: StatusCode.Origin,
        message: String? = nil,
        details: String? = nil,
        trace: String? = nil
    ) {
        guard let documentation = code.documentation(origin), let status = documentation.statuses.first else {
            return nil
        }
        let text = origin == .client ? code.meaning.map { $0 + (message.map { " (\($0))" } ?? "") } : message
        self.init(
            status: status,
            code: code.rawValue,
            message: text,
            details: details,
            trace: trace,
            action: documentation.action
        )
    }

    /// The code, if it is documented.
    public var knownCode: StatusCode? { StatusCode(rawValue: code) }
}

extension Status: Codable {
    private enum Key: String, CodingKey {
        case status, code, message, details, helpUrl, trace, action
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        status = try members.decode(Int.self, forKey: .status)
        code = try members.decodeIfPresent(String.self, forKey: .code) ?? ""
        message = try members.decodeIfPresent(String.self, forKey: .message)
        details = try members.decodeIfPresent(String.self, forKey: .details)
        helpURL = try members.decodeIfPresent(String.self, forKey: .helpUrl)
        trace = try members.decodeIfPresent(String.self, forKey: .trace)
        action = try members.decodeIfPresent(String.self, forKey: .action).map(StatusAction.init)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(status, forKey: .status)
        if !code.isEmpty { try members.encode(code, forKey: .code) }
        try members.encodeIfPresent(message, forKey: .message)
        try members.encodeIfPresent(details, forKey: .details)
        try members.encodeIfPresent(helpURL, forKey: .helpUrl)
        try members.encodeIfPresent(trace, forKey: .trace)
        try members.encodeIfPresent(action?.rawValue, forKey: .action)
    }
}

extension Status {
    /// Parses an `error` element of REST API v1, also in the old form, which has a status and a message only.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let error = try XMLElement.body(bytes, root: "error")
        guard let status = Int(try error.required("status")) else {
            throw EntitlementBodyError(.unexpected, message: "error: the status is not a number")
        }
        self.init(
            status: status,
            code: try error.optional("code") ?? "",
            message: try error.optional("message"),
            details: try error.optional("details"),
            helpURL: try error.optional("helpUrl"),
            trace: try error.optional("trace"),
            action: try error.optional("action").map(StatusAction.init)
        )
    }

    /// An `error` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            try XMLElement(
                "error",
                fields: [
                    ("action", action?.rawValue), ("status", "\(status)"), ("code", code.isEmpty ? nil : code),
                    ("message", message), ("details", details), ("helpUrl", helpURL), ("trace", trace),
                ]
            ).body()
        }
    }
}
