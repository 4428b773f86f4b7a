// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import MediaResources
internal import Platform

/// A private RSA key that signs media tokens.
///
/// Neither its description nor its reflection contains any part of the key.
public struct SigningKey: Sendable {
    let key: RSAPrivateKey

    /// Reads an unencrypted private key from PEM text (PKCS #8 or PKCS #1).
    ///
    /// - Parameters:
    ///   - text: PEM with one private key.
    ///   - name: The name of the text in errors.
    /// - Throws: ``TrustError`` with code ``TrustError/Code/noKey``, ``TrustError/Code/malformedPEM``,
    ///   ``TrustError/Code/unsupportedKey``, ``TrustError/Code/keyTooSmall`` (fewer than 1024 bits) or
    ///   ``TrustError/Code/keyTooLarge``.
    public init(pem text: String, name: String = "key") throws(TrustError) {
        try self.init(pem: [UInt8](text.utf8), name: name)
    }

    /// Reads an unencrypted private key from a PEM file.
    ///
    /// - Parameter path: The path of a file of at most 1 MiB.
    /// - Throws: ``TrustError``, as ``init(pem:name:)``, or with code ``TrustError/Code/fileUnreadable``.
    public init(file path: String) throws(TrustError) {
        try self.init(pem: Self.text(path), name: path)
    }

    private init(pem text: [UInt8], name: String) throws(TrustError) {
        let block = try Self.privateBlock(in: text, name: name)
        do throws(KeyFault) { key = try RSAPrivateKey(der: block.der) } catch { throw TrustError(error, source: name) }
    }

    /// Reads a PEM file.
    static func text(_ path: String) throws(TrustError) -> [UInt8] {
        do { return try path.bytesOfFile(limit: 1 << 20) } catch {
            throw TrustError(.fileUnreadable, source: path, reason: error.reason)
        }
    }

    /// Returns the first PEM block with an unencrypted private key.
    static func privateBlock(in text: [UInt8], name: String) throws(TrustError) -> PEM.Block {
        let blocks: [PEM.Block]
        do { blocks = try PEM.blocks(text) } catch {
            throw TrustError(.malformedPEM, source: name, reason: "a PEM block is damaged: \(error.text)")
        }
        guard let block = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
            throw TrustError(.noKey, source: name, reason: "the file has no private key (-----BEGIN PRIVATE KEY-----)")
        }
        guard !block.isEncrypted, block.label != "ENCRYPTED PRIVATE KEY" else {
            throw TrustError(
                .unsupportedKey,
                source: name,
                reason: "the private key is encrypted; decrypt it first (openssl pkey -in FILE -out FILE)"
            )
        }
        return block
    }

    init(_ key: RSAPrivateKey) { self.key = key }

    func sign(_ bytes: [UInt8]) throws(OpenSSLError) -> [UInt8] { try key.sign(bytes) }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    /// A placeholder without any part of the key.
    public var description: String { "<private key>" }
    /// A `Mirror` without children, so that reflection contains no part of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
