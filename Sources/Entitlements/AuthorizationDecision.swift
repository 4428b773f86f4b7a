// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
public import Platform

/// A decision of REST API v2 about a resource, with a media token if the viewer may play it.
///
/// A denial has the HTTP status 200; ``error`` carries the status of the denial.
public struct AuthorizationDecision: Hashable, Sendable {
    /// The origin of a decision. Unknown values are retained.
    public struct Source: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The provider.
        public static let mvpd = Source(rawValue: "mvpd")
        /// A degradation rule that applies while the provider is out of order.
        public static let degradation = Source(rawValue: "degradation")
        /// Temporary access.
        public static let tempPass = Source(rawValue: "temppass")
        /// A dummy provider.
        public static let dummy = Source(rawValue: "dummy")
    }

    /// The resource as it was requested.
    public var resource: String
    /// The requestor's id.
    public var serviceProvider: String
    /// The id of the provider.
    public var mvpd: String
    /// The origin of the decision.
    public var source: Source
    /// True if the viewer may play the resource, with the token.
    public var isAuthorized: Bool
    /// The start of the validity of the authorization, not of the token.
    public var notBefore: Timestamp?
    /// The end of the validity of the authorization, not of the token.
    public var notAfter: Timestamp?
    /// The media token, if the viewer may play the resource.
    public var token: AuthorizedToken?
    /// The reason for a denial.
    public var error: Status?

    /// Creates a decision.
    public init(
        resource: String,
        serviceProvider: String,
        mvpd: String,
        source: Source,
        isAuthorized: Bool,
        notBefore: Timestamp? = nil,
        notAfter: Timestamp? = nil,
        token: AuthorizedToken? = nil,
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

/// The body of a response of REST API v2 with decisions.
public struct AuthorizationDecisions: Hashable, Sendable, Codable {
    /// One decision for each requested resource.
    public var decisions: [AuthorizationDecision]

    /// Creates a response.
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
        error = try members.decodeIfPresent(Status.self, forKey: .error)
        if members.contains(.token), try !members.decodeNil(forKey: .token) {
            token = try AuthorizedToken(of: self, from: members.superDecoder(forKey: .token))
        }
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
        try token?.encodeInDecision(to: members.superEncoder(forKey: .token))
        try members.encodeIfPresent(error, forKey: .error)
    }
}
