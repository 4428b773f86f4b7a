// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension ReferenceParts {
    /// Refuses what servers or players read in different ways behind the host.
    ///
    /// - Parameter isTemplate: True if `$Name$` is an identifier and `$$` a dollar sign (ISO/IEC 23009-1 §5.3.9.4.4).
    func check(_ bytes: Span<UInt8>, isTemplate: Bool) throws(ReferenceFault) {
        let end = query?.upperBound ?? path.upperBound
        var (place, decoded) = (path.lowerBound, path.lowerBound)
        var hasEncodedSlash = false
        while place < bytes.count {
            switch bytes[place] {
            case 0...0x20, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "%") where place < end:
                guard let byte = bytes.percentEncodedByte(at: place) else { throw .badEncoding }
                if place < path.upperBound, byte == UInt8(ascii: "/") { hasEncodedSlash = true }
                if place < path.upperBound, place >= decoded {
                    // What stands between two identifiers is decoded at once.
                    let dollar = isTemplate ? bytes.firstIndex(of: UInt8(ascii: "$"), from: place) : nil
                    decoded = min(dollar ?? path.upperBound, path.upperBound)
                    try bytes.extracting(place..<decoded).demandOneDecoding()
                }
                place += 3
            case UInt8(ascii: "$") where isTemplate: place = try bytes.endOfIdentifier(at: place)
            default: place += 1
            }
        }
        guard hasEncodedSlash else { return }
        do throws(URIPath.Fault) {
            try URIPath.demandUsualSegments(bytes.extracting(path))
        } catch {
            throw ReferenceFault(error)
        }
    }
}

extension Span<UInt8> {
    /// Throws if servers decode this part of a path in different ways.
    fileprivate func demandOneDecoding() throws(ReferenceFault) {
        do throws(URIPath.Fault) {
            // The parts beside an encoded slash are looked at when the whole path is known.
            _ = try URIPath.decode(self, permitting: [.parameters, .encodedSlash])
        } catch {
            throw ReferenceFault(error)
        }
    }

    /// Returns the position behind the identifier that begins at a dollar sign.
    fileprivate func endOfIdentifier(at start: Int) throws(ReferenceFault) -> Int {
        var place = start + 1
        while place < count, self[place].isASCIIAlphanumeric || self[place] == UInt8(ascii: "%") { place += 1 }
        guard place < count, self[place] == UInt8(ascii: "$") else { throw .badTemplate }
        return place + 1
    }

    /// True if the bytes are `prefix` and more, also if some are percent-encoded.
    func hasEncodedPrefix(_ prefix: String) -> Bool {
        var place = 0
        for wanted in prefix.utf8 {
            guard place < count else { return false }
            if let byte = percentEncodedByte(at: place) {
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
