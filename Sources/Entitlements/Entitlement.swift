// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

// The bodies of REST API v1. JSON and XML have the same members, and all of them are strings.

/// The authentication of a viewer: an `authentication` of REST API v1.
public struct Authentication: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The viewer's id at the provider, obscured.
    public var userID: String
    /// The expiry, to the millisecond.
    public var expires: Timestamp

    /// Creates an authentication.
    public init(requestor: String, mvpd: String, userID: String, expires: Timestamp) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.userID = userID
        self.expires = expires
    }
}

/// The authorization of a viewer to get media tokens for a resource: an `authorization` of REST API v1. It does not start
/// a playback by itself.
public struct Authorization: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The provider behind a proxy provider.
    public var proxyMVPD: String?
    /// The resource as it was requested.
    public var resource: String
    /// The expiry, to the millisecond.
    public var expires: Timestamp

    /// Creates an authorization.
    public init(requestor: String, mvpd: String, proxyMVPD: String? = nil, resource: String, expires: Timestamp) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.proxyMVPD = proxyMVPD
        self.resource = resource
        self.expires = expires
    }
}

// MARK: Members

extension Authentication: TextBody {
    static var root: String { "authentication" }

    init<Members: TextMembers>(_ members: Members) throws(Members.Failure) {
        requestor = try members.required("requestor")
        mvpd = try members.required("mvpd")
        userID = try members.required("userId")
        expires = try members.time("expires")
    }

    var members: [(String, String?)] {
        [("expires", expires.text), ("userId", userID), ("mvpd", mvpd), ("requestor", requestor)]
    }
}

extension Authorization: TextBody {
    static var root: String { "authorization" }

    init<Members: TextMembers>(_ members: Members) throws(Members.Failure) {
        requestor = try members.required("requestor")
        mvpd = try members.required("mvpd")
        proxyMVPD = try members.optional("proxyMvpd")
        resource = try members.required("resource")
        expires = try members.time("expires")
    }

    var members: [(String, String?)] {
        [
            ("expires", expires.text), ("mvpd", mvpd), ("requestor", requestor), ("resource", resource),
            ("proxyMvpd", proxyMVPD),
        ]
    }
}

// MARK: JSON and XML

extension Authentication: Codable {
    public init(from decoder: any Decoder) throws { self = try Self(members: decoder) }

    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }

    /// Reads an `authentication` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) { try self.init(element: bytes) }

    /// An `authentication` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String { get throws(EntitlementBodyError) { try element } }
}

extension Authorization: Codable {
    public init(from decoder: any Decoder) throws { self = try Self(members: decoder) }

    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }

    /// Reads an `authorization` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) { try self.init(element: bytes) }

    /// An `authorization` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String { get throws(EntitlementBodyError) { try element } }
}
