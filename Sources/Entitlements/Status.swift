// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Why something failed, in the words of the entitlement service or of a client library: an enhanced error.
///
/// Whether to ask again, and for what, is told by ``action`` and not by ``status``: 403 is also said of timeouts.
public struct Status: Hashable, Sendable {
    /// The HTTP status that belongs to it; 0 where a client library says it without an answer of the service.
    public var status: Int
    /// What happened, as the service says it; ``knownCode`` where it is documented. Empty in the old form of errors, which
    /// have a status and a message alone.
    public var code: String
    /// For developers, in English.
    public var message: String?
    /// For viewers, where a provider says it.
    public var details: String?
    /// A page about the code. It differs by language: never compare it.
    public var helpURL: String?
    /// Names this answer in the logs of the service.
    public var trace: String?
    /// What is to be done about it.
    public var action: StatusAction?

    /// Makes a status.
    public init(
        status: Int,
        code: String,
        message: String? = nil,
        details: String? = nil,
        helpURL: String? = nil,
        trace: String? = nil,
        action: StatusAction? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.helpURL = helpURL
        self.trace = trace
        self.action = action
    }

    /// Makes the status of a documented code, with the action and the first HTTP status that belong to it.
    ///
    /// - Returns: Nil where `origin` does not say that code.
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
        self.init(
            status: status,
            code: code.rawValue,
            message: message,
            details: details,
            trace: trace,
            action: documentation.action
        )
    }

    /// The code, where it is a documented one.
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
