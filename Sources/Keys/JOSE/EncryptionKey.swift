// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A symmetric key that encrypts claims (RFC 7516), bound to one way of using it.
public final class EncryptionKey: Sendable {
    /// The identifier, or `nil` if it has none.
    public let id: KeyID?
    /// The only use of the key.
    public let algorithm: Algorithm
    /// The algorithm of the content.
    public let encryption: Encryption

    /// The secret, for a policy that another process decides by.
    package let secret: [UInt8]

    /// A use of a key (RFC 7518 §4.1). The raw value is its name there.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// The key encrypts the content itself.
        case direct = "dir"
        /// The key, of 16 bytes, wraps a key for each content.
        case a128kw = "A128KW"
        /// The key, of 32 bytes, wraps a key for each content.
        case a256kw = "A256KW"
    }

    /// An algorithm of content (RFC 7518 §5.1). The raw value is its name there.
    public enum Encryption: String, Hashable, Sendable, CaseIterable {
        /// AES-GCM with a key of 16 bytes.
        case a128gcm = "A128GCM"
        /// AES-GCM with a key of 32 bytes.
        case a256gcm = "A256GCM"

        var keySize: Int { self == .a128gcm ? 16 : 32 }
    }

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - secret: Random bytes: 16 or 32, as the algorithm needs.
    ///   - id: The identifier, or `nil` for none.
    ///   - algorithm: The use of the key.
    ///   - encryption: The algorithm of the content; by default the one for keys of this size.
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the size is not that of the algorithm.
    public init(
        secret: [UInt8],
        id: KeyID?,
        algorithm: Algorithm,
        encryption: Encryption? = nil
    ) throws(KeySetError) {
        let encryption = encryption ?? (secret.count == 16 ? .a128gcm : .a256gcm)
        let size =
            switch algorithm {
            case .direct: encryption.keySize
            case .a128kw: 16
            case .a256kw: 32
            }
        guard secret.count == size else {
            throw KeySetError(
                .unusableKey,
                reason: "the secret has \(secret.count) bytes, not the \(size) of its algorithm"
            )
        }
        (self.secret, self.id, self.algorithm, self.encryption) = (secret, id, algorithm, encryption)
    }

    /// Returns the compact serialisation of an encrypted text (RFC 7516 §7.1).
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if OpenSSL fails, or the identifier is not UTF-8.
    public func encrypt(_ text: [UInt8]) throws(KeySetError) -> String {
        let failure = KeySetError(.unusableKey, reason: "the text cannot be encrypted")
        var members: [JSON.Member] = [
            (name: "alg", value: .string(algorithm.rawValue)), (name: "enc", value: .string(encryption.rawValue)),
        ]
        if let id {
            guard let text = id.text else { throw failure }
            members.append((name: "kid", value: .string(text)))
        }
        var header: [UInt8] = []
        JSON.object(members).write(to: &header)
        let headerText = Base64.encodeURLSafe(header)
        let nonce: [UInt8]
        var contentKey = secret
        var wrapped: [UInt8] = []
        do {
            nonce = try RandomBytes.make(AuthenticatedCipher.nonceSize)
            if algorithm != .direct { contentKey = try RandomBytes.make(encryption.keySize) }
        } catch { throw KeySetError(.unusableKey, reason: error.text) }
        if algorithm != .direct {
            guard let result = KeyWrap(secret)?.wrap(contentKey) else { throw failure }
            wrapped = result
        }
        guard let cipher = AuthenticatedCipher(contentKey),
            let sealed = cipher.seal(text, nonce: nonce, authenticating: [UInt8](headerText.utf8))
        else { throw failure }
        let parts = [wrapped, nonce, sealed.text, sealed.tag].map { Base64.encodeURLSafe($0) }
        return ([headerText] + parts).joined(separator: ".")
    }

    /// Returns the text of a compact serialisation whose header names this key's use; `nil` if another key encrypted it.
    fileprivate func decrypt(_ parsed: JWE) -> [UInt8]? {
        guard parsed.algorithm == algorithm.rawValue, parsed.encryption == encryption.rawValue else { return nil }
        let contentKey: [UInt8]
        if algorithm == .direct {
            guard parsed.wrappedKey.isEmpty else { return nil }
            contentKey = secret
        } else {
            guard let key = KeyWrap(secret)?.unwrap(parsed.wrappedKey), key.count == encryption.keySize else {
                return nil
            }
            contentKey = key
        }
        return AuthenticatedCipher(contentKey)?.open(
            parsed.text,
            nonce: parsed.nonce,
            authenticating: parsed.header,
            tag: parsed.tag
        )
    }
}

extension EncryptionKey: CustomStringConvertible, CustomReflectable {
    /// The identifier and the algorithm.
    public var description: String { "\(id?.description ?? "key") (\(algorithm.rawValue))" }
    /// A `Mirror` without children, so that reflection contains no part of the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A JSON Web Encryption in its compact serialisation (RFC 7516 §7.1), whose text is still encrypted.
public struct JWE: Sendable {
    /// The name of the use of the key.
    public let algorithm: String
    /// The name of the algorithm of the content.
    public let encryption: String
    /// The key identifier; `nil` if the header has none.
    public let keyID: KeyID?

    fileprivate let header: [UInt8]
    fileprivate let wrappedKey: [UInt8]
    fileprivate let nonce: [UInt8]
    fileprivate let text: [UInt8]
    fileprivate let tag: [UInt8]

    /// The largest serialisation, in characters.
    public static let maximumSize = 4096

    /// Parses a serialisation. `nil` if it is not five parts of unpadded URL-safe Base64 with a header that names its
    /// algorithms, or if the header has unsupported members.
    public init?(_ serialized: Span<UInt8>) {
        guard serialized.count <= Self.maximumSize else { return nil }
        let parts = JOSEParts(serialized)
        guard parts.count == 5, let (header, id) = try? JOSEHeader.read(serialized.extracting(parts[0])),
            !header.isUnsupported, let algorithm = header.algorithm.name, let encryption = header.encryption
        else { return nil }
        if case .impossible = header.keyID { return nil }
        keyID = id
        var decoded: [[UInt8]] = []
        for index in 1..<5 {
            guard let part = Base64.decodeURLSafe(String(copying: serialized.extracting(parts[index]))) else {
                return nil
            }
            decoded.append(part)
        }
        guard !decoded[1].isEmpty, !decoded[3].isEmpty else { return nil }
        (self.algorithm, self.encryption) = (algorithm, encryption)
        self.header = [UInt8](copying: serialized.extracting(parts[0]))
        (wrappedKey, nonce, text, tag) = (decoded[0], decoded[1], decoded[2], decoded[3])
    }

    /// Returns the text, if one of the keys encrypted it; `nil` otherwise.
    ///
    /// A key with another identifier than the header's is not tried, and none is used but in its own way.
    public func decrypted(by keys: [EncryptionKey]) -> [UInt8]? {
        for key in keys.prefix(KeySet.maximumCandidates * 4) {
            if let keyID, key.id != keyID { continue }
            if let text = key.decrypt(self) { return text }
        }
        return nil
    }
}

extension EncryptionKey {
    /// Reads the keys for encryption of a JWK Set (RFC 7517 §5) in a file of the operator's own: symmetric ones with `alg`
    /// `dir`, `A128KW`, `A256KW`, or `A128GCM` or `A256GCM` for direct use. Other keys are left out.
    ///
    /// - Throws: ``KeySetError``: ``KeySetError/Code/noUsableKey`` if none is left.
    public static func read(jwkSet bytes: [UInt8]) throws(KeySetError) -> [EncryptionKey] {
        guard bytes.count <= KeySetReading.maximumSize else {
            throw KeySetError(.tooLarge, reason: "the key set has more than \(KeySetReading.maximumSize) bytes")
        }
        let limits = JSONLimits(depth: 6, members: 64, elements: 256)
        let json: JSON
        do throws(JSONFault) { json = try JSONReader.read(bytes.span, limits: limits) } catch {
            throw KeySetError(.malformed, reason: "the key set is not strict JSON")
        }
        guard let entries = json["keys"]?.values else {
            throw KeySetError(.malformed, reason: "the key set has no list \"keys\"")
        }
        let keys = entries.compactMap(key)
        guard !keys.isEmpty else { throw KeySetError(.noUsableKey, reason: "the set has no key for encryption") }
        guard keys.count <= KeySetReading.maximumKeys else {
            throw KeySetError(
                .tooManyKeys,
                reason: "the set has more than \(KeySetReading.maximumKeys) keys for encryption"
            )
        }
        return keys
    }

    private static func key(_ entry: JSON) -> EncryptionKey? {
        guard entry["kty"]?.text == "oct", entry["use"] == nil || entry["use"]?.text == "enc",
            let name = entry["alg"]?.text, let secret = entry["k"]?.text.flatMap({ Base64.decodeURLSafe($0) })
        else { return nil }
        var id: KeyID?
        if let member = entry["kid"] {
            guard let known = member.text.flatMap({ KeyID($0) }) else { return nil }
            id = known
        }
        if let encryption = Encryption(rawValue: name) {
            return try? EncryptionKey(secret: secret, id: id, algorithm: .direct, encryption: encryption)
        }
        guard let algorithm = Algorithm(rawValue: name) else { return nil }
        return try? EncryptionKey(secret: secret, id: id, algorithm: algorithm)
    }
}

extension EncryptionKey {
    /// An algorithm of a key with the size that it needs, as configurations name it. The raw value is a name of RFC 7518.
    public enum Use: String, Hashable, Sendable, CaseIterable {
        /// AES key wrap (`alg`) with a key of 16 bytes.
        case a128kw = "A128KW"
        /// AES key wrap (`alg`) with a key of 32 bytes.
        case a256kw = "A256KW"
        /// Direct encryption (`dir`) by AES-GCM (`enc`) with a key of 16 bytes.
        case a128gcm = "A128GCM"
        /// Direct encryption (`dir`) by AES-GCM (`enc`) with a key of 32 bytes.
        case a256gcm = "A256GCM"

        /// The size of the key, in bytes.
        public var size: Int { self == .a128kw || self == .a128gcm ? 16 : 32 }
    }

    /// Creates a key for one use.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the secret has not the size of the use.
    public convenience init(secret: [UInt8], id: KeyID?, use: Use) throws(KeySetError) {
        switch use {
        case .a128kw: try self.init(secret: secret, id: id, algorithm: .a128kw)
        case .a256kw: try self.init(secret: secret, id: id, algorithm: .a256kw)
        case .a128gcm: try self.init(secret: secret, id: id, algorithm: .direct, encryption: .a128gcm)
        case .a256gcm: try self.init(secret: secret, id: id, algorithm: .direct, encryption: .a256gcm)
        }
    }
}
