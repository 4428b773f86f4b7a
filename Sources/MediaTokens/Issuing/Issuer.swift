// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import Platform
internal import XML

/// An issuer of media tokens for tests, staging and sandboxes. Real tokens come from the entitlement service.
///
/// Writes the wire format byte for byte: one line, fields in the order of real tokens, fragments in CDATA.
public struct Issuer: Sendable {
    /// The name of a token's element.
    public enum Root: String, Sendable, CaseIterable {
        /// The name in real tokens.
        case authToken
        /// The name in the vendor's documents.
        case shortAuthorizationToken
    }

    private let key: SigningKey
    private let root: Root
    private let offsetMinutes: Int
    private let writesMilliseconds: Bool

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - key: The signing key.
    ///   - root: The name of the root element.
    ///   - offsetMinutes: The offset from UTC of written issue times, in minutes east, clamped to -840 to 840.
    ///   - writesMilliseconds: True to write issue times in ISO 8601 with milliseconds, in UTC. The form of real tokens has
    ///     seconds only, so that two tokens of one second for one viewer and resource are the same bytes.
    public init(
        key: SigningKey,
        root: Root = .authToken,
        offsetMinutes: Int = 0,
        writesMilliseconds: Bool = false
    ) {
        self.key = key
        self.root = root
        self.offsetMinutes = min(max(offsetMinutes, -840), 840)
        self.writesMilliseconds = writesMilliseconds
    }

    /// Issues a token.
    ///
    /// - Parameters:
    ///   - claims: The content of the token.
    ///   - time: The time of issue, written to the second, or to the millisecond if this issuer does so.
    /// - Throws: ``IssueError`` if a verifier could not read the token, or OpenSSL cannot sign it.
    public func issue(_ claims: TokenClaims, at time: Timestamp) throws(IssueError) -> IssuedToken {
        var body: [UInt8] = []
        body += "<\(root.rawValue)>".utf8
        try body.appendField("sessionGUID", text: claims.userSessionGUID)
        try body.appendField("requestorID", text: claims.requestorID)
        try body.appendField("resourceID", text: claims.resourceID)
        try body.appendField("ttl", text: String(claims.timeToLiveMilliseconds))
        let issueTime = writesMilliseconds ? time.iso8601 : TokenTime.wireForm(time, offsetMinutes: offsetMinutes)
        try body.appendField("issueTime", text: issueTime)
        try body.appendField("mvpdId", text: claims.mvpdID)
        if let proxy = claims.proxyMVPDID { try body.appendField("proxyMvpdId", text: proxy) }
        body += "</\(root.rawValue)>".utf8
        return try sign(body: body)
    }

    /// Signs an element as it is, for tests and for the long-lived tokens of the sandbox. Not public for this reason.
    package func sign(body: [UInt8]) throws(IssueError) -> IssuedToken {
        let signature: [UInt8]
        do { signature = try key.sign(body) } catch { throw .signingFailed }
        let raw = [UInt8]("<signatureInfo>\(Base64.encode(signature))<signatureInfo>".utf8) + body
        let serialized = Base64.encode(raw)
        guard serialized.utf8.count <= Verifier.maximumEncodedSize else { throw .tooLarge }
        return IssuedToken(raw: String(decoding: raw, as: UTF8.self), serialized: serialized)
    }
}

/// The content of a token to issue.
public struct TokenClaims: Hashable, Sendable {
    /// The programmer to which the token is issued; not empty.
    public var requestorID: String
    /// The resource for which the token is issued, an identifier or a fragment; not empty.
    public var resourceID: String
    /// The TV provider that authorized the viewer; not empty.
    public var mvpdID: String
    /// The provider behind a proxy provider, not empty; `nil` if there is none.
    public var proxyMVPDID: String?
    /// The viewer's session; not empty.
    public var userSessionGUID: String
    /// The period in which the token may start a playback, in milliseconds. Real tokens have 420 000.
    public var timeToLiveMilliseconds: Int64

    /// Creates claims.
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
    /// The raw token.
    public let raw: String
    /// The token in Base64, as entitlement services return it.
    public let serialized: String
}

/// An error that prevents the issue of a token.
@nonexhaustive
public enum IssueError: Error, Hashable, Sendable {
    /// The field of this name is empty or only white space.
    case emptyField(String)
    /// The field of this name has a character that XML does not allow.
    case invalidCharacter(String)
    /// The serialized token would exceed ``Verifier/maximumEncodedSize``.
    case tooLarge
    /// OpenSSL could not sign the token.
    case signingFailed
}

extension IssueError: CustomStringConvertible {
    /// The explanation, and the code in brackets.
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
    fileprivate mutating func appendField(_ name: String, text: String) throws(IssueError) {
        guard !text.trimmed.isEmpty else { throw .emptyField(name) }
        guard text.isLegalXML else { throw .invalidCharacter(name) }
        self += "<\(name)>".utf8
        // In a CDATA section, a carriage return would be read as a line feed.
        if text.utf8.contains(UInt8(ascii: "<")), !text.utf8.contains(0xD) {
            appendSection(text)
        } else {
            appendXMLText(text.utf8.span)
        }
        self += "</\(name)>".utf8
    }

    /// Appends a CDATA section. Closes and reopens it around the `>` of every `]]>` in `text`.
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
