// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A message that is signed or authenticated, in up to four pieces that lie apart in memory.
package struct MessagePieces: ~Escapable {
    let first: Span<UInt8>
    let second: Span<UInt8>
    let third: Span<UInt8>
    let fourth: Span<UInt8>

    /// Creates a message of one piece.
    @_lifetime(copy message)
    package init(_ message: Span<UInt8>) { self.init(first: message, second: Span(), third: Span(), fourth: Span()) }

    /// Creates a message of four pieces, of which any may be empty.
    @_lifetime(copy first, copy second, copy third, copy fourth)
    package init(first: Span<UInt8>, second: Span<UInt8>, third: Span<UInt8>, fourth: Span<UInt8>) {
        self.first = first
        self.second = second
        self.third = third
        self.fourth = fourth
    }

    var count: Int { first.count + second.count + third.count + fourth.count }

    /// Calls `body` with each piece in turn, until it returns false. Returns false if it did.
    func forEach(_ body: (Span<UInt8>) -> Bool) -> Bool { body(first) && body(second) && body(third) && body(fourth) }
}
