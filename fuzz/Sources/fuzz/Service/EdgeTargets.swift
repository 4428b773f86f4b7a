// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOHTTP1

@testable import EdgeChecks
@testable import EdgeListener
@testable import GateConfiguration
@testable import HTTPServer
@testable import PlaybackGate
@testable import RequestTargets

extension Target {
    /// The original target of a client's request to an edge: it is split as a byte-by-byte scan splits it, and its parts
    /// form the same target again.
    static let target = Target(name: "target") { input in
        let text = String(decoding: input.bytes, as: UTF8.self)
        let bytes = [UInt8](text.utf8)
        let isPlain =
            bytes.first == UInt8(ascii: "/") && bytes.count <= ParsedTarget.maximumSize
            && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\u{7F}" && $0 != "#" && $0 != "\u{FFFD}" }
        let target = ParsedTarget(text[...])
        demand((target != nil) == isPlain, or: "\(bytes.debugText) is \(isPlain ? "refused" : "taken")")
        guard let target else { return }
        let again = target.query.map { target.path + "?" + $0 } ?? target.path
        demand(
            again.utf8.elementsEqual(bytes) && !target.path.utf8.contains(UInt8(ascii: "?")),
            or: "split: \(bytes.debugText)"
        )
        checkSegments(target)
    }

    /// Checks that removing token segments before decoding, as the gate does, gives the same path as removing them
    /// afterwards, as edges do, unless the path is ambiguous.
    private static func checkSegments(_ target: ParsedTarget) {
        let names = ParsedTarget.TokenNames(parameters: [], segments: ["mt="], package: nil)
        guard let kept = ParsedTarget(target.text(hiding: []), tokens: names), !kept.isAmbiguous,
            let before = try? MediaPath(kept.path), let whole = try? MediaPath(target.path)
        else {
            return
        }
        let segments = whole.text.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        let others = segments.filter { !$0.starts(with: "mt=".utf8) }.flatMap { [UInt8(ascii: "/")] + $0 }
        let after = others.isEmpty ? [UInt8(ascii: "/")] : others
        demand(before.text.utf8.elementsEqual(after), or: "\(target.path): \(before.text), and not \(after.debugText)")
    }

    /// The token of a request, from five sources, against a byte-by-byte search.
    ///
    /// The input is the target, and then lines of header fields.
    static let presented = Target(name: "shown") { input in
        var input = input
        guard let target = ParsedTarget(String(decoding: input.line(), as: UTF8.self)[...]) else { return }
        var headers = HTTPHeaders()
        while !input.rest.isEmpty {
            let line = input.line()
            // Field names are ASCII after NIO has parsed them.
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[..<colon].allSatisfy({ $0 < 0x80 }) else {
                continue
            }
            headers.add(
                name: String(decoding: line[..<colon], as: UTF8.self),
                value: String(decoding: line[(colon + 1)...], as: UTF8.self)
            )
        }
        let sources = TokenSources(tokens: sources, grants: [])
        let reader = EdgeFieldReader(row: EdgeDialect.forward.row, sources: sources)
        let fields = EdgeFields(HTTPFields(headers), names: reader.names)
        let found = sources.mediaToken(in: fields, target, for: .unknown)
        var expected = SimpleSearch()
        expected.search(headers, target: target)
        let token = found.token.map { Array($0.utf8) }
        demand(
            token == expected.token,
            or: "\(token?.debugText ?? "none"), and not \(expected.token?.debugText ?? "none")"
        )
        demand(found.isConflict == expected.isConflict && found.sources == expected.sources, or: "sources")
    }

    fileprivate static let sources: [TokenSource] = [
        .header("Authorization", scheme: "MediaToken"), .header("x-token", scheme: nil), .cookie("mt"), .query("mt"),
        .segment("mt="),
    ]
}

/// A simple search for tokens in the same sources, on arrays of bytes.
private struct SimpleSearch {
    private(set) var token: [UInt8]?
    private(set) var sources: UInt16 = 0
    private(set) var isConflict = false

    mutating func search(_ headers: HTTPHeaders, target: ParsedTarget) {
        for (name, value) in headers where Self.folded(name) == Array("authorization".utf8) {
            let bytes = Array(value.utf8)
            let scheme = Array("mediatoken ".utf8)
            guard Self.folded(value).starts(with: scheme) else { continue }
            show(Self.trimmed(bytes[scheme.count...]), from: 0)
        }
        for (name, value) in headers where Self.folded(name) == Array("x-token".utf8) {
            show(Self.trimmed(Array(value.utf8)[...]), from: 1)
        }
        for (name, value) in headers where Self.folded(name) == Array("cookie".utf8) {
            for part in Self.parts(of: Array(value.utf8), separator: ";") {
                var pair = Self.trimmed(part)
                guard pair.starts(with: "mt=".utf8) else { continue }
                pair = pair.dropFirst(3)
                let isQuoted = pair.count >= 2 && pair.first == UInt8(ascii: "\"") && pair.last == UInt8(ascii: "\"")
                show(isQuoted ? pair.dropFirst().dropLast() : pair, from: 2)
            }
        }
        for part in Self.parts(of: Array((target.query ?? "").utf8), separator: "&") where part.starts(with: "mt=".utf8)
        {
            show(part.dropFirst(3), from: 3)
        }
        for part in Self.parts(of: Array(target.path.utf8), separator: "/") where part.starts(with: "mt=".utf8) {
            show(part.dropFirst(3), from: 4)
        }
    }

    private mutating func show(_ value: ArraySlice<UInt8>, from source: Int) {
        guard !value.isEmpty else { return }
        let text = Self.decoded(Array(value))
        if token == nil { token = text }
        if token == text { sources |= 1 << UInt16(source) } else { isConflict = true }
    }

    private static func parts(of bytes: [UInt8], separator: Unicode.Scalar) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return bytes
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.first != UInt8(ascii: "<") else { return bytes }
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return bytes }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: decoded, as: UTF8.self) == nil ? bytes : decoded
    }
}
