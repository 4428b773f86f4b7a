// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The content keys of a CPIX document, with the tracks that they are for. Source: DASH-IF CPIX 2.4, SPEKE v2.
///
/// Read strictly: what a rule says and this reader does not know could restrict a key, so it is an error. The keys themselves,
/// plain or encrypted, are skipped.
public struct CPIXDocument: Sendable {
    /// The ids and the texts of their tracks (`intendedTrackType`). A text of several tracks (`SD+HD`) is one entry for each.
    public let keys: ContentKeys

    /// The largest document, in bytes.
    public static let maximumSize = 1 << 20
    /// The most keys of a document, and of tracks that they are for.
    public static let mostKeys = 1024
    private static let namespace = "urn:dashif:org:cpix"

    /// Reads a document.
    ///
    /// - Parameter bytes: XML in UTF-8, at most ``maximumSize`` bytes.
    /// - Throws: ``CPIXError`` with the line.
    public init(_ bytes: [UInt8]) throws(CPIXError) {
        guard bytes.count <= Self.maximumSize else { throw CPIXError("has more than 1 MiB", line: 1) }
        let limits = XMLLimits(depth: 16, elements: 20_000, root: "CPIX", utf8Only: true)
        guard var parser = XMLEventParser(limits: limits) else { throw CPIXError("memory is exhausted", line: 1) }
        parser.read(bytes.span, isLast: true)
        switch parser.failure {
        case nil: break
        case .doctype: throw CPIXError("a document type declaration is not allowed", line: 1)
        case .syntax(_, let line, _): throw CPIXError("is not well-formed", line: line)
        case .tooDeep, .tooManyElements, .tooLarge:
            throw CPIXError("has too many elements, or they nest too deeply", line: 1)
        default: throw CPIXError("is no CPIX document in UTF-8", line: 1)
        }
        var reading = Reading()
        let events = parser.events
        var index = 0
        while index < events.list.count {
            let event = events.list[index]
            index += 1
            switch event.kind {
            case .start:
                var element = Element(name: events.string(event.name), line: Int(event.line))
                element.isOwn = String(decoding: events.namespace(event.namespace), as: UTF8.self) == Self.namespace
                while index < events.list.count, events.list[index].kind == .attribute {
                    let attribute = events.list[index]
                    // Attributes of other namespaces are no concern of CPIX.
                    if attribute.namespace.isEmpty {
                        element.attributes[events.string(attribute.name)] = events.string(attribute.value)
                    }
                    index += 1
                }
                try reading.open(element)
            case .end: reading.close()
            case .attribute, .text, .interruption: break
            }
        }
        keys = try reading.finish()
    }

    /// A start tag.
    private struct Element {
        let name: String
        let line: Int
        /// True if it is in the namespace of CPIX.
        var isOwn = false
        var attributes: [String: String] = [:]

        /// The id of the key that the element is about.
        func keyID() throws(CPIXError) -> ContentKeyID {
            guard let text = attributes["kid"], let id = ContentKeyID(text) else {
                throw CPIXError("\(name) has no kid, or one that is no UUID", line: line)
            }
            return id
        }
    }

    /// The state of a reader, and its keys and tracks.
    private struct Reading {
        private var path: [String] = []
        /// The number of open elements below which all is skipped; `nil` for none.
        private var skipped: Int?
        private var keys: [(id: ContentKeyID, line: Int)] = []
        private var tracks: [(id: ContentKeyID, track: String, line: Int)] = []

        /// The filters that only say which part of the content a key is for.
        private static let filters: Set<String> = ["VideoFilter", "AudioFilter", "KeyPeriodFilter"]

        mutating func open(_ element: Element) throws(CPIXError) {
            defer { path.append(element.name) }
            guard skipped == nil else { return }
            switch path {
            case []:
                guard element.isOwn else {
                    throw CPIXError("the root is not in the namespace \(CPIXDocument.namespace)", line: element.line)
                }
            case ["CPIX"] where element.isOwn && ["ContentKeyList", "ContentKeyUsageRuleList"].contains(element.name):
                break
            case ["CPIX", "ContentKeyList"] where element.isOwn && element.name == "ContentKey": try add(key: element)
            case ["CPIX", "ContentKeyUsageRuleList"] where element.isOwn && element.name == "ContentKeyUsageRule":
                try add(rule: element)
            case ["CPIX", "ContentKeyUsageRuleList", "ContentKeyUsageRule"]:
                guard element.isOwn, Self.filters.contains(element.name) else {
                    throw CPIXError("the rule has \(element.name), which cannot be evaluated", line: element.line)
                }
                skipped = path.count
            // The keys themselves, and what is not about keys and tracks.
            default: skipped = path.count
            }
        }

        mutating func close() {
            path.removeLast()
            if skipped == path.count { skipped = nil }
        }

        private mutating func add(key: Element) throws(CPIXError) {
            let id = try key.keyID()
            if key.attributes["dependsOnKey"] != nil {
                throw CPIXError("the key \(id) depends on another one", line: key.line)
            }
            if keys.contains(where: { $0.id == id }) { throw CPIXError("the key \(id) is a duplicate", line: key.line) }
            keys.append((id, key.line))
            if keys.count > CPIXDocument.mostKeys {
                throw CPIXError("there are more than \(CPIXDocument.mostKeys) keys", line: key.line)
            }
        }

        private mutating func add(rule: Element) throws(CPIXError) {
            let id = try rule.keyID()
            guard let text = rule.attributes["intendedTrackType"], !text.isEmpty else {
                throw CPIXError("the rule of the key \(id) has no intendedTrackType", line: rule.line)
            }
            for track in text.split(separator: "+", omittingEmptySubsequences: false) {
                tracks.append((id, String(track), rule.line))
            }
            if tracks.count > CPIXDocument.mostKeys {
                throw CPIXError("there are rules for more than \(CPIXDocument.mostKeys) tracks", line: rule.line)
            }
        }

        func finish() throws(CPIXError) -> ContentKeys {
            for (id, track, line) in tracks where !keys.contains(where: { $0.id == id }) {
                throw CPIXError("the rule for \(track) is of the key \(id), which is not in the list", line: line)
            }
            for (id, line) in keys where !tracks.contains(where: { $0.id == id }) {
                throw CPIXError("the key \(id) has no usage rule: nothing says what it is for", line: line)
            }
            guard !keys.isEmpty else { throw CPIXError("there are no content keys", line: 1) }
            return ContentKeys(tracks.map { ($0.id, $0.track) })
        }
    }
}

/// An error in a CPIX document.
public struct CPIXError: Error, Hashable, Sendable {
    /// The explanation in words, for people.
    public let reason: String
    /// The line, from 1.
    public let line: Int

    init(_ reason: String, line: Int) { (self.reason, self.line) = (reason, line) }
}

extension CPIXError: CustomStringConvertible {
    public var description: String { "line \(line): \(reason)" }
}
