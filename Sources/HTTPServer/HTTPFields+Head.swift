// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Ranges in the head of a request, in their order.
package struct HeadGaps {
    private var ranges: InlineArray<4, Range<Int>> = [0..<0, 0..<0, 0..<0, 0..<0]
    /// The number of gaps.
    private(set) var count = 0

    package init() {}

    /// Adds a gap. Returns false if there is no room for it, or if it begins in another one.
    package mutating func add(_ range: Range<Int>) -> Bool {
        guard count < ranges.count else { return false }
        var index = count
        while index > 0, ranges[index - 1].lowerBound > range.lowerBound {
            ranges[index] = ranges[index - 1]
            index -= 1
        }
        ranges[index] = range
        count += 1
        return (index == 0 || ranges[index - 1].upperBound <= range.lowerBound)
            && (index == count - 1 || range.upperBound <= ranges[index + 1].lowerBound)
    }

    /// The range of a gap.
    subscript(index: Int) -> Range<Int> { ranges[index] }
}

extension HTTPFields {
    /// The longest head that ``withHead(without:_:)`` passes, in bytes.
    package static let longestHead = 4096

    /// Passes the bytes of a plain head, from its request line to its empty line, without those of some gaps.
    ///
    /// - Parameters:
    ///   - gaps: The ranges of bytes that are left out.
    ///   - body: Gets the other bytes, in one span. It is not called if the head was not plain, or is too long.
    package func withHead(without gaps: HeadGaps, _ body: (Span<UInt8>) -> Void) {
        guard let text = head, text.utf8.count <= Self.longestHead else { return }
        let head = text.utf8.span
        unsafe withUnsafeTemporaryAllocation(byteCount: head.count, alignment: 8) { copy in
            unsafe head.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress, let to = copy.baseAddress else { return }
                var (start, count) = (0, 0)
                for index in 0...gaps.count {
                    let end = index < gaps.count ? gaps[index].lowerBound : bytes.count
                    precondition(start <= end && end <= bytes.count)
                    unsafe (to + count).copyMemory(from: from + start, byteCount: end - start)
                    count += end - start
                    if index < gaps.count { start = gaps[index].upperBound }
                }
                unsafe body(Span(_unsafeStart: to.assumingMemoryBound(to: UInt8.self), count: count))
            }
        }
    }
}
