// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
public import Platform

/// The authentication of a viewer with a provider, in REST API v2.
public struct Profile: Hashable, Sendable {
    /// The kind of authentication. Unknown values are retained.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A login at the provider.
        public static let regular = Kind(rawValue: "regular")
        /// A degradation rule that applies while the provider is out of order.
        public static let degraded = Kind(rawValue: "degraded")
        /// Temporary access.
        public static let temporary = Kind(rawValue: "temporary")
        /// Apple's single sign-on.
        public static let appleSSO = Kind(rawValue: "appleSSO")
        /// The single sign-on of another platform.
        public static let platformSSO = Kind(rawValue: "platformSSO")
        /// A token of another service.
        public static let serviceTokenSSO = Kind(rawValue: "serviceTokenSSO")
    }

    /// One item of the viewer's metadata.
    public struct Attribute: Hashable, Sendable, Codable {
        /// The encryption state of a value. Unknown values are retained.
        public struct State: RawRepresentable, Hashable, Sendable, Codable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// The value is readable.
            public static let plain = State(rawValue: "plain")
            /// The value is encrypted for the programmer's private key.
            public static let encrypted = State(rawValue: "enc")
        }

        /// The value, encrypted or not.
        public var value: MetadataValue
        /// The encryption state of the value.
        public var state: State

        /// Creates an attribute.
        public init(_ value: MetadataValue, state: State = .plain) {
            self.value = value
            self.state = state
        }
    }

    /// The start of the validity.
    public var notBefore: Timestamp
    /// The end of the validity.
    public var notAfter: Timestamp
    /// The issuer of the profile: the provider or the service.
    public var issuer: String
    /// The kind of authentication.
    public var kind: Kind
    /// The viewer's metadata, keyed by name.
    public var attributes: [String: Attribute]

    /// Creates a profile.
    public init(
        notBefore: Timestamp,
        notAfter: Timestamp,
        issuer: String,
        kind: Kind,
        attributes: [String: Attribute] = [:]
    ) {
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.issuer = issuer
        self.kind = kind
        self.attributes = attributes
    }
}

/// The body of a response with profiles, keyed by provider id; empty if no viewer is authenticated.
public struct Profiles: Hashable, Sendable, Codable {
    /// The profiles, keyed by provider id.
    public var profiles: [String: Profile]

    /// Creates a response.
    public init(profiles: [String: Profile] = [:]) { self.profiles = profiles }
}

extension Profile: Codable {
    private enum Key: String, CodingKey { case notBefore, notAfter, issuer, type, attributes }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        notBefore = try members.milliseconds(.notBefore)
        notAfter = try members.milliseconds(.notAfter)
        issuer = try members.decode(String.self, forKey: .issuer)
        kind = Kind(rawValue: try members.decode(String.self, forKey: .type))
        attributes = try members.decodeIfPresent([String: Attribute].self, forKey: .attributes) ?? [:]
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(notBefore, asNumberFor: .notBefore)
        try members.encode(notAfter, asNumberFor: .notAfter)
        try members.encode(issuer, forKey: .issuer)
        try members.encode(kind.rawValue, forKey: .type)
        try members.encode(attributes, forKey: .attributes)
    }
}
