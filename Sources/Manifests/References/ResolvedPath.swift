// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A path that is resolved against a folder, at the end of a growing text.
///
/// Source: RFC 3986 §5.2.3 and §5.2.4. Encoded dots count as dots, as in browsers.
struct ResolvedPath {
    /// Appends `path`, resolved against `folder`, without the segments that carry a grant.
    ///
    /// - Parameters:
    ///   - folder: A path that begins and ends in `/`; ignored if `path` begins with one.
    ///   - prefix: The beginning of a segment with a grant; `nil` to retain them all.
    static func append(
        _ path: Span<UInt8>,
        in folder: Span<UInt8>,
        without prefix: String?,
        to output: inout [UInt8]
    ) throws(ReferenceFault) {
        let floor = output.count
        if floor == 0 { output.reserveCapacity(folder.count + path.count + 1) }
        if path.count == 0 || path[0] != UInt8(ascii: "/") {
            output.append(copying: folder.extracting(..<(folder.count - 1)))
        }
        do throws(URIPath.Fault) {
            try URIPath.append(path, to: &output, from: floor, reading: .reference)
        } catch {
            throw ReferenceFault(error)
        }
        if let prefix { try removeGrants(with: prefix, after: floor, from: &output) }
        if output.count == floor { output.append(UInt8(ascii: "/")) }
    }

    /// Removes the segments that carry a grant from the end of `output`. The meaning of an encoded one depends on the
    /// server.
    private static func removeGrants(
        with prefix: String,
        after floor: Int,
        from output: inout [UInt8]
    ) throws(ReferenceFault) {
        var (from, kept) = (floor, floor)
        while from < output.count {
            var end = from + 1
            while end < output.count, output[end] != UInt8(ascii: "/") { end += 1 }
            if try !output.span.extracting((from + 1)..<end).isGrant(prefix) {
                guard end > from + 1 || end == output.count else { throw .emptySegment }
                if kept != from { for index in from..<end { output[kept + index - from] = output[index] } }
                kept += end - from
            }
            from = end
        }
        output.removeSubrange(kept...)
    }
}

extension Span<UInt8> {
    /// Returns true if this segment carries a grant.
    fileprivate func isGrant(_ prefix: String) throws(ReferenceFault) -> Bool {
        if lengthOfTokenPrefix(prefix) != nil { return true }
        guard !hasEncodedPrefix(prefix) else { throw .encodedGrant }
        return false
    }
}
