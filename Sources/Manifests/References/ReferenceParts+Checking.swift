// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension ReferenceParts {
    /// Refuses parts behind the host that servers or players read in different ways.
    ///
    /// - Parameter isTemplate: True if `$Name$` is an identifier and `$$` a dollar sign (ISO/IEC 23009-1 §5.3.9.4.4).
    func check(_ bytes: Span<UInt8>, isTemplate: Bool) throws(ReferenceFault) {
        let end = query?.upperBound ?? path.upperBound
        var (position, decoded) = (path.lowerBound, path.lowerBound)
        var hasEncodedSlash = false
        while position < bytes.count {
            switch bytes[position] {
            case 0...0x20, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "%") where position < end:
                guard let byte = bytes.percentEncodedByte(at: position) else { throw .badEncoding }
                if position < path.upperBound, byte == UInt8(ascii: "/") { hasEncodedSlash = true }
                if position < path.upperBound, position >= decoded {
                    // What stands between two identifiers is decoded at once.
                    let dollar = isTemplate ? bytes.firstIndex(of: UInt8(ascii: "$"), from: position) : nil
                    decoded = min(dollar ?? path.upperBound, path.upperBound)
                    try bytes.extracting(position..<decoded).demandOneDecoding()
                }
                position += 3
            case UInt8(ascii: "$") where isTemplate: position = try bytes.endOfIdentifier(at: position)
            default: position += 1
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
        var position = start + 1
        while position < count, self[position].isASCIIAlphanumeric || self[position] == UInt8(ascii: "%") {
            position += 1
        }
        guard position < count, self[position] == UInt8(ascii: "$") else { throw .badTemplate }
        return position + 1
    }

    /// True if the bytes are `prefix` and more, also if some are percent-encoded.
    func hasEncodedPrefix(_ prefix: String) -> Bool {
        var position = 0
        for wanted in prefix.utf8 {
            guard position < count else { return false }
            if let byte = percentEncodedByte(at: position) {
                guard byte == wanted else { return false }
                position += 3
            } else {
                guard self[position] == wanted else { return false }
                position += 1
            }
        }
        return true
    }

    /// True if the bytes begin with `prefix`.
    func hasPrefix(_ prefix: String) -> Bool {
        let prefix = prefix.utf8
        guard count >= prefix.count else { return false }
        for (position, byte) in prefix.enumerated() where self[position] != byte { return false }
        return true
    }
}
