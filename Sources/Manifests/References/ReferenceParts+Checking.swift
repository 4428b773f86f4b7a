// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension ReferenceParts {
    /// Refuses what servers or players read in different ways behind the host.
    ///
    /// - Parameter isTemplate: True if `$Name$` is an identifier and `$$` a dollar sign (ISO/IEC 23009-1 §5.3.9.4.4).
    func check(_ bytes: Span<UInt8>, isTemplate: Bool) throws(ReferenceFault) {
        let end = query?.upperBound ?? path.upperBound
        var place = path.lowerBound
        while place < bytes.count {
            switch bytes[place] {
            case 0...0x20, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "%") where place < end:
                try bytes.checkEncoding(at: place, isPath: place < path.upperBound)
                place += 3
            case UInt8(ascii: "$") where isTemplate: place = try bytes.endOfIdentifier(at: place)
            default: place += 1
            }
        }
    }
}

extension Span<UInt8> {
    private func encodedByte(at place: Int) -> UInt8? {
        guard place + 2 < count, let high = self[place + 1].hexadecimalDigit, let low = self[place + 2].hexadecimalDigit
        else { return nil }
        return high << 4 | low
    }

    fileprivate func checkEncoding(at place: Int, isPath: Bool) throws(ReferenceFault) {
        guard let byte = encodedByte(at: place) else { throw .badEncoding }
        guard isPath else { return }
        switch byte {
        case 0..<0x20, 0x7F: throw .controlCharacter
        case UInt8(ascii: "/"): throw .encodedSlash
        case UInt8(ascii: "?"), UInt8(ascii: "#"): throw .encodedDelimiter
        case UInt8(ascii: "\\"): throw .backslash
        case UInt8(ascii: "%"):
            let isTwice =
                place + 4 < count && self[place + 3].hexadecimalDigit != nil && self[place + 4].hexadecimalDigit != nil
            if isTwice { throw .encodedTwice }
        default: return
        }
    }

    /// Returns the position behind the identifier that begins at a dollar sign.
    fileprivate func endOfIdentifier(at start: Int) throws(ReferenceFault) -> Int {
        var place = start + 1
        while place < count, self[place].isASCIIAlphanumeric || self[place] == UInt8(ascii: "%") { place += 1 }
        guard place < count, self[place] == UInt8(ascii: "$") else { throw .badTemplate }
        return place + 1
    }

    /// The number of dots if this is a dot segment, with its dots as they are or encoded (`%2e`); 0 otherwise.
    var dots: Int {
        guard count <= 6 else { return 0 }
        var (dots, place) = (0, 0)
        while place < count {
            if self[place] == UInt8(ascii: ".") {
                place += 1
            } else if encodedByte(at: place) == UInt8(ascii: "."), self[place] == UInt8(ascii: "%") {
                place += 3
            } else {
                return 0
            }
            dots += 1
        }
        return dots <= 2 ? dots : 0
    }

    /// True if the bytes are `prefix` and more, also if some are percent-encoded.
    func hasEncodedPrefix(_ prefix: String) -> Bool {
        var place = 0
        for wanted in prefix.utf8 {
            guard place < count else { return false }
            if self[place] == UInt8(ascii: "%"), let byte = encodedByte(at: place) {
                guard byte == wanted else { return false }
                place += 3
            } else {
                guard self[place] == wanted else { return false }
                place += 1
            }
        }
        return true
    }

    /// True if the bytes begin with `prefix`.
    func hasPrefix(_ prefix: String) -> Bool {
        let prefix = prefix.utf8
        guard count >= prefix.count else { return false }
        for (place, byte) in prefix.enumerated() where self[place] != byte { return false }
        return true
    }
}
