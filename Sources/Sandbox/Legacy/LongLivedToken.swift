// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

/// The long-lived tokens of the native SDKs: authentication and authorization tokens. They do not open the gate, and only
/// this service accepts them.
enum LongLivedToken {
    /// The authentication of a viewer on a device.
    struct Authentication: Sendable {
        static let root = "simpleAuthenticationToken"

        let guid: String
        let session: String
        let requestor: String
        let provider: String
        let fingerprint: String
        let expires: Timestamp
    }

    /// The authorization of a device to get media tokens for a resource.
    struct Authorization: Sendable {
        static let root = "simpleAuthorizationToken"

        let requestor: String
        let provider: String
        /// The login that it belongs to.
        let session: String
        let resource: String
        let fingerprint: String
        let expires: Timestamp
    }
}

extension LongLivedToken.Authentication {
    /// Returns the signed token on one line.
    func signed(by issuer: Issuer) throws -> String {
        let element = XMLElement(
            Self.root,
            children: [
                XMLElement("simpleTokenAuthenticationGuid", text: guid),
                XMLElement("simpleSamlSessionIndex", text: session),
                XMLElement("simpleSamlNameID", text: guid),
                XMLElement("simpleTokenRequestorID", text: requestor),
                XMLElement("simpleTokenDomainName", text: "adobe.com"),
                XMLElement("simpleTokenExpires", text: expires.longLivedForm),
                XMLElement("simpleTokenMsoID", text: provider), .device(fingerprint),
            ]
        )
        return try issuer.sign(body: element.documentInOneLine()).raw
    }

    /// Parses and verifies a token; `nil` if it is not signed by this service, is of another kind, is malformed or has
    /// expired.
    init?(_ raw: String, trustedBy trust: TrustStore, at now: Timestamp) {
        guard let element = XMLElement(signed: raw, root: Self.root, trustedBy: trust, at: now),
            let guid = element.first("simpleTokenAuthenticationGuid")?.text,
            let session = element.first("simpleSamlSessionIndex")?.text,
            let requestor = element.first("simpleTokenRequestorID")?.text,
            let provider = element.first("simpleTokenMsoID")?.text,
            let fingerprint = element.deviceFingerprint,
            let expires = element.first("simpleTokenExpires").flatMap({ Timestamp(tokenTime: $0.text) }), expires > now
        else { return nil }
        self.init(
            guid: guid,
            session: session,
            requestor: requestor,
            provider: provider,
            fingerprint: fingerprint,
            expires: expires
        )
    }
}

extension LongLivedToken.Authorization {
    /// Returns the signed token on one line.
    func signed(by issuer: Issuer) throws -> String {
        let element = XMLElement(
            Self.root,
            children: [
                XMLElement("simpleTokenRequestorID", text: requestor),
                XMLElement("simpleTokenResourceID", text: resource),
                XMLElement("simpleTokenTTL", text: expires.longLivedForm),
                XMLElement("simpleTokenMsoID", text: provider),
                XMLElement("simpleSamlSessionIndex", text: session), .device(fingerprint),
            ]
        )
        return try issuer.sign(body: element.documentInOneLine()).raw
    }

    /// Parses and verifies a token; `nil` if it is not signed by this service, is of another kind, is malformed or has
    /// expired.
    init?(_ raw: String, trustedBy trust: TrustStore, at now: Timestamp) {
        guard let element = XMLElement(signed: raw, root: Self.root, trustedBy: trust, at: now),
            let session = element.first("simpleSamlSessionIndex")?.text,
            let requestor = element.first("simpleTokenRequestorID")?.text,
            let provider = element.first("simpleTokenMsoID")?.text,
            let resource = element.first("simpleTokenResourceID")?.text,
            let fingerprint = element.deviceFingerprint,
            let expires = element.first("simpleTokenTTL").flatMap({ Timestamp(tokenTime: $0.text) }), expires > now
        else { return nil }
        self.init(
            requestor: requestor,
            provider: provider,
            session: session,
            resource: resource,
            fingerprint: fingerprint,
            expires: expires
        )
    }
}

extension XMLElement {
    /// Parses a signed element. Its name is checked as strictly as its signature, because one key signs all kinds of tokens.
    fileprivate init?(signed raw: String, root: String, trustedBy trust: TrustStore, at now: Timestamp) {
        guard let signed = SignedElement(raw: raw, trustedBy: trust, at: now),
            let element = try? XMLElement(reading: signed.bytes.span), element.name == root,
            element.namespace.isEmpty
        else { return nil }
        self = element
    }

    /// Returns the element that names the device of a token.
    fileprivate static func device(_ fingerprint: String) -> XMLElement {
        XMLElement("simpleTokenDeviceID", children: [XMLElement("simpleTokenFingerprint", text: fingerprint)])
    }

    fileprivate var deviceFingerprint: String? { first("simpleTokenDeviceID")?.first("simpleTokenFingerprint")?.text }

    /// Returns this element as a document on one line, whatever its texts contain. Clients search for tokens line by line.
    fileprivate func documentInOneLine() throws -> [UInt8] {
        try document().utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\n"): [UInt8]("&#10;".utf8)
            case UInt8(ascii: "\r"): [UInt8]("&#13;".utf8)
            case UInt8(ascii: "\t"): [UInt8]("&#9;".utf8)
            default: [byte]
            }
        }
    }
}
