// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A pattern for the paths that an entry of the catalogue covers.
///
/// - `/vod/1234/master.m3u8`: this path.
/// - `/live/tnt/`: this folder and everything below it.
/// - `/vod/*/trailer-??.m3u8`: a glob. `?` matches one character and `*` any number of them, both within a segment; `**`
///   matches any number of characters, including slashes.
public struct PathPattern: Hashable, Sendable {
    /// The pattern as written.
    public let text: String

    /// The number of bytes that are no wildcards. The longest pattern wins.
    package let fixedLength: Int
    /// The folder that contains all paths of the pattern, from `/` to `/`; for a path, the path itself.
    package let root: Substring
    /// ``root`` of a folder or glob, without the trailing slash.
    package var folderName: Substring { root.dropLast() }

    /// The kind of the pattern.
    package let form: Form
    /// True for a folder: a path that ends in `/`, without wildcards.
    package var isFolder: Bool { form == .folder }
    /// True for a path of one file, without wildcards.
    package var isPath: Bool { form == .path }

    package enum Form: Hashable, Sendable {
        case path
        case folder
        case glob([Step])
    }

    /// A step of a glob.
    package enum Step: Hashable, Sendable {
        case byte(UInt8)
        case anyCharacter
        case anyWithinSegment
        case anything
    }

    /// The maximum number of wildcards in a glob.
    public static let maximumWildcards = 16

    /// Parses a pattern.
    ///
    /// - Parameter text: A path in canonical form, see ``MediaPath``, in plain characters: nothing in it is decoded.
    /// - Throws: ``PathPatternError``.
    public init(_ text: String) throws(PathPatternError) {
        self.text = text
        guard text.utf8.first == UInt8(ascii: "/") else { throw .notAbsolute }
        guard text.utf8.count <= MediaPath.maximumSize else { throw .tooLong }
        guard Self.isNormal(text) else { throw .notNormal }
        let isGlob = text.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }
        guard isGlob else {
            form = text.utf8.last == UInt8(ascii: "/") ? .folder : .path
            root = text[...]
            fixedLength = text.utf8.count
            return
        }
        let steps = Self.steps(text)
        let wildcards = steps.count { if case .byte = $0 { false } else { true } }
        guard wildcards <= Self.maximumWildcards else { throw .tooManyWildcards }
        form = .glob(steps)
        fixedLength = steps.count - wildcards
        let head = text.utf8.prefix { $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") }
        root = text[...(head.lastIndex(of: UInt8(ascii: "/")) ?? text.startIndex)]
    }

    /// True if `text`, apart from wildcards, is a normalised path.
    private static func isNormal(_ text: String) -> Bool {
        // Split by bytes: a slash with a combining character behind it is a different `Character`.
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        return segments.dropLast().allSatisfy { !$0.isEmpty }
            && segments.allSatisfy { URIPath.dots(of: Substring($0).utf8.span) == 0 }
            && text.utf8.allSatisfy { byte in
                byte > 0x1F && byte != 0x7F && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: ";")
                    && byte != UInt8(ascii: "#")
            }
    }

    private static func steps(_ text: String) -> [Step] {
        var steps: [Step] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "?"): steps.append(.anyCharacter)
            case UInt8(ascii: "*"):
                switch steps.last {
                case .anyWithinSegment: steps[steps.count - 1] = .anything
                case .anything: break
                default: steps.append(.anyWithinSegment)
                }
            default: steps.append(.byte(byte))
            }
        }
        return steps
    }

    /// True if the pattern matches `path`, which must be in ``root``.
    package func covers(_ path: MediaPath) -> Bool {
        switch form {
        case .path, .folder: true
        case .glob(let steps): Self.matches(path.characters.utf8, steps: steps)
        }
    }

    /// Follows all steps of the glob at once. The time is bounded by path length times steps.
    private static func matches(_ path: Substring.UTF8View, steps: [Step]) -> Bool {
        var automaton = Automaton(steps)
        for byte in path {
            automaton.consume(byte)
            guard automaton.isAlive else { return false }
        }
        return automaton.isComplete
    }

    /// True if a glob matches any path that begins with `prefix`.
    package static func reaches(into prefix: [UInt8], _ steps: [Step]) -> Bool {
        var automaton = Automaton(steps)
        for byte in prefix { automaton.consume(byte) }
        return automaton.isAlive
    }

    /// True if a glob matches the beginning of a path.
    ///
    /// - Parameter steps: A glob that ends with a slash.
    package static func matchesFolder(of path: [UInt8], _ steps: [Step]) -> Bool {
        var automaton = Automaton(steps)
        for byte in path {
            automaton.consume(byte)
            if automaton.isComplete { return true }
        }
        return false
    }

    /// True if a path may match two globs.
    ///
    /// The answer may be true for globs that differ in the middle of a UTF-8 character, and is false only if no path matches both.
    package static func overlap(_ left: [Step], with right: [Step]) -> Bool {
        let width = right.count + 1
        var isSeen = [Bool](repeating: false, count: (left.count + 1) * width)
        var waiting = [(0, 0)]
        while let (one, other) = waiting.popLast() {
            guard !isSeen[one * width + other] else { continue }
            isSeen[one * width + other] = true
            if one == left.count, other == right.count { return true }
            if one < left.count, left[one].isStar { waiting.append((one + 1, other)) }
            if other < right.count, right[other].isStar { waiting.append((one, other + 1)) }
            guard one < left.count, other < right.count, left[one].meets(right[other]) else { continue }
            for next in left[one].indices(after: one, right[other]) {
                for second in right[other].indices(after: other, left[one]) { waiting.append((next, second)) }
            }
        }
        return false
    }

    /// The states of a glob after a beginning of a path.
    private struct Automaton {
        private let steps: [Step]
        private var live: [Bool]
        private var next: [Bool]

        init(_ steps: [Step]) {
            self.steps = steps
            live = [Bool](repeating: false, count: steps.count + 1)
            live[0] = true
            next = live
            PathPattern.skipStars(in: &live, of: steps)
        }

        var isAlive: Bool { live.contains(true) }
        var isComplete: Bool { live[steps.count] }

        mutating func consume(_ byte: UInt8) {
            for index in next.indices { next[index] = false }
            for index in steps.indices where live[index] {
                switch steps[index] {
                case .byte(let wanted): if byte == wanted { next[index + 1] = true }
                case .anyCharacter:
                    // The first byte of a UTF-8 character performs the step; its continuation bytes belong to the same
                    // step.
                    if byte & 0xC0 != 0x80, byte != UInt8(ascii: "/") { next[index + 1] = true }
                case .anyWithinSegment: if byte != UInt8(ascii: "/") { next[index] = true }
                case .anything: next[index] = true
                }
            }
            if byte & 0xC0 == 0x80 {
                for index in steps.indices where steps[index] == .anyCharacter && live[index + 1] {
                    next[index + 1] = true
                }
            }
            swap(&live, &next)
            PathPattern.skipStars(in: &live, of: steps)
        }
    }

    /// Activates the state after each star, because a star may match an empty text.
    fileprivate static func skipStars(in live: inout [Bool], of steps: [Step]) {
        for index in steps.indices where live[index] {
            if steps[index] == .anyWithinSegment || steps[index] == .anything { live[index + 1] = true }
        }
    }
}

extension PathPattern.Step {
    fileprivate var isStar: Bool { self == .anyWithinSegment || self == .anything }

    /// True if both steps can match the same byte.
    fileprivate func meets(_ other: Self) -> Bool {
        switch (self, other) {
        case (.byte(let one), .byte(let two)): one == two
        case (.byte(let byte), .anyCharacter), (.anyCharacter, .byte(let byte)),
            (.byte(let byte), .anyWithinSegment), (.anyWithinSegment, .byte(let byte)):
            byte != UInt8(ascii: "/")
        default: true
        }
    }

    /// The indices in a glob after a byte that matches this step and one of another glob.
    fileprivate func indices(after index: Int, _ other: Self) -> [Int] {
        if isStar { return [index] }
        // A character may have more bytes.
        if self == .anyCharacter, case .byte(0x80...) = other { return [index, index + 1] }
        return [index + 1]
    }
}

/// The reason why a text is not a path pattern.
@nonexhaustive
public enum PathPatternError: String, Error, Sendable, CaseIterable {
    /// The pattern does not begin with a slash.
    case notAbsolute = "pattern_not_absolute"
    /// The pattern has more than 8 KiB.
    case tooLong = "pattern_too_long"
    /// Empty or dot segments, a backslash, `;`, `#` or a control character: no canonical path contains them.
    case notNormal = "pattern_not_normal"
    /// The glob has more than 16 wildcards.
    case tooManyWildcards = "pattern_too_many_wildcards"
}

extension PathPatternError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAbsolute: "a path must begin with / [\(rawValue)]"
        case .tooLong: "a path must have at most 8 KiB [\(rawValue)]"
        case .notNormal:
            "no request path can match: remove //, /./, /../, backslashes, ; and # [\(rawValue)]"
        case .tooManyWildcards: "a glob must have at most 16 wildcards [\(rawValue)]"
        }
    }
}
