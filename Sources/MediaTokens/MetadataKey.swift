// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The programmer's private key, for the metadata of viewers that the service encrypts for it.
///
/// It never prints: neither its description nor reflection shows anything of it.
public struct MetadataKey: Sendable {
    /// How a value was padded before it was encrypted.
    public enum Padding: String, Sendable, CaseIterable {
        /// RSAES-PKCS1-v1_5 (RFC 8017 §7.2).
        case pkcs1
        /// RSAES-OAEP with SHA-1 (RFC 8017 §7.1), the default of most libraries.
        case oaep

        var ofRSA: RSAPadding { self == .pkcs1 ? .pkcs1 : .oaep }
    }

    private let key: SigningKey
    private let padding: Padding

    /// Reads an unencrypted private key from PEM text (PKCS #8 or PKCS #1).
    ///
    /// - Throws: ``TrustError``, as ``SigningKey/init(pem:name:)``.
    public init(pem text: String, padding: Padding = .pkcs1, name: String = "key") throws(TrustError) {
        key = try SigningKey(pem: text, name: name)
        self.padding = padding
    }

    /// What a value says.
    ///
    /// - Parameter value: Base64 of RSA ciphertext: one block of the key's size, or several one after another.
    /// - Returns: Nil where it is no Base64, was encrypted for another key, or is no UTF-8 text. Nothing tells these apart.
    public func decrypt(_ value: String) -> String? {
        guard let bytes = Base64.decode([UInt8](value.utf8)), let text = key.key.decrypt(bytes, padding.ofRSA) else {
            return nil
        }
        return String(validating: text, as: UTF8.self)
    }
}

extension MetadataKey: CustomStringConvertible, CustomReflectable {
    public var description: String { "<private key>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The programmer's certificate, for stand-in services that encrypt metadata for it.
package struct MetadataCertificate: Sendable {
    private let der: [UInt8]
    private let padding: MetadataKey.Padding

    /// Reads a certificate from PEM text.
    ///
    /// - Returns: Nil where there is none with an RSA key in it.
    package init?(pem text: String, padding: MetadataKey.Padding = .pkcs1) {
        guard let blocks = try? PEM.blocks([UInt8](text.utf8)), let block = blocks.first(where: \.isCertificate),
            let key = try? Certificate(der: block.der)?.publicKey(minimumBits: 1024)
        else { return nil }
        der = key.der
        self.padding = padding
    }

    /// A value as only the holder of the private key can read it: Base64, in as many blocks as it needs.
    package func encrypt(_ value: String) -> String? {
        guard let key = try? PublicKeyReader.key(subjectPublicKeyInfo: der, minimumBits: 1024),
            let bytes = key.encrypt([UInt8](value.utf8), padding.ofRSA)
        else { return nil }
        return Base64.encode(bytes)
    }
}
