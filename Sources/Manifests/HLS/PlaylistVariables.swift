// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The variables of a playlist, `{$name}`.
///
/// Source: draft-pantos-hls-rfc8216bis §4.3 and §4.4.2.3. The values of imported variables are known to the player only.
struct PlaylistVariables {
    /// The value of a variable.
    enum Value {
        case known([UInt8])
        /// Imported, or a parameter that the URL of the playlist does not have.
        case unknown
        /// The grant with which the player requested the playlist, or a value that only the player's URL has.
        case grant
        /// A grant that a rewriter has written.
        case formerGrant([UInt8])
    }

    /// A text with its variables replaced as far as their values are known.
    struct Expansion {
        var text: [UInt8] = []
        /// The number of variables that stayed because their values are unknown.
        var open = 0
        /// True if a variable is the grant with which the player requested the playlist.
        var hasGrant = false

        /// True if a variable stayed.
        var isOpen: Bool { open > 0 }

        fileprivate mutating func append(_ variable: Span<UInt8>) {
            open += 1
            text.append(copying: variable)
        }
    }

    /// The meaning of an `EXT-X-DEFINE`.
    enum Definition {
        /// A variable of the playlist.
        case other
        /// A variable of the playlist by the name of the one that a rewriter writes.
        case taken
        /// The variable that a rewriter has written, with a grant.
        case own
    }

    /// The variable with the grant, and a reference to it.
    static let own = "playgate", reference = "{$playgate}"
    /// The most variables, and the longest name in bytes.
    static let maximumCount = 256, maximumName = 64
    /// The most bytes of all texts with their variables replaced, as a multiple of the largest playlist.
    static let maximumGrowth = 8
    private var values: [[UInt8]: Value] = [:]
    private let parameter: String
    private let grant: [UInt8]
    private let query: [UInt8]
    /// False if the manifest is that of another URL, with another query than the player's.
    private let hasQueryOfPlayer: Bool
    private let limits: ManifestLimits
    /// The bytes of all known values, and of all texts with their variables replaced.
    private var (stored, expanded) = (0, 0)

    init(_ rules: ManifestRules) {
        limits = rules.limits
        query = rules.base.query ?? []
        hasQueryOfPlayer = rules.base.query == rules.requested.query
        parameter = rules.mode.parameter
        grant = [UInt8](rules.grant.utf8)
    }

    /// Replaces the variables of a text; `nil` if it has none. The result is no longer than a line may be.
    mutating func expand(_ text: Span<UInt8>, line: Int) throws(ManifestFault) -> Expansion? {
        guard var mark = text.firstVariable(from: 0) else { return nil }
        var expansion = Expansion()
        var start = 0
        while true {
            guard let end = text.firstIndex(of: UInt8(ascii: "}"), from: mark) else {
                throw ManifestFault(.malformed, line: line, reason: "a variable has no end")
            }
            expansion.text.append(copying: text.extracting(start..<mark))
            switch values[[UInt8](text.extracting(mark + 2..<end))] {
            case .known(let value): expansion.text += value
            case .unknown: expansion.append(text.extracting(mark...end))
            case .formerGrant(let value):
                expansion.hasGrant = true
                expansion.text += value
            case .grant:
                expansion.hasGrant = true
                expansion.append(text.extracting(mark...end))
            case nil: throw ManifestFault(.malformed, line: line, reason: "a variable is not defined before its use")
            }
            try check(expansion, line: line)
            start = end + 1
            guard let next = text.firstVariable(from: start) else { break }
            mark = next
        }
        expansion.text.append(copying: text.extracting(start...))
        try check(expansion, line: line)
        expanded += expansion.text.count
        return expansion
    }

    /// Refuses values of values, and many references with a long value, which grow without a bound.
    private func check(_ expansion: Expansion, line: Int) throws(ManifestFault) {
        guard expansion.text.count <= limits.lineLength else {
            throw ManifestFault(
                .tooLarge,
                line: line,
                reason: "variables make a line of more than \(limits.lineLength) bytes"
            )
        }
        guard (expanded + expansion.text.count) / Self.maximumGrowth <= limits.size else {
            throw ManifestFault(.tooLarge, line: line, reason: "variables make the playlist too large")
        }
    }

    /// Reads an `EXT-X-DEFINE`.
    ///
    /// - Parameter position: The position of its attribute list.
    mutating func define(_ bytes: Span<UInt8>, at position: Int, line: Int) throws(ManifestFault) -> Definition {
        var reader = AttributeReader(at: position)
        var (name, value, imported, parameter): (Range<Int>?, Range<Int>?, Range<Int>?, Range<Int>?)
        do throws(AttributeReader.Malformed) {
            while let attribute = try reader.next(in: bytes) {
                let key = bytes.extracting(attribute.name)
                func readValue(_ range: inout Range<Int>?) throws(AttributeReader.Malformed) {
                    guard attribute.isQuoted, range == nil else { throw AttributeReader.Malformed() }
                    range = attribute.value
                }
                if key.isText("NAME") { try readValue(&name) }
                if key.isText("VALUE") { try readValue(&value) }
                if key.isText("IMPORT") { try readValue(&imported) }
                if key.isText("QUERYPARAM") { try readValue(&parameter) }
            }
        } catch {
            throw ManifestFault(.malformed, line: line, reason: "the attribute list of EXT-X-DEFINE is malformed")
        }
        switch (name, value, imported, parameter) {
        case (let name?, let value?, nil, nil):
            try add(bytes.extracting(name), value: try given(bytes.extracting(value), line: line), line: line)
            let text = bytes.extracting(value)
            guard bytes.extracting(name).hasSameBytes(as: Self.own.utf8.span) else { return .other }
            guard text.isGrant || text.hasSameBytes(as: grant.span) else { return .taken }
            values[[UInt8](Self.own.utf8)] = .formerGrant([UInt8](text))
            return .own
        case (nil, nil, let name?, nil):
            try add(bytes.extracting(name), value: foreign(bytes.extracting(name)), line: line)
            if bytes.extracting(name).hasSameBytes(as: Self.own.utf8.span) { return .taken }
        case (nil, nil, nil, let name?):
            guard hasQueryOfPlayer else {
                throw ManifestFault(
                    .unsupported,
                    line: line,
                    reason: "a variable of a query that the player does not see"
                )
            }
            try add(bytes.extracting(name), value: queried(bytes.extracting(name)), line: line)
            if bytes.extracting(name).hasSameBytes(as: Self.own.utf8.span) { return .taken }
        default: throw ManifestFault(.malformed, line: line, reason: "EXT-X-DEFINE does not define one variable")
        }
        return .other
    }

    private mutating func add(_ name: Span<UInt8>, value: Value, line: Int) throws(ManifestFault) {
        var isName = 1...Self.maximumName ~= name.count
        for position in name.indices {
            let byte = name[position]
            isName = isName && (byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_"))
        }
        guard isName else { throw ManifestFault(.malformed, line: line, reason: "the name of a variable is malformed") }
        guard values.count < Self.maximumCount else {
            throw ManifestFault(.tooLarge, line: line, reason: "more than \(Self.maximumCount) variables")
        }
        if case .known(let text) = value { stored += text.count }
        guard stored <= limits.lineLength else {
            throw ManifestFault(
                .tooLarge,
                line: line,
                reason: "the values of variables have more than \(limits.lineLength) bytes"
            )
        }
        guard values.updateValue(value, forKey: [UInt8](name)) == nil else {
            throw ManifestFault(.malformed, line: line, reason: "a variable is defined twice")
        }
    }

    /// The value of a variable that the playlist gives itself.
    private mutating func given(_ text: Span<UInt8>, line: Int) throws(ManifestFault) -> Value {
        guard let expansion = try expand(text, line: line) else { return .known([UInt8](text)) }
        // Under another name, it could be sent to other hosts.
        guard !expansion.hasGrant else { throw ManifestFault(.grantToOtherHost, line: line) }
        return expansion.isOpen ? .unknown : .known(expansion.text)
    }

    /// The value of a variable of the multivariant playlist, of which only the name is known.
    private func foreign(_ name: Span<UInt8>) -> Value {
        // What a rewriter has written into the multivariant playlist.
        isGrant(name) || name.hasSameBytes(as: Self.own.utf8.span) ? .grant : .unknown
    }

    /// Returns true if a parameter of the playlist's URL is the grant, by the name of the rules or the usual one.
    private func isGrant(_ name: Span<UInt8>) -> Bool {
        name.hasSameBytes(as: parameter.utf8.span) || name.isText("cat")
    }

    /// The value of a parameter of the playlist's URL.
    private func queried(_ name: Span<UInt8>) -> Value {
        if isGrant(name) { return .grant }
        let query = query.span
        var start = 0
        while start < query.count {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            if let mark = part.firstIndex(of: UInt8(ascii: "="), from: 0), mark + 1 < part.count,
                part.extracting(..<mark).hasSameBytes(as: name)
            {
                let text = String(decoding: [UInt8](part.extracting((mark + 1)...)), as: UTF8.self)
                return text[...].percentDecoded.map { .known([UInt8]($0.utf8)) } ?? .unknown
            }
            start = end + 1
        }
        // The player's URL may have what was cut from that of the rules: a token.
        return .grant
    }
}

extension PlaylistVariables.Expansion {
    /// Refuses a text whose unknown variables could change its host, or that players would expand once more.
    func check() throws(ReferenceFault) {
        let text = text.span
        guard text.variableCount == open else { throw .unknownVariable }
        // Up to here a value could be, or complete, a scheme or an authority.
        guard let first = text.firstVariable(from: 0) else { return }
        let head = text.extracting(..<first)
        if head.isEmpty || head.isText("/") || head.mayBecomeScheme { throw .unknownVariable }
        let end = text.endOfPath
        guard first < end else { return }
        // A value may have several segments, and so these cannot be resolved.
        var start = 0
        while start <= end {
            let slash = text.extracting(..<end).firstIndex(of: UInt8(ascii: "/"), from: start) ?? end
            if URIPath.dots(of: text.extracting(start..<slash)) > 0 { throw .unknownVariable }
            start = slash + 1
        }
    }
}

extension Span<UInt8> {
    /// The number of variables.
    fileprivate var variableCount: Int {
        var (count, position) = (0, 0)
        while let mark = firstVariable(from: position) {
            count += 1
            position = mark + 2
        }
        return count
    }

    /// True if the bytes are the beginning of a scheme of the web, or all of it.
    fileprivate var mayBecomeScheme: Bool {
        for scheme in ["http:", "https:"] where count <= scheme.utf8.count {
            if zip(scheme.utf8, indices).allSatisfy({ self[$1].lowercasedASCII == $0 }) { return true }
        }
        return false
    }

    /// The position of the first `?` or `#`, or the end.
    fileprivate var endOfPath: Int {
        var position = 0
        while position < count, self[position] != UInt8(ascii: "?"), self[position] != UInt8(ascii: "#") {
            position += 1
        }
        return position
    }
}
