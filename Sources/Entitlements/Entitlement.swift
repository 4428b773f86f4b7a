// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
public import MediaTokens

// The bodies of REST API v1: the same members in JSON and in XML, all of them texts.

/// That a viewer is authenticated: an `authentication` of REST API v1.
public struct Authentication: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The viewer's id at the provider, obscured.
    public var userID: String
    /// Until when it holds, to the millisecond.
    public var expires: Timestamp

    /// Makes an authentication.
    public init(requestor: String, mvpd: String, userID: String, expires: Timestamp) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.userID = userID
        self.expires = expires
    }
}

/// That a viewer may have media tokens for a resource: an `authorization` of REST API v1. It opens nothing by itself.
public struct Authorization: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The provider behind a proxy provider.
    public var proxyMVPD: String?
    /// The resource as it was asked for.
    public var resource: String
    /// Until when it holds, to the millisecond.
    public var expires: Timestamp

    /// Makes an authorization.
    public init(requestor: String, mvpd: String, proxyMVPD: String? = nil, resource: String, expires: Timestamp) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.proxyMVPD = proxyMVPD
        self.resource = resource
        self.expires = expires
    }
}

/// A media token as REST API v1 hands it out: a `play`. It may start one playback, and must never be kept for another.
public struct HandedOutToken: Hashable, Sendable {
    /// The requestor's id.
    public var requestor: String
    /// The id of the provider.
    public var mvpd: String
    /// The resource as it was asked for.
    public var resource: String
    /// The viewer's id at the provider, obscured.
    public var userID: String
    /// Until when it holds, to the millisecond.
    public var expires: Timestamp
    /// The token in Base64: what the gate is shown.
    public var serializedToken: String

    /// Makes a token.
    public init(
        requestor: String,
        mvpd: String,
        resource: String,
        userID: String,
        expires: Timestamp,
        serializedToken: String
    ) {
        self.requestor = requestor
        self.mvpd = mvpd
        self.resource = resource
        self.userID = userID
        self.expires = expires
        self.serializedToken = serializedToken
    }
}

// MARK: JSON

extension Authentication: Codable {
    private enum Key: String, CodingKey { case requestor, mvpd, userId, expires }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        requestor = try members.decode(String.self, forKey: .requestor)
        mvpd = try members.decode(String.self, forKey: .mvpd)
        userID = try members.decode(String.self, forKey: .userId)
        expires = try members.milliseconds(.expires)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(requestor, forKey: .requestor)
        try members.encode(mvpd, forKey: .mvpd)
        try members.encode(userID, forKey: .userId)
        try members.encode(expires, asTextFor: .expires)
    }
}

extension Authorization: Codable {
    private enum Key: String, CodingKey { case requestor, mvpd, proxyMvpd, resource, expires }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        requestor = try members.decode(String.self, forKey: .requestor)
        mvpd = try members.decode(String.self, forKey: .mvpd)
        proxyMVPD = try members.decodeIfPresent(String.self, forKey: .proxyMvpd)
        resource = try members.decode(String.self, forKey: .resource)
        expires = try members.milliseconds(.expires)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(requestor, forKey: .requestor)
        try members.encode(mvpd, forKey: .mvpd)
        try members.encodeIfPresent(proxyMVPD, forKey: .proxyMvpd)
        try members.encode(resource, forKey: .resource)
        try members.encode(expires, asTextFor: .expires)
    }
}

extension HandedOutToken: Codable {
    private enum Key: String, CodingKey { case requestor, mvpdId, resource, userId, expires, serializedToken }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        requestor = try members.decode(String.self, forKey: .requestor)
        mvpd = try members.decode(String.self, forKey: .mvpdId)
        resource = try members.decode(String.self, forKey: .resource)
        userID = try members.decode(String.self, forKey: .userId)
        expires = try members.milliseconds(.expires)
        serializedToken = try members.decode(String.self, forKey: .serializedToken)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(requestor, forKey: .requestor)
        try members.encode(mvpd, forKey: .mvpdId)
        try members.encode(resource, forKey: .resource)
        try members.encode(userID, forKey: .userId)
        try members.encode(expires, asTextFor: .expires)
        try members.encode(serializedToken, forKey: .serializedToken)
    }
}

// MARK: XML

extension Authentication {
    /// Reads an `authentication` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let body = try XMLElement.body(bytes, root: "authentication")
        self.init(
            requestor: try body.required("requestor"),
            mvpd: try body.required("mvpd"),
            userID: try body.required("userId"),
            expires: try body.milliseconds("expires")
        )
    }

    /// This as an `authentication` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` where a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            try XMLElement(
                "authentication",
                fields: [
                    ("expires", "\(expires.millisecondsSince1970)"), ("userId", userID), ("mvpd", mvpd),
                    ("requestor", requestor),
                ]
            ).body()
        }
    }
}

extension Authorization {
    /// Reads an `authorization` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let body = try XMLElement.body(bytes, root: "authorization")
        self.init(
            requestor: try body.required("requestor"),
            mvpd: try body.required("mvpd"),
            proxyMVPD: try body.optional("proxyMvpd"),
            resource: try body.required("resource"),
            expires: try body.milliseconds("expires")
        )
    }

    /// This as an `authorization` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` where a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            try XMLElement(
                "authorization",
                fields: [
                    ("expires", "\(expires.millisecondsSince1970)"), ("mvpd", mvpd), ("requestor", requestor),
                    ("resource", resource), ("proxyMvpd", proxyMVPD),
                ]
            ).body()
        }
    }
}

extension HandedOutToken {
    /// Reads a `play` element.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let body = try XMLElement.body(bytes, root: "play")
        self.init(
            requestor: try body.required("requestor"),
            mvpd: try body.required("mvpdId"),
            resource: try body.required("resource"),
            userID: try body.required("userId"),
            expires: try body.milliseconds("expires"),
            serializedToken: try body.required("serializedToken")
        )
    }

    /// This as a `play` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` where a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            try XMLElement(
                "play",
                fields: [
                    ("expires", "\(expires.millisecondsSince1970)"), ("mvpdId", mvpd), ("requestor", requestor),
                    ("resource", resource), ("serializedToken", serializedToken), ("userId", userID),
                ]
            ).body()
        }
    }
}

extension XMLElement {
    fileprivate func milliseconds(_ name: String) throws(EntitlementBodyError) -> Timestamp {
        guard let number = Int64(try required(name)) else {
            throw EntitlementBodyError(.unexpected, "\(self.name): \(name) is no number of milliseconds")
        }
        return Timestamp(millisecondsSince1970: number)
    }
}
