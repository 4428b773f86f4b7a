// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension Span<UInt8> {
    /// Returns the first index of `wanted`; `nil` if there is none, or if `wanted` is empty.
    ///
    /// The time is proportional to both lengths together for any content, because strangers choose both. This is the
    /// search by Knuth, Morris and Pratt. The search of the standard library adds a megabyte of regular expressions.
    package func firstPosition(of wanted: Span<UInt8>) -> Int? {
        guard !wanted.isEmpty, wanted.count <= count else { return nil }
        // For each byte, the length of the longest beginning of `wanted` that ends with it, apart from itself.
        var borders = [Int](repeating: 0, count: wanted.count)
        var matched = 0
        for index in 1..<wanted.count {
            while matched > 0, wanted[matched] != wanted[index] { matched = borders[matched - 1] }
            if wanted[matched] == wanted[index] { matched += 1 }
            borders[index] = matched
        }
        matched = 0
        for index in indices {
            while matched > 0, wanted[matched] != self[index] { matched = borders[matched - 1] }
            if wanted[matched] == self[index] { matched += 1 }
            if matched == wanted.count { return index + 1 - matched }
        }
        return nil
    }
}
