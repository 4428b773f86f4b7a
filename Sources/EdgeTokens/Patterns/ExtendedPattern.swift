// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A reader of POSIX extended regular expressions. It refuses expressions that POSIX does not define, and translates
/// the others for RE2.
///
/// The two syntaxes differ in brackets and escapes, so both are rewritten as ranges of byte values and as literal
/// bytes. Source: IEEE Std 1003.1 §9.4, in the POSIX locale.
struct ExtendedPattern: ~Copyable {
    private var output: [UInt8] = []
    private var position = 0
    private var depth = 0
    private var previous = Previous.start

    /// The element before the next one, as far as it determines the valid next elements.
    private enum Previous {
        /// The start of an expression or of an alternative.
        case start
        case anchor
        case repeatable
        case repeated
    }

    /// Returns the pattern in the syntax of RE2.
    static func translate(_ text: Span<UInt8>) throws(Pattern.Fault) -> [UInt8] {
        guard text.count <= Pattern.maximumSize else { throw .tooLarge }
        var pattern = ExtendedPattern()
        pattern.output.reserveCapacity(2 * text.count)
        while pattern.position < text.count { try pattern.readElement(text) }
        guard pattern.depth == 0, pattern.previous != .start else { throw .unsupported }
        return pattern.output
    }

    private mutating func readElement(_ text: Span<UInt8>) throws(Pattern.Fault) {
        let byte = text[position]
        position += 1
        switch byte {
        case UInt8(ascii: "("):
            depth += 1
            emit(byte, as: .start)
        case UInt8(ascii: ")"):
            guard depth > 0, previous != .start else { throw .unsupported }
            depth -= 1
            emit(byte, as: .repeatable)
        case UInt8(ascii: "|"):
            guard previous != .start else { throw .unsupported }
            emit(byte, as: .start)
        case UInt8(ascii: "^"), UInt8(ascii: "$"): emit(byte, as: .anchor)
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"):
            guard previous == .repeatable else { throw .unsupported }
            emit(byte, as: .repeated)
        case UInt8(ascii: "{"):
            guard previous == .repeatable else { throw .unsupported }
            try readInterval(text)
        case UInt8(ascii: "."): emit(byte, as: .repeatable)
        case UInt8(ascii: "["):
            var bracket = BracketExpression()
            position = try bracket.read(text, from: position)
            bracket.write(to: &output)
            previous = .repeatable
        case UInt8(ascii: "\\"):
            guard position < text.count, text[position].isASCIIPunctuation else { throw .unsupported }
            literal(text[position])
            position += 1
        case 0: throw .unsupported
        default: literal(byte)
        }
    }

    /// Reads an interval such as `{2}`, `{2,}` or `{2,4}`, behind its brace.
    private mutating func readInterval(_ text: Span<UInt8>) throws(Pattern.Fault) {
        let start = position - 1
        guard let least = try readNumber(text) else { throw .unsupported }
        if position < text.count, text[position] == UInt8(ascii: ",") {
            position += 1
            if let most = try readNumber(text), most < least { throw .unsupported }
        }
        guard position < text.count, text[position] == UInt8(ascii: "}") else { throw .unsupported }
        position += 1
        for index in start..<position { output.append(text[index]) }
        previous = .repeated
    }

    private mutating func readNumber(_ text: Span<UInt8>) throws(Pattern.Fault) -> Int? {
        var number: Int?
        while position < text.count, text[position].isASCIIDigit {
            number = (number ?? 0) * 10 + Int(text[position] - UInt8(ascii: "0"))
            // RE2 has no repetition above 1,000.
            guard number ?? 0 <= 1000 else { throw .unsupported }
            position += 1
        }
        guard number ?? 0 <= 255 else { throw .tooLarge }
        return number
    }

    private mutating func emit(_ byte: UInt8, as kind: Previous) {
        output.append(byte)
        previous = kind
    }

    private mutating func literal(_ byte: UInt8) {
        output.appendLiteral(byte)
        previous = .repeatable
    }
}

/// A bracket expression, as the set of bytes that it matches.
private struct BracketExpression {
    private var members: (UInt128, UInt128) = (0, 0)
    private var isNegated = false

    /// Reads the expression behind its `[`. Returns the index behind its `]`.
    mutating func read(_ text: Span<UInt8>, from start: Int) throws(Pattern.Fault) -> Int {
        var position = start
        if position < text.count, text[position] == UInt8(ascii: "^") {
            isNegated = true
            position += 1
        }
        var isFirst = true
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "]"), !isFirst { return position + 1 }
            isFirst = false
            guard byte != 0 else { throw .unsupported }
            if byte == UInt8(ascii: "["), position + 1 < text.count {
                switch text[position + 1] {
                case UInt8(ascii: ":"):
                    position = try readClass(text, from: position + 2)
                    // A class cannot begin a range.
                    guard !Self.isRange(text, at: position) else { throw .unsupported }
                    continue
                // Collating elements and equivalence classes.
                case UInt8(ascii: "."), UInt8(ascii: "="): throw .unsupported
                default: break
                }
            }
            position += 1
            guard Self.isRange(text, at: position) else {
                insert(byte...byte)
                continue
            }
            let end = text[position + 1]
            let isClass =
                end == UInt8(ascii: "[") && position + 2 < text.count && ":.=".utf8.contains(text[position + 2])
            guard end != 0, end >= byte, !isClass else { throw .unsupported }
            insert(byte...end)
            position += 2
            // POSIX does not define `a-c-e`.
            guard !Self.isRange(text, at: position) else { throw .unsupported }
        }
        throw .unsupported
    }

    /// True if a hyphen follows that is not the last of the expression.
    private static func isRange(_ text: Span<UInt8>, at position: Int) -> Bool {
        position + 1 < text.count && text[position] == UInt8(ascii: "-") && text[position + 1] != UInt8(ascii: "]")
    }

    /// Reads the name of a character class and its `:]`. Returns the index behind them.
    private mutating func readClass(_ text: Span<UInt8>, from start: Int) throws(Pattern.Fault) -> Int {
        guard let end = text.firstIndex(of: UInt8(ascii: ":"), from: start), end + 1 < text.count,
            text[end + 1] == UInt8(ascii: "]")
        else { throw .unsupported }
        let name = text.extracting(start..<end)
        guard let found = Self.classes.first(where: { $0.name.utf8.span.hasSameBytes(as: name) }) else {
            throw .unsupported
        }
        for range in found.ranges { insert(range) }
        return end + 2
    }

    private mutating func insert(_ range: ClosedRange<UInt8>) {
        for byte in range {
            if byte < 128 { members.0 |= 1 << UInt128(byte) } else { members.1 |= 1 << UInt128(byte - 128) }
        }
    }

    private func has(_ byte: UInt8) -> Bool {
        let bits = byte < 128 ? members.0 >> UInt128(byte) : members.1 >> UInt128(byte - 128)
        return (bits & 1 == 1) != isNegated
    }

    /// Appends the set in the syntax of RE2. A set without bytes matches nothing.
    func write(to output: inout [UInt8]) {
        var isEmpty = true
        var start: UInt8?
        output.append(UInt8(ascii: "["))
        for byte in UInt8.min...UInt8.max {
            if has(byte), start == nil { start = byte }
            guard let first = start, byte == .max || !has(byte + 1) else { continue }
            output.appendLiteral(first)
            output.append(UInt8(ascii: "-"))
            output.appendLiteral(byte)
            start = nil
            isEmpty = false
        }
        if isEmpty { output += "^\\x00-\\xff".utf8 }
        output.append(UInt8(ascii: "]"))
    }

    private static let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
    private static let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// The character classes of the POSIX locale.
    private static let classes: [(name: String, ranges: [ClosedRange<UInt8>])] = [
        ("alnum", [lower, upper, digits]), ("alpha", [lower, upper]), ("blank", [0x20...0x20, 0x9...0x9]),
        ("cntrl", [0...0x1F, 0x7F...0x7F]), ("digit", [digits]), ("graph", [0x21...0x7E]), ("lower", [lower]),
        ("print", [0x20...0x7E]), ("punct", [0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E]),
        ("space", [0x20...0x20, 0x9...0xD]), ("upper", [upper]),
        ("xdigit", [digits, UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "a")...UInt8(ascii: "f")]),
    ]
}

extension [UInt8] {
    /// Appends a byte that stands for itself.
    fileprivate mutating func appendLiteral(_ byte: UInt8) {
        guard !byte.isASCIIAlphanumeric else { return append(byte) }
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
        self += [UInt8(ascii: "\\"), UInt8(ascii: "x"), digit(byte >> 4), digit(byte & 15)]
    }
}

extension UInt8 {
    fileprivate var isASCIIPunctuation: Bool { 0x21...0x7E ~= self && !isASCIIAlphanumeric }
}
