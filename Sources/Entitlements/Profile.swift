// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
public import Platform

/// That a viewer is authenticated with a provider, in REST API v2.
public struct Profile: Hashable, Sendable {
    /// How it came to be; unknown words are kept.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// By a login at the provider.
        public static let regular = Kind(rawValue: "regular")
        /// By a rule that is in force while the provider is out of order.
        public static let degraded = Kind(rawValue: "degraded")
        /// By temporary access.
        public static let temporary = Kind(rawValue: "temporary")
        /// By the sign-on of Apple's devices.
        public static let appleSSO = Kind(rawValue: "appleSSO")
        /// By the sign-on of another platform.
        public static let platformSSO = Kind(rawValue: "platformSSO")
        /// By a token of another service.
        public static let serviceTokenSSO = Kind(rawValue: "serviceTokenSSO")
    }

    /// A piece of the viewer's metadata.
    public struct Attribute: Hashable, Sendable, Codable {
        /// Whether a value is readable, or for the programmer's private key; unknown words are kept.
        public struct State: RawRepresentable, Hashable, Sendable, Codable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// Readable.
            public static let plain = State(rawValue: "plain")
            /// For the programmer's private key.
            public static let encrypted = State(rawValue: "enc")
        }

        /// The value, encrypted or not.
        public var value: MetadataValue
        /// Whether the value is readable.
        public var state: State

        /// Makes an attribute.
        public init(_ value: MetadataValue, state: State = .plain) {
            self.value = value
            self.state = state
        }
    }

    /// From when it holds.
    public var notBefore: Timestamp
    /// Until when it holds.
    public var notAfter: Timestamp
    /// Who vouches for it: the provider, or the service.
    public var issuer: String
    /// How it came to be.
    public var kind: Kind
    /// The viewer's metadata by their names.
    public var attributes: [String: Attribute]

    /// Makes a profile.
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

/// The body of an answer with profiles, by the ids of their providers; empty where nobody is authenticated.
public struct Profiles: Hashable, Sendable, Codable {
    /// The profiles by the ids of their providers.
    public var profiles: [String: Profile]

    /// Makes an answer.
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
