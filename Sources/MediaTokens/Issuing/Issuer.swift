// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import Platform
internal import XML

/// A maker of media tokens, for tests, staging and stand-in services. Real tokens come from the entitlement service.
///
/// The wire form byte for byte: one line, fields in the order of real tokens, fragments in CDATA.
public struct Issuer: Sendable {
    /// The name of a token's element.
    public enum Root: String, Sendable, CaseIterable {
        /// As real tokens have it.
        case authToken
        /// As the documents have it.
        case shortAuthorizationToken
    }

    private let key: SigningKey
    private let root: Root
    private let offsetMinutes: Int

    /// Makes an issuer.
    ///
    /// - Parameters:
    ///   - key: The key to sign with.
    ///   - root: The name of the element.
    ///   - offsetMinutes: The offset from UTC in which issue times are written, in minutes east, from -840 to 840.
    public init(key: SigningKey, root: Root = .authToken, offsetMinutes: Int = 0) {
        self.key = key
        self.root = root
        self.offsetMinutes = min(max(offsetMinutes, -840), 840)
    }

    /// Issues a token.
    ///
    /// - Parameters:
    ///   - claims: What the token says.
    ///   - time: The time of issue, written to the second.
    /// - Throws: ``IssueError`` where a verifier could not read the token, or OpenSSL cannot sign.
    public func issue(_ claims: TokenClaims, at time: Timestamp) throws(IssueError) -> IssuedToken {
        var body: [UInt8] = []
        body += "<\(root.rawValue)>".utf8
        try body.appendField("sessionGUID", claims.userSessionGUID)
        try body.appendField("requestorID", claims.requestorID)
        try body.appendField("resourceID", claims.resourceID)
        try body.appendField("ttl", String(claims.timeToLiveMilliseconds))
        try body.appendField("issueTime", TokenTime.wireForm(time, offsetMinutes: offsetMinutes))
        try body.appendField("mvpdId", claims.mvpdID)
        if let proxy = claims.proxyMVPDID { try body.appendField("proxyMvpdId", proxy) }
        body += "</\(root.rawValue)>".utf8
        return try sign(body: body)
    }

    /// Signs an element as it is. For tests of what no issuer would issue, and so not public.
    package func sign(body: [UInt8]) throws(IssueError) -> IssuedToken {
        let signature: [UInt8]
        do { signature = try key.sign(body) } catch { throw .signingFailed }
        let raw = [UInt8]("<signatureInfo>\(Base64.encode(signature))<signatureInfo>".utf8) + body
        let serialized = Base64.encode(raw)
        guard serialized.utf8.count <= Verifier.maximumEncodedSize else { throw .tooLarge }
        return IssuedToken(raw: String(decoding: raw, as: UTF8.self), serialized: serialized)
    }
}

/// What a token is to say.
public struct TokenClaims: Hashable, Sendable {
    /// The programmer that the token is for; not empty.
    public var requestorID: String
    /// The resource that the token is good for, an identifier or a fragment; not empty.
    public var resourceID: String
    /// The TV provider that authorized the viewer; not empty.
    public var mvpdID: String
    /// The provider behind a proxy provider, if there is one; then not empty.
    public var proxyMVPDID: String?
    /// The viewer's session; not empty.
    public var userSessionGUID: String
    /// For how long the token may start a playback, in milliseconds. Real tokens have 420 000.
    public var timeToLiveMilliseconds: Int64

    /// Makes claims.
    public init(
        requestorID: String,
        resourceID: String,
        mvpdID: String,
        proxyMVPDID: String? = nil,
        userSessionGUID: String,
        timeToLiveMilliseconds: Int64 = 420_000
    ) {
        self.requestorID = requestorID
        self.resourceID = resourceID
        self.mvpdID = mvpdID
        self.proxyMVPDID = proxyMVPDID
        self.userSessionGUID = userSessionGUID
        self.timeToLiveMilliseconds = timeToLiveMilliseconds
    }
}

/// A signed token in its two forms.
public struct IssuedToken: Hashable, Sendable {
    /// The token as it is.
    public let raw: String
    /// The token in Base64, as entitlement services hand it out.
    public let serialized: String
}

/// The reason why a token cannot be issued.
@nonexhaustive
public enum IssueError: Error, Hashable, Sendable {
    /// The field of this name is empty or white space only.
    case emptyField(String)
    /// The field of this name has a character that XML does not allow.
    case invalidCharacter(String)
    /// The serialized token would be larger than verifiers take.
    case tooLarge
    /// OpenSSL could not sign.
    case signingFailed
}

extension IssueError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .emptyField(let name): "\(name) is empty [issue_empty_field]"
        case .invalidCharacter(let name): "\(name) has a character that XML does not allow [issue_invalid_character]"
        case .tooLarge: "the token would be larger than \(Verifier.maximumEncodedSize) bytes [issue_too_large]"
        case .signingFailed: "OpenSSL could not sign [issue_signing_failed]"
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendField(_ name: String, _ text: String) throws(IssueError) {
        guard !text.trimmed.isEmpty else { throw .emptyField(name) }
        guard text.isLegalXML else { throw .invalidCharacter(name) }
        self += "<\(name)>".utf8
        // A CDATA section would turn a carriage return into a line feed.
        if text.utf8.contains(UInt8(ascii: "<")), !text.utf8.contains(0xD) {
            appendSection(text)
        } else {
            appendXMLText(text.utf8)
        }
        self += "</\(name)>".utf8
    }

    /// Appends a CDATA section that is closed and reopened around the `>` of every `]]>` in `text`.
    private mutating func appendSection(_ text: String) {
        self += "<![CDATA[".utf8
        var brackets = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: ">"), brackets >= 2 {
                self += "]]>><![CDATA[".utf8
            } else {
                append(byte)
            }
            brackets = byte == UInt8(ascii: "]") ? brackets + 1 : 0
        }
        self += "]]>".utf8
    }
}
