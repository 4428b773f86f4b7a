// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A set of keys of any number of issuers, by which tokens are verified.
///
/// A token's header only selects among them: a key that was found is used only for its own algorithm and issuer. There
/// is no default key, and no key is tried as another type (RFC 8725 §3.1 and §3.5).
public struct KeySet: Sendable {
    /// The keys, in the given order.
    public let keys: [TokenKey]

    /// Creates a set.
    ///
    /// - Throws: KeySetError with code KeySetError/Code/duplicateKeyID if two keys have the same issuer, format,
    ///   identifier and algorithm.
    public init(_ keys: [TokenKey]) throws(KeySetError) {
        for (index, key) in keys.enumerated() {
            guard let id = key.id else { continue }
            let isRepeated = keys[..<index].contains { other in
                other.id == id && other.algorithm == key.algorithm && other.issuer == key.issuer
                    && other.format == key.format
            }
            guard !isRepeated else {
                throw KeySetError(
                    .duplicateKeyID,
                    reason: "two keys for \(key.algorithm.rawValue) have the identifier \(id)"
                )
            }
        }
        self.keys = keys
    }

    /// The set without any key.
    package static let empty = KeySet()

    private init() { keys = [] }

    /// The largest number of keys that are tried for one token.
    public static let maximumCandidates = 8

    /// The keys that a token's header selects: their indices in keys, without allocation.
    struct Candidates {
        private(set) var indices: [8 of Int] = .init(repeating: 0)
        private(set) var count = 0

        mutating func add(_ index: Int, limit: Int) -> Bool {
            guard count < min(limit, KeySet.maximumCandidates) else { return false }
            indices[count] = index
            count += 1
            return true
        }
    }

    /// The statements of a token's header about its key.
    struct Query: ~Escapable {
        let format: TokenFormat
        /// True if the header has an identifier.
        let hasID: Bool
        /// The identifier.
        let id: Span<UInt8>
        /// True if the identifier is a text string.
        let isTextID: Bool
        /// The algorithm, or `nil` if the header has none.
        let algorithm: KeyAlgorithm?
        /// True for a code of `HMAC 256/64`.
        let isShortMAC: Bool
        /// True if the envelope is one for authentication codes.
        let isMAC: Bool

        @_lifetime(copy id)
        init(
            format: TokenFormat,
            hasID: Bool,
            id: Span<UInt8>,
            isTextID: Bool,
            algorithm: KeyAlgorithm?,
            isShortMAC: Bool,
            isMAC: Bool
        ) {
            self.format = format
            self.hasID = hasID
            self.id = id
            self.isTextID = isTextID
            self.algorithm = algorithm
            self.isShortMAC = isShortMAC
            self.isMAC = isMAC
        }
    }

    /// True if keys of two issuers have one identifier and format, as those do that have the same secret.
    package var sharesIdentifiers: Bool {
        keys.indices.contains { index in
            keys[..<index].contains { other in
                other.format == keys[index].format && other.id == keys[index].id && other.issuer != keys[index].issuer
            }
        }
    }

    /// Returns the keys that `query` selects: at least one, at most `limit`.
    func candidates(
        for query: borrowing Query,
        at now: Timestamp,
        limit: Int,
        issuer: String? = nil
    ) throws(COSERefusal) -> Candidates {
        var found = Candidates()
        var hasKey = false
        for (index, key) in keys.enumerated() {
            guard key.format == query.format, key.operations.contains(.verify), key.isValid(at: now),
                Self.matches(key, query: query), issuer.map({ $0.hasSameBytes(as: key.issuer) }) ?? true
            else { continue }
            hasKey = true
            // RS256 is none of COSE.
            guard key.algorithm.coseIdentifier != nil else { continue }
            if let algorithm = query.algorithm {
                guard key.algorithm == algorithm, !query.isShortMAC || key.leniency.contains(.shortMAC) else {
                    continue
                }
            }
            guard found.add(index, limit: limit) else { throw .keyUnknown }
        }
        guard found.count > 0 else { throw hasKey ? .algorithmRefused : .keyUnknown }
        guard query.algorithm == nil else { return found }
        // Without an algorithm in the header, there must be no choice.
        guard found.count == 1 else { throw .keyUnknown }
        guard keys[found.indices[0]].algorithm.isMAC == query.isMAC else { throw .algorithmRefused }
        return found
    }

    private static func matches(_ key: TokenKey, query: borrowing Query) -> Bool {
        guard query.hasID else { return true }
        guard let own = key.id, !query.isTextID || key.leniency.contains(.textKeyID) else { return false }
        return own.bytes.span.hasSameBytes(as: query.id)
    }
}
