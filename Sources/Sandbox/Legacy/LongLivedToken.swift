// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

/// The long-lived tokens of the native SDKs: that somebody is authenticated, that a device is authorized. They open
/// nothing, and come back to nobody but this service.
enum LongLivedToken {
    /// That somebody is authenticated on a device.
    struct Authentication: Sendable {
        static let root = "simpleAuthenticationToken"

        let guid: String
        let session: String
        let requestor: String
        let provider: String
        let fingerprint: String
        let expires: Timestamp
    }

    /// That a device may have media tokens for a resource.
    struct Authorization: Sendable {
        static let root = "simpleAuthorizationToken"

        let requestor: String
        let provider: String
        /// The login that it was given to.
        let session: String
        let resource: String
        let fingerprint: String
        let expires: Timestamp
    }
}

extension LongLivedToken.Authentication {
    /// The token, signed, in one line.
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

    /// Reads a token that comes back; nil where it is none of ours, another kind, malformed or expired.
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
    /// The token, signed, in one line.
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

    /// Reads a token that comes back; nil where it is none of ours, another kind, malformed or expired.
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
    /// Reads an element that a key has signed. Its name is looked at as strictly as its signature: all kinds of tokens have
    /// one key.
    fileprivate init?(signed raw: String, root: String, trustedBy trust: TrustStore, at now: Timestamp) {
        guard let signed = SignedElement(raw: raw, trustedBy: trust, at: now),
            let element = try? XMLElement(reading: signed.bytes.span), element.name == root,
            element.namespace.isEmpty
        else { return nil }
        self = element
    }

    /// The device that a token is for.
    fileprivate static func device(_ fingerprint: String) -> XMLElement {
        XMLElement("simpleTokenDeviceID", children: [XMLElement("simpleTokenFingerprint", text: fingerprint)])
    }

    fileprivate var deviceFingerprint: String? { first("simpleTokenDeviceID")?.first("simpleTokenFingerprint")?.text }

    /// This as a document in one line whatever its texts have: clients look for tokens line by line.
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
