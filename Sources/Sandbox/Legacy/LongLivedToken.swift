// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

/// A long-lived token of the native SDKs. It does not open the gate, and only this service accepts it.
struct LongLivedToken: Sendable {
    /// The kinds of tokens, by the names of their elements.
    enum Kind: String, Sendable {
        /// The authentication of a viewer on a device. Its subject is the viewer's GUID.
        case authentication = "simpleAuthenticationToken"
        /// The authorization of a device to get media tokens. Its subject is the resource.
        case authorization = "simpleAuthorizationToken"

        fileprivate var subject: String {
            self == .authentication ? "simpleTokenAuthenticationGuid" : "simpleTokenResourceID"
        }

        fileprivate var expires: String { self == .authentication ? "simpleTokenExpires" : "simpleTokenTTL" }
    }

    let kind: Kind
    let subject: String
    /// The login that it belongs to.
    let session: String
    let requestor: String
    let provider: String
    let fingerprint: String
    let expires: Timestamp

    /// Creates a token for the login of a profile.
    init(_ kind: Kind, subject: String, profile: StoredProfile, expires: Timestamp) {
        self.kind = kind
        self.subject = subject
        self.expires = expires
        session = profile.session
        requestor = profile.requestor
        provider = profile.provider
        fingerprint = profile.device.fingerprint
    }

    /// Returns the signed token on one line.
    func signed(by issuer: Issuer) throws -> String {
        var fields = [
            (kind.subject, subject), ("simpleSamlSessionIndex", session), ("simpleTokenRequestorID", requestor),
            (kind.expires, expires.longLivedForm), ("simpleTokenMsoID", provider),
        ]
        if kind == .authentication {
            fields += [("simpleSamlNameID", subject), ("simpleTokenDomainName", "adobe.com")]
        }
        let device = XMLElement(
            "simpleTokenDeviceID",
            children: [XMLElement("simpleTokenFingerprint", text: fingerprint)]
        )
        let element = XMLElement(kind.rawValue, children: fields.map { XMLElement($0, text: $1) } + [device])
        return try issuer.sign(body: element.documentInOneLine()).raw
    }

    /// Parses and verifies a token; `nil` if it is not signed by this service, is of another kind, is malformed or has
    /// expired. Its name is checked as strictly as its signature, because one key signs all kinds of tokens.
    init?(_ kind: Kind, raw: String, trustedBy trust: TrustStore, at now: Timestamp) {
        guard let signed = SignedElement(raw: raw, trustedBy: trust, at: now),
            let element = try? XMLElement(reading: signed.bytes.span), element.name == kind.rawValue,
            element.namespace.isEmpty,
            let subject = element.first(kind.subject)?.text,
            let session = element.first("simpleSamlSessionIndex")?.text,
            let requestor = element.first("simpleTokenRequestorID")?.text,
            let provider = element.first("simpleTokenMsoID")?.text,
            let fingerprint = element.first("simpleTokenDeviceID")?.first("simpleTokenFingerprint")?.text,
            let expires = element.first(kind.expires).flatMap({ Timestamp(tokenTime: $0.text) }), expires > now
        else { return nil }
        self.kind = kind
        self.subject = subject
        self.session = session
        self.requestor = requestor
        self.provider = provider
        self.fingerprint = fingerprint
        self.expires = expires
    }
}

extension XMLElement {
    /// Returns this element as a document on one line, regardless of its texts. Clients search for tokens line by line.
    fileprivate func documentInOneLine() throws -> [UInt8] {
        try document().utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): [UInt8]("&#\(byte);".utf8)
            default: [byte]
            }
        }
    }
}
