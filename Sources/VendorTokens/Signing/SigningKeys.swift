// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
internal import Encodings

/// A secret that an edge and its issuer share. Neither description nor reflection contains it.
public struct SigningSecret: Sendable {
    package let bytes: [UInt8]

    /// The size from which on a secret is not warned of, in bytes.
    public static let recommendedSize = 32

    /// Creates a secret of its bytes.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/key`` if it is empty, or larger than 1,024 bytes.
    public init(bytes: [UInt8]) throws(SigningError) {
        guard 1...1024 ~= bytes.count else { throw SigningError(.key) }
        self.bytes = bytes
    }

    /// Creates a secret of a form that vendors hand out.
    public init(_ text: String, form: Form) throws(SigningError) {
        switch form {
        case .text: try self.init(bytes: Array(text.utf8))
        case .hexadecimal:
            guard let bytes = SigningText.bytes(hexadecimal: text.lowercased()) else { throw SigningError(.key) }
            try self.init(bytes: bytes)
        case .base64:
            guard let bytes = Base64.decode(Array(text.utf8)) else { throw SigningError(.key) }
            try self.init(bytes: bytes)
        }
    }

    /// A form in which secrets are handed out.
    public enum Form: String, Sendable, CaseIterable {
        /// The text itself.
        case text
        /// Hexadecimal digits of either case.
        case hexadecimal = "hex"
        /// Base64 of either alphabet, with or without padding.
        case base64
    }

    /// True if the secret has fewer bytes than are recommended.
    public var isShort: Bool { bytes.count < Self.recommendedSize }

    package func key(_ function: MessageDigest) throws(SigningError) -> HMACKey {
        do { return try HMACKey(bytes, function: function) } catch { throw SigningError(.key) }
    }
}

extension SigningSecret: CustomStringConvertible, CustomReflectable {
    /// The size, and nothing of the secret.
    public var description: String { "secret of \(bytes.count) bytes" }
    /// A `Mirror` without children, so that reflection contains no part of the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A private key of RSA, of a curve, or of Ed25519. Neither description nor reflection contains any part of it.
public struct SigningPrivateKey: Sendable {
    package let key: PrivateKey

    /// Reads an unencrypted private key in PEM.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/key``.
    public init(pem: [UInt8]) throws(SigningError) {
        guard let blocks = try? PEM.blocks(pem).filter({ $0.label != "EC PARAMETERS" }), blocks.count == 1,
            let block = blocks.first, ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"].contains(block.label),
            !block.isEncrypted
        else { throw SigningError(.key) }
        do { key = try PrivateKey(der: block.der) } catch { throw SigningError(.key) }
    }

    /// Creates a key for Ed25519 from its seed of 32 bytes.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/key``.
    public init(seed: SigningSecret) throws(SigningError) {
        do { key = try PrivateKey(.ed25519(seed: seed.bytes, publicKey: nil)) } catch { throw SigningError(.key) }
    }

    package func maker(_ scheme: SignatureScheme) throws(SigningError) -> SignatureMaker {
        guard let maker = SignatureMaker(key, scheme: scheme) else { throw SigningError(.key) }
        return maker
    }
}

extension SigningPrivateKey: CustomStringConvertible, CustomReflectable {
    /// The words "private key", and nothing of it.
    public var description: String { "private key" }
    /// A `Mirror` without children, so that reflection contains no part of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HMACKey {
    /// Returns the authentication code of UTF-8 text.
    package func code(of text: String) throws(SigningError) -> [UInt8] { try code(of: Array(text.utf8)) }

    package func code(of bytes: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let code = code(of: MessagePieces(bytes.span)) else { throw SigningError(.key) }
        return code
    }

    /// True if `code` is the authentication code of UTF-8 text, compared in constant time.
    package func isValid(_ code: [UInt8], of text: String) -> Bool {
        let message = Array(text.utf8)
        return isValid(code.span, of: MessagePieces(message.span))
    }
}

extension SignatureMaker {
    /// Returns the signature over UTF-8 text.
    package func signature(of text: String) throws(SigningError) -> [UInt8] {
        let message = Array(text.utf8)
        do { return try sign(MessagePieces(message.span)) } catch { throw SigningError(.key) }
    }
}
