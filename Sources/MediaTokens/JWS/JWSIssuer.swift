// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Platform
internal import XML

/// An issuer of media tokens in JWS compact form, for entitlement services of one's own, for tests and for staging.
///
/// A verifier accepts such tokens only if its trust names the key for them (``MediaTokenForm/jws``).
public struct JWSIssuer: Sendable {
    private let maker: SignatureMaker
    private let header: String
    /// The public key in PEM, for the trust of verifiers.
    public let publicKey: String

    /// Reads an unencrypted private key of P-256 or Ed25519 from PEM text (PKCS #8 or SEC 1).
    ///
    /// - Parameters:
    ///   - text: PEM with one private key.
    ///   - name: The name of the text in errors.
    /// - Throws: ``TrustError`` with code ``TrustError/Code/noKey``, ``TrustError/Code/malformedPEM`` or
    ///   ``TrustError/Code/unsupportedKey``.
    public init(pem text: String, name: String = "key") throws(TrustError) {
        try self.init(SigningKey.privateBlock(in: [UInt8](text.utf8), name: name), name: name)
    }

    /// Reads an unencrypted private key of P-256 or Ed25519 from a PEM file.
    ///
    /// - Parameter path: The path of a file of at most 1 MiB.
    /// - Throws: ``TrustError``, as ``init(pem:name:)``, or with code ``TrustError/Code/fileUnreadable``.
    public init(file path: String) throws(TrustError) {
        try self.init(SigningKey.privateBlock(in: SigningKey.text(path), name: path), name: path)
    }

    private init(_ block: PEM.Block, name: String) throws(TrustError) {
        let key: PrivateKey
        do throws(KeyMaterialFault) { key = try PrivateKey(der: block.der) } catch {
            throw TrustError(error, source: name)
        }
        guard let scheme = SignatureScheme(mediaTokenKey: key.publicKey.type),
            let maker = SignatureMaker(key, scheme: scheme)
        else { throw TrustError(KeyMaterialFault.unsupported, source: name) }
        guard let text = try? key.publicKey.pem() else {
            throw TrustError(.internalFailure, source: name, reason: "OpenSSL cannot write the public key")
        }
        self.maker = maker
        publicKey = text
        let header: JSON = ["alg": .string(scheme.mediaTokenAlgorithm), "typ": .string(JWSEnvelope.type)]
        self.header = Base64.encodeURLSafe([UInt8](header.line.utf8))
    }

    /// Issues a token. Its issue time has milliseconds, so two tokens for one viewer differ.
    ///
    /// - Parameters:
    ///   - claims: The content of the token.
    ///   - time: The time of issue.
    /// - Returns: The token, whose two forms are the same: a JWS has no further layer of Base64.
    /// - Throws: ``IssueError`` if a verifier could not read the token, or OpenSSL cannot sign it.
    public func issue(_ claims: TokenClaims, at time: Timestamp) throws(IssueError) -> IssuedToken {
        var members: [JSON.Member] = []
        func add(_ name: String, text: String) throws(IssueError) {
            guard !text.utf8.allSatisfy(\.isXMLSpace) else { throw .emptyField(name) }
            guard text.isLegalXML else { throw .invalidCharacter(name) }
            members.append((name, .string(text)))
        }
        try add("sessionGUID", text: claims.userSessionGUID)
        try add("requestorID", text: claims.requestorID)
        try add("resourceID", text: claims.resourceID)
        members.append(("ttl", .number(claims.timeToLiveMilliseconds)))
        members.append(("issueTime", .number(time.millisecondsSince1970)))
        try add("mvpdId", text: claims.mvpdID)
        if let proxy = claims.proxyMVPDID { try add("proxyMvpdId", text: proxy) }
        return try sign(payload: [UInt8](JSON.object(members).line.utf8))
    }

    /// Signs a payload as it is, for tests. Not public for this reason.
    package func sign(payload: [UInt8]) throws(IssueError) -> IssuedToken {
        let signed = header + "." + Base64.encodeURLSafe(payload)
        let signature: [UInt8]
        do { signature = try maker.sign(MessagePieces(signed.utf8.span)) } catch { throw .signingFailed }
        let token = signed + "." + Base64.encodeURLSafe(signature)
        guard token.utf8.count <= Verifier.maximumEncodedSize else { throw .tooLarge }
        return IssuedToken(raw: token, serialized: token)
    }
}
