// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Base64 with only the URL-safe alphabet (RFC 4648 §5), as JOSE and COSE tokens are written.

extension Base64 {
    /// Decodes `text` into the front of `output`, which needs room for `decodedCapacity` bytes. Returns the number of
    /// bytes, or `nil` if `text` is not URL-safe Base64 in its only form.
    ///
    /// - Parameter allowsPadding: True if the padding may be there, then as RFC 4648 §3.2 has it.
    package static func decodeURLSafe(
        _ text: Span<UInt8>,
        into output: inout MutableSpan<UInt8>,
        allowsPadding: Bool = false
    ) -> Int? {
        guard text.firstIndex(of: UInt8(ascii: "+"), from: 0) == nil,
            text.firstIndex(of: UInt8(ascii: "/"), from: 0) == nil,
            allowsPadding || text.firstIndex(of: UInt8(ascii: "="), from: 0) == nil
        else { return nil }
        return decode(text, into: &output)
    }

    /// Decodes unpadded `text`. Returns `nil` if it is not URL-safe Base64 in its only form.
    package static func decodeURLSafe(_ text: String) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: decodedCapacity(text.utf8.count))
        let bytes = [UInt8](text.utf8)
        var span = output.mutableSpan
        guard let count = decodeURLSafe(bytes.span, into: &span) else { return nil }
        output.removeLast(output.count - count)
        return output
    }
}
