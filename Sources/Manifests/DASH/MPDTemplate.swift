// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Identifiers in templates of segments (ISO/IEC 23009-1 §5.3.9.4.4).
enum MPDTemplate {
    /// Returns the template as a player fills it in for one segment of a Representation: `$$` is a dollar sign, and all
    /// numbers are 1. Other text between dollar signs stays. Returns `nil` if the result is longer than `limit` bytes: a template may
    /// name the identifier thousands of times.
    static func fill(_ template: [UInt8], id: [UInt8]?, limit: Int) -> [UInt8]? {
        let bytes = template.span
        guard var dollar = bytes.firstIndex(of: UInt8(ascii: "$"), from: 0) else { return template }
        var filled: [UInt8] = []
        var start = 0
        while let end = bytes.firstIndex(of: UInt8(ascii: "$"), from: dollar + 1) {
            filled.append(copying: bytes.extracting(start..<dollar))
            guard filled.count <= limit else { return nil }
            let name = bytes.extracting(dollar + 1..<end)
            if name.isEmpty {
                filled.append(UInt8(ascii: "$"))
            } else if name.starts(with: "RepresentationID", at: 0), name.count == 16 {
                filled += id ?? [UInt8(ascii: "1")]
            } else if isNumber(name) {
                filled.append(UInt8(ascii: "1"))
            } else {
                filled.append(copying: bytes.extracting(dollar...end))
            }
            start = end + 1
            guard let next = bytes.firstIndex(of: UInt8(ascii: "$"), from: start) else { break }
            dollar = next
        }
        filled.append(copying: bytes.extracting(start...))
        return filled.count <= limit ? filled : nil
    }

    /// Returns true if the template has the identifier of the Representation.
    static func namesRepresentation(_ template: [UInt8]) -> Bool {
        let bytes = template.span
        var position = 0
        while let dollar = bytes.firstIndex(of: UInt8(ascii: "$"), from: position) {
            if bytes.starts(with: "$RepresentationID$", at: dollar) { return true }
            position = dollar + 1
        }
        return false
    }

    /// Returns true if a name between dollar signs stands for something without a meaning of its own in paths, or for `@id`.
    static func isKnown(_ name: Span<UInt8>) -> Bool {
        name.count == 16 && name.starts(with: "RepresentationID", at: 0) || isNumber(name)
    }

    private static func isNumber(_ name: Span<UInt8>) -> Bool {
        for number: StaticString in ["Number", "Time", "Bandwidth", "SubNumber"] where name.starts(with: number, at: 0)
        {
            let length = number.utf8CodeUnitCount
            if name.count == length || name[length] == UInt8(ascii: "%") { return true }
        }
        return false
    }
}
