// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// Skips elements that are not fields of a token. Their syntax is checked strictly.

extension BodyScanner {
    /// The largest depth within a skipped element, itself included.
    private static let maximumDepth = 16
    /// The largest number of attributes of a start tag.
    private static let maximumAttributes = 16

    /// Skips an element and its content. The position is after the name in the start tag.
    @_lifetime(self: copy self)
    mutating func skipElement(_ name: Range<Int>) throws(RefusalReason) {
        var open = [16 of Range<Int>](repeating: 0..<0)
        var depth = 0
        var name = name
        while true {
            if try !restOfStartTag() {
                guard depth < Self.maximumDepth else { throw .malformedBody }
                open[depth] = name
                depth += 1
            }
            // Read up to the next start tag, and close the elements that end before it.
            while depth > 0 {
                try skipText()
                guard bytes.starts(with: "</", at: position) else { break }
                position += 2
                depth -= 1
                try endTag(open[depth])
            }
            if depth == 0 { return }
            name = try startTagName()
        }
    }

    /// Reads the attributes and the end of a start tag. Returns true if it is an empty-element tag (`/>`).
    @_lifetime(self: copy self)
    private mutating func restOfStartTag() throws(RefusalReason) -> Bool {
        var names = [16 of Range<Int>](repeating: 0..<0)
        var count = 0
        while true {
            let hadSpace = skipSpace()
            if consume(UInt8(ascii: ">")) { return false }
            if consume(UInt8(ascii: "/")) {
                guard consume(UInt8(ascii: ">")) else { throw .malformedBody }
                return true
            }
            guard hadSpace, count < Self.maximumAttributes else { throw .malformedBody }
            let name = try name()
            for index in 0..<count
            where names[index].count == name.count && bytes.repeats(names[index], at: name.lowerBound) {
                throw .malformedBody
            }
            names[count] = name
            count += 1
            skipSpace()
            guard consume(UInt8(ascii: "=")) else { throw .malformedBody }
            skipSpace()
            try skipAttributeValue()
        }
    }

    @_lifetime(self: copy self)
    private mutating func skipAttributeValue() throws(RefusalReason) {
        guard position < bytes.count else { throw .malformedBody }
        let quote = bytes[position]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw .malformedBody }
        position += 1
        let kept = scratch.count
        while position < bytes.count {
            let byte = bytes[position]
            if byte == quote {
                position += 1
                return
            }
            switch byte {
            case UInt8(ascii: "<"): throw .malformedBody
            case UInt8(ascii: "&"): try reference()
            default: position += 1
            }
            scratch.removeSubrange(kept...)
        }
        throw .malformedBody
    }

    /// Skips text, references and CDATA sections up to the next tag.
    @_lifetime(self: copy self)
    private mutating func skipText() throws(RefusalReason) {
        let kept = scratch.count
        var textStart = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "<"):
                guard bytes.starts(with: Self.sectionStart, at: position) else { return }
                position = try sectionEnd(from: position + Self.sectionStart.utf8CodeUnitCount) + 3
                textStart = position
            case UInt8(ascii: "&"):
                try reference()
                scratch.removeSubrange(kept...)
                textStart = position
            case UInt8(ascii: ">"):
                try refuseSectionEnd(at: position, textStart: textStart)
                position += 1
            default: position += 1
            }
        }
        throw .malformedBody
    }
}
