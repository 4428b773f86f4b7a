// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A reader of JWK Sets (RFC 7517, RFC 7518 §6, RFC 8037 §2).
enum JWKReader {
    private static let limits = JSONLimits(depth: 6, members: 64, elements: 256)

    /// Returns the entries of a set. Throws if it is none, or has keys that its source may not publish.
    static func entries(
        of bytes: [UInt8],
        from source: KeySetSource
    ) throws(KeySetError) -> [Result<KeyRecord, EntryFault>] {
        let keys = try list(bytes)
        if source == .published, keys.contains(where: { key in privateMembers.contains { key.member($0) != nil } }) {
            throw KeySetError(.privateKeyPresent, reason: "a published key set has a private or symmetric key")
        }
        return keys.map { key in
            do throws(EntryFault) { return .success(try record(key)) } catch { return .failure(error) }
        }
    }

    /// Returns the entries as they stand in the list of a set.
    static func list(_ bytes: [UInt8]) throws(KeySetError) -> [JSON] {
        guard bytes.count <= KeySetReading.maximumSize else {
            throw KeySetError(.tooLarge, reason: "the key set has more than \(KeySetReading.maximumSize) bytes")
        }
        let json: JSON
        do throws(JSONFault) { json = try JSONReader.read(bytes.span, limits: limits) } catch {
            throw KeySetError(.malformed, reason: "the key set is not strict JSON")
        }
        guard case .array(let keys)? = json.member("keys") else {
            throw KeySetError(.malformed, reason: "the key set has no list \"keys\"")
        }
        return keys
    }

    /// The private members of all types of key, those that are not supported among them: `priv` of AKP, RFC 9964, and `seed` and `sk`
    /// of its drafts.
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv", "seed", "sk"]

    static func record(_ key: JSON) throws(EntryFault) -> KeyRecord {
        let use = try key.text("use")
        guard use == nil || use == "sig" else { throw EntryFault("its use is not \"sig\"") }
        let algorithm = try key.text("alg").map { (name) throws(EntryFault) in
            guard let algorithm = KeyAlgorithm(name: name) else {
                throw EntryFault("its algorithm \(name.printable(limit: 20)) is not supported")
            }
            return algorithm
        }
        let id = try key.text("kid").map { (text) throws(EntryFault) in
            guard let id = KeyID(text) else { throw EntryFault("its identifier has not 1 to 64 bytes") }
            return id
        }
        let operations = try operations(key)
        let material = try numbers(key).entryMaterial()
        return KeyRecord(id: id, material: material, algorithm: algorithm, operations: operations)
    }

    private static func operations(_ key: JSON) throws(EntryFault) -> KeyOperations {
        guard let list = key.member("key_ops") else { return [.verify, .sign] }
        guard case .array(let names) = list else { throw EntryFault("its \"key_ops\" is not a list") }
        var operations: KeyOperations = []
        for name in names {
            switch name {
            case .string("verify"): operations.insert(.verify)
            case .string("sign"): operations.insert(.sign)
            case .string: continue
            default: throw EntryFault("its \"key_ops\" is not a list of strings")
            }
        }
        return operations
    }

    private static func numbers(_ key: JSON) throws(EntryFault) -> KeyNumbers {
        switch try key.text("kty") {
        case "EC":
            guard let curve = try key.text("crv").flatMap(EllipticCurve.init(rawValue:)) else {
                throw EntryFault("its curve is not supported")
            }
            let (x, y) = (try key.number("x"), try key.number("y"))
            return .ellipticCurve(curve, x: x, y: .coordinate(y), d: try key.optionalNumber("d"))
        case "OKP":
            guard try key.text("crv") == "Ed25519" else { throw EntryFault("its curve is not supported") }
            return .ed25519(x: try key.number("x"), d: try key.optionalNumber("d"))
        case "RSA":
            guard key.member("oth") == nil else { throw EntryFault("it has more than two primes") }
            return .rsa(
                modulus: try key.number("n"),
                exponent: try key.number("e"),
                others: try key.optionalNumber("d").map { (d) throws(EntryFault) in
                    var others = [d]
                    for name in ["p", "q", "dp", "dq", "qi"] { others.append(try key.number(name)) }
                    return others
                }
            )
        case "oct": return .secret(try key.number("k"))
        case let type?: throw EntryFault("its type \(type.printable(limit: 20)) is not supported")
        case nil: throw EntryFault("it has no \"kty\"")
        }
    }
}

extension JSON {
    /// Returns the value of a member, or `nil` if there is none or this is no object.
    fileprivate func member(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.hasSameBytes(as: name) }?.value
    }

    /// Returns a text member, or `nil` if there is none.
    fileprivate func text(_ name: String) throws(EntryFault) -> String? {
        switch member(name) {
        case nil: return nil
        case .string(let text)?: return text
        default: throw EntryFault("its \"\(name)\" is not a string")
        }
    }

    /// Returns a number in URL-safe Base64.
    fileprivate func number(_ name: String) throws(EntryFault) -> [UInt8] {
        guard let number = try optionalNumber(name) else { throw EntryFault("it has no \"\(name)\"") }
        return number
    }

    fileprivate func optionalNumber(_ name: String) throws(EntryFault) -> [UInt8]? {
        guard let text = try text(name) else { return nil }
        guard let bytes = Base64.decodeURLSafe(text), !bytes.isEmpty else {
            throw EntryFault("its \"\(name)\" is not URL-safe Base64")
        }
        return bytes
    }
}

extension Optional {
    /// Variant of `map` that throws the closure's own error type.
    fileprivate func map<Value>(_ body: (Wrapped) throws(EntryFault) -> Value) throws(EntryFault) -> Value? {
        guard let self else { return nil }
        return try body(self)
    }
}
