// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The source of a key set, which determines the permitted keys.
public enum KeySetSource: Sendable {
    /// A file of the operator's own: private and symmetric keys may be in it.
    case local
    /// A published set of another party: only public keys. One private or symmetric key refuses the whole set.
    case published
}

/// A key set that was read: the keys that can be used, and the entries that cannot.
///
/// Source: RFC 7517 §5 for JWK Sets, RFC 9052 §7 for COSE key sets.
public struct KeySetReading: Sendable {
    /// The keys, in the order of the set: 1 to 32.
    public let keys: [TokenKey]
    /// The entries that were skipped.
    public let skipped: [SkippedKey]

    /// The largest size of a set in bytes.
    public static let maximumSize = 64 << 10
    /// The largest number of keys that can be used.
    public static let maximumKeys = 32

    /// An entry of a set that is not used, because it is damaged, of an unsupported type, or for another use.
    public struct SkippedKey: Sendable, Equatable {
        /// The index in the set, from 0 on.
        public let index: Int
        /// An explanation for people, without any part of a key.
        public let reason: String
    }

    /// Reads a JWK Set, or a COSE key set if the first byte is the head of a CBOR array.
    ///
    /// - Throws: KeySetError.
    public init(_ bytes: [UInt8], source: KeySetSource, binding: KeyBinding) throws(KeySetError) {
        let isCBOR = bytes.first.map { 0x80...0x9F ~= $0 } ?? false
        try self.init(
            isCBOR ? COSEKeyReader.entries(of: bytes, from: source) : JWKReader.entries(of: bytes, from: source),
            source: source,
            binding: binding
        )
    }

    /// Reads a JWK Set (RFC 7517 §5).
    ///
    /// - Throws: KeySetError.
    public init(jwkSet bytes: [UInt8], source: KeySetSource, binding: KeyBinding) throws(KeySetError) {
        try self.init(JWKReader.entries(of: bytes, from: source), source: source, binding: binding)
    }

    /// Reads a COSE key set (RFC 9052 §7).
    ///
    /// - Throws: KeySetError.
    public init(coseKeySet bytes: [UInt8], source: KeySetSource, binding: KeyBinding) throws(KeySetError) {
        try self.init(COSEKeyReader.entries(of: bytes, from: source), source: source, binding: binding)
    }

    private init(
        _ entries: [Result<KeyRecord, EntryFault>],
        source: KeySetSource,
        binding: KeyBinding
    ) throws(KeySetError) {
        var found: [Found] = []
        var skipped: [SkippedKey] = []
        for (index, entry) in entries.enumerated() {
            do throws(KeySetError) {
                let key = try Self.key(from: entry, source: source, binding: binding)
                if try Self.isNew(key, among: found) { found.append((index, key)) }
            } catch {
                guard error.code == .unusableKey else { throw error }
                skipped.append(SkippedKey(index: index, reason: error.reason))
            }
        }
        // Without an identifier, there must be no choice.
        let unclear = found.filter { index, key in
            key.id == nil && found.contains { $0.index != index && $0.key.algorithm == key.algorithm }
        }
        for (index, _) in unclear {
            skipped.append(
                SkippedKey(index: index, reason: "it has no identifier, and is not the only key of its kind")
            )
        }
        keys = found.filter { index, _ in !unclear.contains { $0.index == index } }.map(\.key)
        self.skipped = skipped.sorted { $0.index < $1.index }
        guard !keys.isEmpty else { throw KeySetError(.noUsableKey, reason: Self.emptiness(self.skipped)) }
        guard keys.count <= Self.maximumKeys else {
            throw KeySetError(.tooManyKeys, reason: "the set has \(keys.count) keys, more than \(Self.maximumKeys)")
        }
    }

    /// Explains a set without a key that can be used: the reason for each key.
    private static func emptiness(_ skipped: [SkippedKey]) -> String {
        guard !skipped.isEmpty else { return "the set has no key" }
        let reasons = skipped.prefix(8).map { "key \($0.index + 1): \($0.reason)" }.joined(separator: "; ")
        let more = skipped.count > 8 ? "; and \(skipped.count - 8) more" : ""
        return "the set has no key that can be used: \(reasons)\(more)"
    }

    private typealias Found = (index: Int, key: TokenKey)

    /// True if there is no such key yet. Throws if there is another with its identifier and algorithm.
    private static func isNew(_ key: TokenKey, among found: [Found]) throws(KeySetError) -> Bool {
        guard let id = key.id else { return true }
        guard let twin = found.first(where: { $0.key.id == id && $0.key.algorithm == key.algorithm })?.key else {
            return true
        }
        guard twin.hasSamePublicKey(as: key) else {
            throw KeySetError(
                .duplicateKeyID,
                reason: "two keys for \(key.algorithm.rawValue) have the identifier \(id)"
            )
        }
        return false
    }

    private static func key(
        from entry: Result<KeyRecord, EntryFault>,
        source: KeySetSource,
        binding: KeyBinding
    ) throws(KeySetError) -> TokenKey {
        let record: KeyRecord
        do throws(EntryFault) { record = try entry.get() } catch {
            throw KeySetError(.unusableKey, reason: error.reason)
        }
        guard source == .local || record.operations.contains(.verify) else {
            throw KeySetError(.unusableKey, reason: "its operations do not include verifying")
        }
        return try TokenKey(
            record.material,
            id: record.id,
            algorithm: record.algorithm,
            operations: record.operations,
            binding: binding
        )
    }
}
