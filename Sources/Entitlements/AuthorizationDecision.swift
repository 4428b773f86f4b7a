// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
public import Platform

/// What REST API v2 decides about a resource, with a media token where a viewer may play it.
///
/// A denial has the HTTP status 200; its own is in ``error``.
public struct AuthorizationDecision: Hashable, Sendable {
    /// Who has decided; unknown words are kept.
    public struct Source: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The provider.
        public static let mvpd = Source(rawValue: "mvpd")
        /// A rule that is in force while the provider is out of order.
        public static let degradation = Source(rawValue: "degradation")
        /// Temporary access.
        public static let tempPass = Source(rawValue: "temppass")
        /// A stand-in for a provider.
        public static let dummy = Source(rawValue: "dummy")
    }

    /// A media token as it is handed out. It may start one playback, and must never be kept for another.
    public struct Token: Hashable, Sendable {
        /// When the token was issued.
        public var issuedAt: Timestamp?
        /// From when it may start a playback.
        public var notBefore: Timestamp
        /// Until when it may start a playback.
        public var notAfter: Timestamp
        /// The token in Base64: what the gate is shown.
        public var serializedToken: String

        /// Makes a token.
        public init(
            issuedAt: Timestamp? = nil,
            notBefore: Timestamp,
            notAfter: Timestamp,
            serializedToken: String
        ) {
            self.issuedAt = issuedAt
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.serializedToken = serializedToken
        }
    }

    /// The resource as it was asked for.
    public var resource: String
    /// The requestor.
    public var serviceProvider: String
    /// The id of the provider.
    public var mvpd: String
    /// Who has decided.
    public var source: Source
    /// Whether the viewer may play it, with the token.
    public var isAuthorized: Bool
    /// From when, and until when, the authorization holds; not the token's life.
    public var notBefore: Timestamp?
    /// Until when the authorization holds; not the token's life.
    public var notAfter: Timestamp?
    /// The media token, where the viewer may play.
    public var token: Token?
    /// Why not.
    public var error: Status?

    /// Makes a decision.
    public init(
        resource: String,
        serviceProvider: String,
        mvpd: String,
        source: Source,
        isAuthorized: Bool,
        notBefore: Timestamp? = nil,
        notAfter: Timestamp? = nil,
        token: Token? = nil,
        error: Status? = nil
    ) {
        self.resource = resource
        self.serviceProvider = serviceProvider
        self.mvpd = mvpd
        self.source = source
        self.isAuthorized = isAuthorized
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.token = token
        self.error = error
    }
}

/// The body of an answer with decisions of REST API v2.
public struct AuthorizationDecisions: Hashable, Sendable, Codable {
    /// One for each resource that was asked for.
    public var decisions: [AuthorizationDecision]

    /// Makes an answer.
    public init(decisions: [AuthorizationDecision]) { self.decisions = decisions }
}

extension AuthorizationDecision: Codable {
    private enum Key: String, CodingKey {
        case resource, serviceProvider, mvpd, source, authorized, notBefore, notAfter, token, error
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        resource = try members.decode(String.self, forKey: .resource)
        serviceProvider = try members.decode(String.self, forKey: .serviceProvider)
        mvpd = try members.decode(String.self, forKey: .mvpd)
        source = Source(rawValue: try members.decode(String.self, forKey: .source))
        isAuthorized = try members.decode(Bool.self, forKey: .authorized)
        notBefore = try members.millisecondsIfPresent(.notBefore)
        notAfter = try members.millisecondsIfPresent(.notAfter)
        token = try members.decodeIfPresent(Token.self, forKey: .token)
        error = try members.decodeIfPresent(Status.self, forKey: .error)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(resource, forKey: .resource)
        try members.encode(serviceProvider, forKey: .serviceProvider)
        try members.encode(mvpd, forKey: .mvpd)
        try members.encode(source.rawValue, forKey: .source)
        try members.encode(isAuthorized, forKey: .authorized)
        try members.encode(notBefore, asNumberFor: .notBefore)
        try members.encode(notAfter, asNumberFor: .notAfter)
        try members.encodeIfPresent(token, forKey: .token)
        try members.encodeIfPresent(error, forKey: .error)
    }
}

extension AuthorizationDecision.Token: Codable {
    private enum Key: String, CodingKey { case issuedAt, notBefore, notAfter, serializedToken }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        issuedAt = try members.millisecondsIfPresent(.issuedAt)
        notBefore = try members.milliseconds(.notBefore)
        notAfter = try members.milliseconds(.notAfter)
        serializedToken = try members.decode(String.self, forKey: .serializedToken)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(issuedAt, asNumberFor: .issuedAt)
        try members.encode(notBefore, asNumberFor: .notBefore)
        try members.encode(notAfter, asNumberFor: .notAfter)
        try members.encode(serializedToken, forKey: .serializedToken)
    }
}

// MARK: Without the token

extension AuthorizationDecision.Token: CustomStringConvertible, CustomReflectable {
    /// Until when the token starts a playback, and not the token.
    public var description: String { "Token(until \(notAfter))" }

    /// What a debugger and `dump` show: the same.
    public var customMirror: Mirror { Mirror(self, children: ["notAfter": notAfter]) }
}
