// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Platform

/// A media token that an entitlement service has issued for an authorization. It can start one playback: **pass it to the
/// gate once, and store it nowhere.**
public struct AuthorizedToken: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The resource as it was requested.
    public var resource: String
    /// The viewer's id at the provider, obscured; `nil` in REST API v2.
    public var userID: String?
    /// The time at which the token was issued, if REST API v2 reports it.
    public var issued: Timestamp?
    /// The earliest time at which the token can start a playback; `nil` in REST API v1.
    public var notBefore: Timestamp?
    /// The latest time at which the token can start a playback, to the millisecond.
    public var expires: Timestamp
    /// The token in Base64, in the form that the gate accepts.
    public var serializedToken: String

    /// Creates a token.
    public init(
        requestor: String,
        mvpd: String,
        resource: String,
        userID: String? = nil,
        issued: Timestamp? = nil,
        notBefore: Timestamp? = nil,
        expires: Timestamp,
        serializedToken: String
    ) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.resource = resource
        self.userID = userID
        self.issued = issued
        self.notBefore = notBefore
        self.expires = expires
        self.serializedToken = serializedToken
    }

    /// The decoded token, which the documented callbacks carry; `nil` if ``serializedToken`` is not text in Base64.
    public var raw: String? {
        Base64.decode([UInt8](serializedToken.utf8)).flatMap { String(validating: $0, as: UTF8.self) }
            .flatMap { $0.isEmpty ? nil : $0 }
    }
}

// MARK: REST API v1

extension AuthorizedToken: TextBody {
    static var root: String { "play" }

    init<Members: TextMembers>(_ members: Members) throws(Members.Failure) {
        requestor = try members.required("requestor")
        mvpd = try members.required("mvpdId")
        resource = try members.required("resource")
        userID = try members.required("userId")
        expires = try members.time("expires")
        serializedToken = try members.required("serializedToken")
    }

    var members: [(String, String?)] {
        [
            ("expires", expires.text), ("mvpdId", mvpd), ("requestor", requestor), ("resource", resource),
            ("serializedToken", serializedToken), ("userId", userID),
        ]
    }
}

extension AuthorizedToken: Codable {
    /// Reads a `play` of REST API v1.
    public init(from decoder: any Decoder) throws { self = try Self(members: decoder) }

    /// Writes a `play` of REST API v1.
    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }

    /// Reads a `play` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) { try self.init(element: bytes) }

    /// A `play` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String { get throws(EntitlementBodyError) { try element } }
}

// MARK: REST API v2

extension AuthorizedToken {
    private enum Key: String, CodingKey { case issuedAt, notBefore, notAfter, serializedToken }

    /// Reads the token of a decision, which names the token's resource.
    init(of decision: AuthorizationDecision, from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        self.init(
            requestor: decision.serviceProvider,
            mvpd: decision.mvpd,
            resource: decision.resource,
            issued: try members.millisecondsIfPresent(.issuedAt),
            notBefore: try members.milliseconds(.notBefore),
            expires: try members.milliseconds(.notAfter),
            serializedToken: try members.decode(String.self, forKey: .serializedToken)
        )
    }

    /// Writes the token of a decision.
    func encodeInDecision(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(issued, asNumberFor: .issuedAt)
        try members.encode(notBefore, asNumberFor: .notBefore)
        try members.encode(expires, asNumberFor: .notAfter)
        try members.encode(serializedToken, forKey: .serializedToken)
    }
}

// MARK: Descriptions without the token

extension AuthorizedToken: CustomStringConvertible, CustomReflectable {
    /// A description with the resource and the expiry, without the token.
    public var description: String { "AuthorizedToken(\(resource), until \(expires))" }

    /// A `Mirror` for debuggers and `dump`, without the token.
    public var customMirror: Mirror { Mirror(self, children: ["resource": resource, "expires": expires]) }
}
