// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport

/// A generator of token contents: mostly well-formed, sometimes with damaged bytes.
struct BodyGenerator {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Returns the content of a token's element.
    mutating func content() -> [UInt8] {
        var names = TokenBody.mandatory
        if random.once(in: 3) { names.append("proxyMvpdId") }
        if random.once(in: 4) { names.shuffle(using: &random) }
        if random.once(in: 12) { names.append(random.pick(names)) }
        if random.once(in: 12) { names.remove(at: Int.random(in: names.indices, using: &random)) }
        var bytes = space()
        for name in names {
            if random.once(in: 5) { bytes += element(depth: 1) + space() }
            bytes += field(name) + space()
        }
        if random.once(in: 4) { bytes += element(depth: 1) }
        if random.once(in: 3) { mutate(&bytes) }
        return bytes
    }

    private mutating func field(_ name: String) -> [UInt8] {
        switch Int.random(in: 0..<150, using: &random) {
        case 0: return [UInt8]("<\(name)/>".utf8)
        case 1: return [UInt8]("<\(name)\n/>".utf8)
        default:
            let tail = random.once(in: 8) ? " \t\r\n" : ""
            let head = random.once(in: 8) ? " \n" : ""
            return [UInt8]("<\(name)\(head)>".utf8) + value(name) + [UInt8]("</\(name)\(tail)>".utf8)
        }
    }

    private mutating func value(_ name: String) -> [UInt8] {
        let fixed =
            switch name {
            case "ttl": random.pick(["420000", "420000", "0420000", "-1", random.once(in: 8) ? "7m" : "1"])
            case "issueTime":
                random.pick([
                    "2031-01-02 03:04:05 -0700", "2031-01-02T10:04:05Z", "1925114645000", "2031/01/02 10:04:05 GMT",
                ])
            default: ""
            }
        guard fixed.isEmpty else { return spell(fixed) }
        return random.once(in: 3) ? [UInt8]("REF30".utf8) : text()
    }

    /// Returns `text` in one of its spellings.
    private mutating func spell(_ text: String) -> [UInt8] {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: [UInt8]("<![CDATA[\(text)]]>".utf8)
        case 1: text.utf8.flatMap { [UInt8]("&#\($0);".utf8) }
        case 2: [UInt8]("\(text.prefix(3))<![CDATA[]]><![CDATA[\(text.dropFirst(3))]]>".utf8)
        default: [UInt8](text.utf8)
        }
    }

    private mutating func text() -> [UInt8] {
        (0..<Int.random(in: 1...6, using: &random)).flatMap { _ in piece() }
    }

    /// Returns a piece of text, a reference or a CDATA section.
    private mutating func piece() -> [UInt8] {
        let text =
            switch Int.random(in: 0..<12, using: &random) {
            case 0: random.pick(["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"])
            case 1: "&#\(random.pick([9, 10, 13, 32, 38, 60, 65, 93, 0xE9, 0xFFFD, 0x1F600, 0x10FFFF]));"
            case 2: "&#x\(random.pick(["41", "0041", "e9", "1F600", "d", "5D", "20AC", "10FFFF"]));"
            case 3:
                "<![CDATA[\(random.pick(["", "a", "<b>", "&amp;", "]", "]]", "a\rb\r\nc", "é", "\n", "<![CDATA["]))]]>"
            case 4: "<![CDATA[a]]]]>\(random.pick([">", "&gt;", "]", ""]))<![CDATA[b]]>"
            case 5: random.pick(["\r", "\r\n", "\n", "\t", "\n\r", " "])
            case 6 where random.once(in: 20):
                random.pick(["&#xFFFE;", "&#xD800;", "&#1114112;", "&#1;", "&#x;", "&b;", "]]>"])
            case 6: random.pick(["]", "]]", ">", "]>", "]] >", "\"", "'", "="])
            case 7: random.pick(["é", "€", "日本", "\u{1F600}", "e\u{301}", "\u{7F}", "\u{85}", "\u{2028}"])
            default: random.pick(["TNT", "REF30", "a b", "x", "0123456789abcdef", "-"])
            }
        return [UInt8](text.utf8)
    }

    private mutating func space() -> [UInt8] {
        random.once(in: 4) ? [UInt8](random.pick([" ", "\n", "\r\n", "\t", "  \n", "\r"]).utf8) : []
    }

    /// Returns an element with an unknown name.
    private mutating func element(depth: Int) -> [UInt8] {
        let name = random.pick(["u", "extra", "TTL", "mvpdID", "requestorIDs", "_x", "a.b-c", "x1"])
        var bytes = [UInt8]("<\(name)".utf8)
        for number in 0..<random.pick([0, 0, 0, 1, 2, 3]) {
            let value = random.pick(["", "1", "&amp;", "&#10;", "a>b", "é", "]]>", "\t\r\n"])
            let quote = random.pick(["\"", "'"])
            let equals = random.pick(["=", "=", " = ", "\n="])
            bytes += [UInt8]("\(random.pick([" ", "\n", "  "]))a\(number)\(equals)\(quote)\(value)\(quote)".utf8)
        }
        bytes += space()
        if random.once(in: 4) { return bytes + [UInt8]("/>".utf8) }
        bytes += [UInt8](">".utf8)
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            if depth < 6, random.once(in: 3) {
                bytes += element(depth: depth + 1)
            } else if random.once(in: 6) {
                bytes += [UInt8]("<ttl>1</ttl>".utf8)
            } else {
                bytes += piece()
            }
        }
        return bytes + [UInt8]("</\(name)".utf8) + space() + [UInt8](">".utf8)
    }

    /// Changes, removes, duplicates or inserts a few bytes.
    private mutating func mutate(_ bytes: inout [UInt8]) {
        for _ in 0..<random.pick([1, 1, 1, 2, 4]) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(random.pick([UInt8]("<>&;/]['\"=!?-# \r\nx".utf8)), at: index)
            case 3: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            default:
                let end = min(bytes.count, index + Int.random(in: 1...12, using: &random))
                bytes.insert(contentsOf: Array(bytes[index..<end]), at: Int.random(in: bytes.indices, using: &random))
            }
        }
    }
}
