// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

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
