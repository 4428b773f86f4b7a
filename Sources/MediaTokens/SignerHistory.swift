// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The order in which keys are tried for a token. Keys that have signed tokens of its requestor and MVPD before are
/// first, the most frequent first. It decides nothing: all keys are tried before a token is refused.
///
/// A token that no key has signed leaves nothing behind, so that forged ones cannot spoil the order.
struct SignerHistory {
    /// The kinds of the rows; 0 for none.
    private var kinds = [UInt64](repeating: 0, count: Self.rows)
    /// The counts of the candidates, a byte each: a trust store has at most eight keys; in the last row, those of all tokens.
    private var counts = [UInt64](repeating: 0, count: Self.rows + 1)

    private static let rows = 64
    /// The weight of a token. Sums that would not fit are halved, so that the past fades.
    private static let step: UInt64 = 16

    /// Returns the kind of a token: a hash of its requestor and its MVPD, which are not authentic yet.
    ///
    /// - Parameters:
    ///   - raw: The token.
    ///   - content: The range of its fields.
    static func kind(of raw: Span<UInt8>, content: Range<Int>) -> UInt64 {
        var hash = offset
        var position = content.lowerBound
        while let tag = raw.firstIndex(of: UInt8(ascii: "<"), from: position), tag < content.upperBound {
            position = tag + 1
            guard raw.starts(with: "<requestorID>", at: tag) || raw.starts(with: "<mvpdId>", at: tag) else { continue }
            while position < content.upperBound, raw[position] != UInt8(ascii: "<") {
                hash = (hash ^ UInt64(raw[position])) &* prime
                position += 1
            }
        }
        return Swift.max(hash, 1)
    }

    /// Returns the kind of a JWS: a hash of its encoded header, which may have the `kid` of its key.
    static func kind(ofHeader header: Span<UInt8>) -> UInt64 {
        var hash = offset
        for index in header.indices { hash = (hash ^ UInt64(header[index])) &* prime }
        return Swift.max(hash, 1)
    }

    /// The parameters of FNV-1a with 64 bits.
    private static let (offset, prime): (UInt64, UInt64) = (0xCBF2_9CE4_8422_2325, 0x100_0000_01B3)

    private func row(of kind: UInt64) -> Int {
        let row = Int(kind % UInt64(Self.rows))
        return kinds[row] == kind ? row : Self.rows
    }

    /// Returns the candidate to try next.
    ///
    /// - Parameters:
    ///   - tried: The candidates that were tried, a bit each; not all of them.
    ///   - candidates: The candidates, all below 64.
    func next(for kind: UInt64, after tried: UInt64, among candidates: Range<Int>) -> Int {
        let known = counts[row(of: kind)]
        var (best, most) = (-1, UInt64(0))
        for index in candidates where tried & (1 << UInt64(index)) == 0 {
            let value = index < TrustStore.maximumKeys ? known >> UInt64(8 * index) & 0xFF : 0
            if best < 0 || value > most { (best, most) = (index, value) }
        }
        return best
    }

    /// Records the candidate that has signed a token.
    mutating func record(_ candidate: Int, for kind: UInt64) {
        guard candidate < TrustStore.maximumKeys else { return }
        let row = Int(kind % UInt64(Self.rows))
        if kinds[row] != kind {
            kinds[row] = kind
            counts[row] = 0
        }
        for row in [row, Self.rows] {
            if counts[row] >> UInt64(8 * candidate) & 0xFF > 0xFF - Self.step {
                counts[row] = counts[row] >> 1 & 0x7F7F_7F7F_7F7F_7F7F
            }
            counts[row] += Self.step << UInt64(8 * candidate)
        }
    }
}
