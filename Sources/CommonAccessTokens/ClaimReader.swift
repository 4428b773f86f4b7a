// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings

/// A reason why a claim is refused before it is evaluated.
package enum ClaimFault: Error {
    /// The claim has another type or range, or the CBOR is malformed.
    case malformed
    /// The claim exceeds a limit.
    case tooLarge
    /// The claim is a restriction that is not evaluated here.
    case unsupported

    init(_ fault: CBORFault) {
        switch fault {
        case .tooDeep, .tooManyItems, .stringTooLong: self = .tooLarge
        default: self = .malformed
        }
    }

    init(_ fault: Pattern.Fault) {
        switch fault {
        case .tooLarge: self = .tooLarge
        case .unsupported: self = .unsupported
        }
    }

    package var code: GrantCode {
        switch self {
        case .malformed: .malformed
        case .tooLarge: .tooLarge
        case .unsupported: .claimUnsupported
        }
    }
}

/// A reader of claims: of CBOR, with the faults of claims.
struct ClaimReader: ~Copyable, ~Escapable {
    private var reader: CBORReader
    /// The bytes to which the ranges of strings refer.
    let source: Span<UInt8>

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        reader = CBORReader(bytes)
        source = bytes
    }

    private var composites = (depth: 0, sets: 0)
    /// True if a set in a composite has a claim that is not evaluated here.
    var hasUnsupportedSet = false
    /// The ranges of the patterns, and their number.
    private(set) var patterns: (ranges: [4 of Range<Int>], count: Int) = (.init(repeating: 0..<0), 0)

    /// The position of the next item.
    var position: Int { reader.position }
    /// The number of arrays and maps around the next item.
    var depth: Int { reader.depth }
    /// True if a float was read that fits in fewer bits.
    var hasLongFloat: Bool { reader.hasLongFloat }

    /// Reads the next item or the head of it.
    mutating func next() throws(ClaimFault) -> CBORHead {
        do throws(CBORFault) { return try reader.next() } catch { throw ClaimFault(error) }
    }

    /// Reads the next item with everything in it.
    mutating func skip() throws(ClaimFault) {
        do throws(CBORFault) { try reader.skip() } catch { throw ClaimFault(error) }
    }

    /// Skips the content of a head that ``next()`` returned.
    mutating func skip(contentsOf head: CBORHead) throws(ClaimFault) {
        do throws(CBORFault) { try reader.skip(contentsOf: head) } catch { throw ClaimFault(error) }
    }

    /// Reads up to the end of the array or map that made the depth greater than `depth`.
    mutating func skip(toDepth depth: Int) throws(ClaimFault) {
        while reader.depth > depth { _ = try next() }
    }

    /// Checks that exactly one item was read.
    mutating func finish() throws(ClaimFault) {
        do throws(CBORFault) { try reader.finish() } catch { throw ClaimFault(error) }
    }

    // MARK: Account

    /// Begins a composite. The sets of claims in it are read next.
    mutating func enterComposite() throws(ClaimFault) {
        composites.depth += 1
        guard composites.depth <= 8 else { throw .tooLarge }
    }

    /// Ends a composite.
    mutating func leaveComposite() { composites.depth -= 1 }

    /// Counts a set of claims in a composite.
    mutating func countSet() throws(ClaimFault) {
        composites.sets += 1
        guard composites.sets <= 64 else { throw .tooLarge }
    }

    /// Records the range of a pattern.
    mutating func addPattern(_ range: Range<Int>) throws(ClaimFault) {
        guard patterns.count < 4, range.count <= Pattern.maximumSize else { throw .tooLarge }
        patterns.ranges[patterns.count] = range
        patterns.count += 1
    }

    /// Reads the label of a claim: an integer, or a short text.
    mutating func checkLabel() throws(ClaimFault) {
        let head = try next()
        if head.integer == nil {
            guard case .text = head else { throw .malformed }
        }
    }

    // MARK: Types

    /// Reads a text of `length` bytes. Returns its range.
    mutating func text(_ length: ClosedRange<Int>) throws(ClaimFault) -> Range<Int> {
        guard case .text(let range) = try next(), length ~= range.count else { throw .malformed }
        return range
    }

    /// Reads a byte string of `length` bytes. Returns its range.
    mutating func bytes(_ length: ClosedRange<Int>) throws(ClaimFault) -> Range<Int> {
        guard case .bytes(let range) = try next(), length ~= range.count else { throw .malformed }
        return range
    }

    /// Reads the head of an array of `count` elements.
    mutating func array(_ count: ClosedRange<Int>) throws(ClaimFault) -> Int {
        guard case .array(let elements) = try next(), count ~= elements else { throw .malformed }
        return elements
    }

    /// Reads the head of a map of `count` entries.
    mutating func map(_ count: ClosedRange<Int>) throws(ClaimFault) -> Int {
        guard case .map(let entries) = try next(), count ~= entries else { throw .malformed }
        return entries
    }

    /// Reads an unsigned integer within `range`.
    mutating func unsigned(_ range: ClosedRange<UInt64>) throws(ClaimFault) -> UInt64 {
        guard case .unsigned(let value) = try next(), range ~= value else { throw .malformed }
        return value
    }

    /// Reads an integer, such as a key.
    mutating func integer() throws(ClaimFault) -> Int64 {
        guard let value = try next().integer else { throw .malformed }
        return value
    }

    /// Reads an integer or a float.
    mutating func number(_ range: ClosedRange<Double>) throws(ClaimFault) -> Double {
        guard let value = Self.number(try next()), range ~= value else { throw .malformed }
        return value
    }

    /// Reads a time in seconds. Returns it in milliseconds: rounded up if `roundsUp`, otherwise down.
    mutating func time(roundsUp: Bool = false) throws(ClaimFault) -> Int64 {
        let head = try next()
        if case .unsigned(let seconds) = head {
            guard seconds <= Self.latestSeconds else { throw .malformed }
            return Int64(seconds) * 1000
        }
        guard case .float(let seconds) = head, (0...Double(Self.latestSeconds)).contains(seconds) else {
            throw .malformed
        }
        return Int64((seconds * 1000).rounded(roundsUp ? .up : .down))
    }

    /// The latest time, in seconds: 2⁵³.
    private static let latestSeconds: UInt64 = 1 << 53

    private static func number(_ head: CBORHead) -> Double? {
        switch head {
        case .unsigned(let value): Double(value)
        case .negative(let value): -1 - Double(value)
        case .float(let value): value
        default: nil
        }
    }
}
