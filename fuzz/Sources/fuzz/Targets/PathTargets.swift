// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import PlaybackGate

extension Target {
    /// Paths: the normal form does not depend on the encoding, and equals that of a simple reader.
    static let path = Target(name: "path") { input in
        guard let text = input.text else { return }
        let asIs = try? MediaPath(text[...], form: .asIs)
        guard let path = try? MediaPath(text) else {
            demand(asIs == nil, or: "taken as it is, and not when it is resolved")
            return demand(simple(text) == nil, or: "\(text.debugDescription) is refused")
        }
        if let asIs { demand(asIs == path, or: "two forms of one path") }
        let form = path.text
        demand(
            simple(text).map { $0.elementsEqual(form.utf8) } ?? false,
            or: "read differently: \(text.debugDescription)"
        )
        let segments = form.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        demand(form.utf8.first == UInt8(ascii: "/"), or: "does not begin with a slash")
        demand(segments.dropLast().allSatisfy { !$0.isEmpty }, or: "an empty segment in \(form.debugDescription)")
        demand(!segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }, or: "dots in \(form)")
        demand(!form.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }, or: "bytes of \(form)")
        for encoded in [encode(form) { $0 == UInt8(ascii: "%") }, encode(form) { $0 != UInt8(ascii: "/") }]
        where encoded.utf8.count <= MediaPath.maximumSize {
            demand(
                (try? MediaPath(encoded[...], form: .asIs)) == path,
                or: "\(encoded) is not \(form.debugDescription)"
            )
        }
        if (try? MediaPath(text + "?a/../b")) != path {
            demand(text.utf8.count > MediaPath.maximumSize - 8, or: "query")
        }
    }

    private static func encode(_ path: String, isEncoded: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        var rest = Array(path.utf8)[...]
        while let byte = rest.first {
            // An encoded slash is encoded already.
            if rest.starts(with: "%2F".utf8) {
                encoded += rest.prefix(3)
                rest = rest.dropFirst(3)
                continue
            }
            rest = rest.dropFirst()
            guard isEncoded(byte) else {
                encoded.append(byte)
                continue
            }
            encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Normalizes a path by a direct implementation of the rules, without regard to speed.
    private static func simple(_ requested: String) -> [UInt8]? {
        guard requested.utf8.count <= MediaPath.maximumSize, requested.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        let bytes = Array(requested.utf8.prefix { $0 != UInt8(ascii: "?") })
        func digit(_ position: Int) -> UInt8? {
            bytes.indices.contains(position) && bytes[position] < 0x80
                ? Character(Unicode.Scalar(bytes[position])).hexDigitValue.map(UInt8.init) : nil
        }
        var decoded: [UInt8] = []
        var position = 0
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "%") else {
                guard bytes[position] != UInt8(ascii: "#") else { return nil }
                decoded.append(bytes[position])
                position += 1
                continue
            }
            guard let high = digit(position + 1), let low = digit(position + 2) else { return nil }
            let byte = high << 4 | low
            guard !"?#".utf8.contains(byte), byte != encodedSlash else { return nil }
            decoded.append(byte == UInt8(ascii: "/") ? encodedSlash : byte)
            position += 3
        }
        guard !decoded.contains(where: { $0 < 0x20 || $0 == 0x7F || "\\;".utf8.contains($0) }) else { return nil }
        let split = decoded.map { $0 == encodedSlash ? UInt8(ascii: "/") : $0 }
        guard String(validating: split, as: UTF8.self) != nil else { return nil }
        for position in decoded.indices.dropLast(2) where decoded[position] == UInt8(ascii: "%") {
            let digits = decoded[position + 1...position + 2]
            if digits.allSatisfy({ $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit }) { return nil }
        }
        var stack: [ArraySlice<UInt8>] = []
        let segments = decoded.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        var isFolder = false
        for segment in segments {
            let parts = segment.split(separator: encodedSlash, omittingEmptySubsequences: false)
            if parts.count > 1,
                parts.contains(where: { ["", ".", ".."].contains(String(decoding: $0, as: UTF8.self)) })
            {
                return nil
            }
            isFolder = segment.isEmpty || segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
            if segment.elementsEqual("..".utf8) {
                guard stack.popLast() != nil else { return nil }
            } else if !isFolder {
                stack.append(segment)
            }
        }
        let resolved = stack.flatMap { [UInt8(ascii: "/")] + $0 } + (isFolder ? [UInt8(ascii: "/")] : [])
        return resolved.flatMap { $0 == encodedSlash ? Array("%2F".utf8) : [$0] }
    }

    /// Stands for an encoded slash: no text has this byte.
    private static let encodedSlash: UInt8 = 0xFF

    /// Patterns: a catalogue with one entry finds it for exactly those paths that a simple matcher accepts.
    ///
    /// The input is the pattern, a line feed, and the path.
    static let pattern = Target(name: "pattern") { input in
        var input = input
        guard let text = String(validating: input.line(), as: UTF8.self), let pattern = try? PathPattern(text),
            let requested = input.text, let path = try? MediaPath(requested)
        else { return }
        var catalogue = Catalogue()
        let entry = Catalogue.Entry(key: .path(pattern), protection: .none)
        do { try catalogue.add(entry) } catch { return demand(false, or: "the first entry is there already") }
        let found = catalogue.entry(path: path)
        demand(found == nil || found == entry, or: "an entry that nobody added")
        let scalars = Array(path.text.unicodeScalars)
        // The simple matcher takes time proportional to the product of both lengths.
        guard scalars.count <= 256, text.utf8.count <= 256 else { return }
        let isGlob = text.unicodeScalars.contains { $0 == "*" || $0 == "?" }
        let isExpected =
            isGlob
            ? matches(Array(text.unicodeScalars)[...], path: scalars)
            : text.hasSuffix("/")
                ? path.text.utf8.starts(with: text.utf8) || (path.text + "/").utf8.elementsEqual(text.utf8)
                : path.text.utf8.elementsEqual(text.utf8)
        demand((found != nil) == isExpected, or: "\(text.debugDescription) and \(path.text.debugDescription)")
    }

    /// True if a glob covers a path, both as Unicode scalars.
    private static func matches(_ glob: ArraySlice<Unicode.Scalar>, path: [Unicode.Scalar]) -> Bool {
        // The positions in the path at which the steps so far can end.
        var ends: Set<Int> = [0]
        var rest = glob
        while let step = rest.popFirst() {
            switch step {
            case "*":
                let isDeep = rest.first == "*"
                while rest.first == "*" { rest.removeFirst() }
                for start in ends {
                    var end = start
                    while end < path.count, isDeep || path[end] != "/" {
                        end += 1
                        ends.insert(end)
                    }
                }
            case "?": ends = Set(ends.filter { $0 < path.count && path[$0] != "/" }.map { $0 + 1 })
            default: ends = Set(ends.filter { $0 < path.count && path[$0] == step }.map { $0 + 1 })
            }
        }
        return ends.contains(path.count)
    }
}
