// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The programmer's private key, which decrypts metadata of viewers from the entitlement service.
///
/// Neither its description nor its reflection contains any part of the key.
public struct MetadataKey: Sendable {
    /// The padding of a value before encryption.
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
    /// - Parameters:
    ///   - text: PEM with a private key.
    ///   - padding: The padding of the encrypted values.
    ///   - name: The name of the text in errors.
    /// - Throws: ``TrustError``, as ``SigningKey/init(pem:name:)``.
    public init(pem text: String, padding: Padding = .pkcs1, name: String = "key") throws(TrustError) {
        key = try SigningKey(pem: text, name: name)
        self.padding = padding
    }

    /// Decrypts a value.
    ///
    /// - Parameter value: The Base64 of RSA ciphertext: 1 to 64 blocks of the key's size.
    /// - Returns: The text, or `nil` if the value is not Base64, was encrypted for another key, or is not UTF-8. The
    ///   result does not distinguish these cases.
    public func decrypt(_ value: String) -> String? {
        guard let bytes = Base64.decode([UInt8](value.utf8)), let text = key.key.decrypt(bytes, padding: padding.ofRSA)
        else {
            return nil
        }
        return String(validating: text, as: UTF8.self)
    }
}

extension MetadataKey: CustomStringConvertible, CustomReflectable {
    /// A placeholder without any part of the key.
    public var description: String { "<private key>" }
    /// A `Mirror` without children, so that reflection contains no part of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The programmer's certificate, with which test entitlement services encrypt metadata for the programmer.
package struct MetadataCertificate: Sendable {
    private let der: [UInt8]
    private let padding: MetadataKey.Padding

    /// Reads the first certificate in PEM text.
    ///
    /// - Returns: `nil` if there is no certificate, or the first one has no RSA key of at least 1024 bits.
    package init?(pem text: String, padding: MetadataKey.Padding = .pkcs1) {
        guard let blocks = try? PEM.blocks([UInt8](text.utf8)), let block = blocks.first(where: \.isCertificate),
            let key = try? Certificate(der: block.der)?.publicKey(minimumBits: 1024)
        else { return nil }
        der = key.der
        self.padding = padding
    }

    /// Encrypts a value for the holder of the private key. Returns Base64, in as many blocks as the value needs.
    package func encrypt(_ value: String) -> String? {
        guard let key = try? PublicKeyReader.key(subjectPublicKeyInfo: der, minimumBits: 1024),
            let bytes = key.encrypt([UInt8](value.utf8), padding: padding.ofRSA)
        else { return nil }
        return Base64.encode(bytes)
    }
}
