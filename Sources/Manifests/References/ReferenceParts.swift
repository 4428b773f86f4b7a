// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// The parts of a reference, as ranges of its bytes.
///
/// Source: RFC 3986 §4 and appendix B. Browsers read some references otherwise (WHATWG URL): they drop tabs and line
/// ends, read `\` as `/`, and find a host after any number of slashes. A reference with a different host in both
/// readings is a fault.
struct ReferenceParts {
    /// The kind of a reference.
    enum Form: Hashable {
        /// A scheme other than `http` and `https`.
        case otherScheme
        /// A scheme and an authority.
        case absolute(RequestURI.Scheme)
        /// An authority without a scheme: `//host/path`.
        case network
        /// Neither.
        case path
    }

    let form: Form
    /// The host and port; empty if there is none.
    let authority: Range<Int>
    let path: Range<Int>
    /// The text after `?` and before `#`; `nil` without a `?`.
    let query: Range<Int>?
    /// The position of `#`, or the end.
    let fragment: Int

    init(_ bytes: Span<UInt8>) throws(ReferenceFault) {
        var start = 0
        if let colon = try bytes.endOfScheme() {
            guard let scheme = bytes.webScheme(endingAt: colon) else {
                form = .otherScheme
                (authority, path, query, fragment) = (0..<0, 0..<bytes.count, nil, bytes.count)
                return
            }
            form = .absolute(scheme)
            start = colon + 1
            guard bytes.isSlash(start), bytes.isSlash(start + 1) else { throw .ambiguousAuthority }
        } else {
            form = bytes.isSlash(0) && bytes.isSlash(1) ? .network : .path
        }
        if form != .path {
            authority = start + 2..<(try bytes.endOfAuthority(from: start + 2))
            start = authority.upperBound
        } else {
            if bytes.isSlash(0), bytes.count > 1, bytes[1] == UInt8(ascii: "\\") { throw .backslash }
            authority = 0..<0
        }
        let end = bytes.firstIndex(of: UInt8(ascii: "#"), from: start) ?? bytes.count
        let mark = bytes.extracting(..<end).firstIndex(of: UInt8(ascii: "?"), from: start)
        path = start..<(mark ?? end)
        query = mark.map { $0 + 1..<end }
        fragment = end
    }
}

extension Span<UInt8> {
    /// Returns the position of the colon behind a scheme; `nil` if there is no scheme.
    fileprivate func endOfScheme() throws(ReferenceFault) -> Int? {
        var isScheme = true
        for position in indices {
            switch self[position] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return nil
            case UInt8(ascii: ":"): return isScheme && position > 0 && self[0].isASCIILetter ? position : nil
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): continue
            case 0...0x20, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case let byte: isScheme = isScheme && byte.isASCIIAlphanumeric
            }
        }
        return nil
    }

    /// Returns the scheme before a colon if it is one of the web's.
    fileprivate func webScheme(endingAt colon: Int) -> RequestURI.Scheme? {
        RequestURI.Scheme.allCases.first { scheme in
            let name = scheme.rawValue.utf8
            return name.count == colon && zip(name, 0..<colon).allSatisfy { self[$1].lowercasedASCII == $0 }
        }
    }

    fileprivate func isSlash(_ position: Int) -> Bool { position < count && self[position] == UInt8(ascii: "/") }

    fileprivate func endOfAuthority(from start: Int) throws(ReferenceFault) -> Int {
        var end = start
        scan: while end < count {
            switch self[end] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "@"): throw .userInformation
            case 0...0x20, 0x7F: throw .controlCharacter
            default: end += 1
            }
        }
        if end == start { throw .ambiguousAuthority }
        return end
    }
}

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
