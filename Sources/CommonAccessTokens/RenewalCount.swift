// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The renewals of a grant since it was issued.
public struct RenewalCount: Hashable, Sendable {
    /// The chain: a number of the first grant, which its successors have too. Separate starts of a playback have others.
    public let chain: UInt32
    /// The number of renewals.
    public let number: UInt32

    /// Creates a count of its members.
    public init(chain: UInt32, number: UInt32 = 0) { (self.chain, self.number) = (chain, number) }

    /// Creates the count of a first grant, in a chain that no other has.
    public static func first() -> RenewalCount { RenewalCount(chain: .random(in: .min ... .max)) }

    /// The count of a successor.
    public var next: RenewalCount { RenewalCount(chain: chain, number: number &+ 1) }

    /// The value of the claim: the chain in the upper half, the number in the lower one.
    var code: UInt64 { UInt64(chain) << 32 | UInt64(number) }

    init(code: UInt64) { self.init(chain: UInt32(code >> 32), number: UInt32(truncatingIfNeeded: code)) }
}
