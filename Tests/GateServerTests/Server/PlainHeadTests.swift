// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Heads that are read without NIO's decoder, beside the same requests with it. For every input, in any pieces, the answers
/// are the same.
@Suite struct `A head that is read without the decoder` {
    private static let plain = "GET /v1/check?a=b HTTP/1.1\r\nHost: gate\r\nCookie: a=b; c=d\r\n\r\n"

    /// Sends pieces to a connection that reads plain heads and to one that does not, and compares the answers.
    @discardableResult private static func compare(
        _ pieces: [[UInt8]],
        timing: EchoingService.Timing = .atOnce,
        isDraining: Bool = false
    ) throws -> ListenerExchange {
        let (fast, reference) = (
            try ListenerExchange(readsPlainHeads: true, timing),
            try ListenerExchange(readsPlainHeads: false, timing)
        )
        for (number, piece) in pieces.enumerated() {
            if isDraining, number == 1 {
                fast.drain()
                reference.drain()
            }
            fast.send(piece)
            reference.send(piece)
            // Requests that can be answered are answered at once.
            #expect(fast.output == reference.output, "\(printed(pieces))")
        }
        fast.end()
        reference.end()
        #expect(fast.output == reference.output, "\(printed(pieces))")
        #expect(reference.service.decoded == reference.service.requests)
        return fast
    }

    private static func printed(_ pieces: [[UInt8]]) -> String {
        String(decoding: pieces.joined(), as: UTF8.self).debugDescription
    }

    /// Compares an input in one piece, byte by byte, and in two pieces at each position.
    @discardableResult private static func compareAll(_ input: String) throws -> ListenerExchange {
        let bytes = Array(input.utf8)
        for timing in EchoingService.Timing.allCases {
            try compare(bytes.map { [$0] }, timing: timing)
            for index in 1..<max(2, bytes.count) {
                try compare([Array(bytes[..<index]), Array(bytes[index...])], timing: timing)
            }
            try compare([bytes], timing: timing)
        }
        return try compare([bytes])
    }

    /// The number of request lines in an input of plain heads.
    private static func requests(in input: String) -> Int {
        input.split(separator: "\r\n").count { $0.hasSuffix(" HTTP/1.1") }
    }

    // MARK: Plain

    private static let plainInputs = [
        plain, "HEAD / HTTP/1.1\r\n\r\n", "GET //x/../y HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~ HTTP/1.1\r\nA:\r\nB: \r\nC:d\r\n\r\n",
        "GET /a HTTP/1.1\r\nConnection: Keep-Alive\r\nTE: trailers\r\nIf-None-Match: \"x\"\r\nX_y: z\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\n\r\n",
    ]

    @Test(arguments: plainInputs) func `has the answer that it has with it`(input: String) throws {
        let fast = try Self.compareAll(input)
        #expect(fast.service.requests == Self.requests(in: input))
        #expect(fast.service.decoded == 0)
        #expect(fast.lines("HTTP/1.1 ").allSatisfy { $0 == "200 OK" })
    }

    // MARK: Unusual

    private static let longName = String(repeating: "n", count: 65)

    /// The lines that make a head unusual behind its first line.
    private static let unusualFields = [
        "a bare line feed": "Host: a\nX: y\r\n\r\n",
        "a bare line feed at the end": "Host: a\r\n\n",
        "a bare CR": "Host: a\rX: y\r\n\r\n",
        "a CR in a value": "A: b\rc\r\n\r\n",
        "two CRs": "A: b\r\r\n\r\n",
        "a folded line": "A: b\r\n c\r\n\r\n",
        "a folded line after a tab": "A: b\r\n\tc\r\n\r\n",
        "a folded first line": " A: b\r\n\r\n",
        "a space before the colon": "A : b\r\n\r\n",
        "a tab before the colon": "A\t: b\r\n\r\n",
        "no name": ": b\r\n\r\n",
        "no colon": "A\r\n\r\n",
        "NUL in a value": "A: b\0c\r\n\r\n",
        "NUL in a name": "A\0: b\r\n\r\n",
        "DEL in a value": "A: b\u{7F}\r\n\r\n",
        "a tab in a value": "A: b\tc\r\n\r\n",
        "a blank after a value": "A: b \r\n\r\n",
        "two blanks before a value": "A:  b\r\n\r\n",
        "only blanks": "A:   \r\n\r\n",
        "other letters": "A: \u{E9}\u{20AC}\r\n\r\n",
        "other letters in a name": "\u{E9}: b\r\n\r\n",
        "the end of the connection": "Connection: close\r\n\r\n\(plain)",
        "the end in other letters": "cOnNeCtIoN: cLoSe\r\n\r\n\(plain)",
        "more than keep-alive": "Connection: keep-alive, close\r\n\r\n\(plain)",
        "a connection of no kind": "Connection:\r\n\r\n\(plain)",
        "the end for a proxy": "Proxy-Connection: close\r\n\r\n\(plain)",
        "an upgrade": "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n\(plain)",
        "an upgrade without a connection": "Upgrade: h2c\r\n\r\n\(plain)",
        "a body": "Content-Length: 4\r\n\r\nGET \(plain)",
        "a head as a body": "Content-Length: \(plain.utf8.count)\r\n\r\n\(plain)\(plain)",
        "no body": "Content-Length: 0\r\n\r\n\(plain)",
        "two lengths": "Content-Length: 0\r\nContent-Length: 4\r\n\r\nGET \(plain)",
        "a length that is no number": "Content-Length: x\r\n\r\n",
        "a signed length": "Content-Length: +1\r\n\r\n1",
        "a negative length": "Content-Length: -1\r\n\r\n",
        "chunks": "Transfer-Encoding: chunked\r\n\r\n4\r\nGET \r\n0\r\n\r\n\(plain)",
        "chunks in other letters": "tRANSFER-eNCODING: cHUNKED\r\n\r\n4\r\nGET \r\n0\r\n\r\n\(plain)",
        "chunks with trailers": "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n\(plain)",
        "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n\(plain)",
        "another coding": "Transfer-Encoding: identity\r\n\r\n\(plain)",
        "a coding after chunks": "Transfer-Encoding: chunked, gzip\r\n\r\n\(plain)",
        "a coding after a space": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n\(plain)",
        "an expectation": "Expect: 100-continue\r\n\r\n\(plain)",
        "a long name": "\(longName): b\r\n\r\n\(plain)",
    ]

    /// Heads with an unusual first line.
    private static let unusualLines = [
        "bare line feeds": "GET /a HTTP/1.1\nHost: a\n\n",
        "NUL in the target": "GET /\0 HTTP/1.1\r\n\r\n",
        "other letters in the target": "GET /\u{E9} HTTP/1.1\r\n\r\n",
        "the absolute form": "GET http://a/b HTTP/1.1\r\nHost: c\r\n\r\n",
        "the asterisk": "OPTIONS * HTTP/1.1\r\n\r\n",
        "the authority form": "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "a fragment": "GET /a#b HTTP/1.1\r\n\r\n",
        "no target": "GET  HTTP/1.1\r\n\r\n",
        "a relative target": "GET a HTTP/1.1\r\n\r\n",
        "a query alone": "GET ?a HTTP/1.1\r\n\r\n",
        "HTTP/1.0": "GET /a HTTP/1.0\r\nHost: a\r\n\r\n",
        "HTTP/1.0 that stays": "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "HTTP/0.9": "GET /a\r\n\r\n",
        "HTTP/1.2": "GET /a HTTP/1.2\r\n\r\n",
        "HTTP/2.0": "GET /a HTTP/2.0\r\n\r\n",
        "another protocol": "GET /a ICE/1.1\r\n\r\n",
        "small letters": "get /a HTTP/1.1\r\n\r\n",
        "a version in small letters": "GET /a http/1.1\r\n\r\n",
        "two spaces": "GET /a  HTTP/1.1\r\n\r\n",
        "a tab": "GET\t/a HTTP/1.1\r\n\r\n",
        "a space at the end": "GET /a HTTP/1.1 \r\n\r\n",
        "a space first": " GET /a HTTP/1.1\r\n\r\n",
        "an empty line first": "\r\nGET /a HTTP/1.1\r\n\r\n",
        "TLS": "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0",
        "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "POST": "POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    ]

    private static let unusual = unusualLines.merging(unusualFields.mapValues { "GET /a HTTP/1.1\r\n" + $0 }) { $1 }

    @Test(arguments: unusual.sorted { $0.key < $1.key }) func `is read with it if it is unusual`(
        _ name: String,
        input: String
    ) throws {
        // Alone, behind a plain head, and before another one.
        for text in [input, Self.plain + input, input + Self.plain] {
            let fast = try Self.compareAll(text)
            let isFirst = text.hasPrefix(input)
            #expect(fast.service.requests == 0 || fast.service.decoded > 0 || !isFirst, "\(name)")
            #expect(isFirst || fast.service.requests - fast.service.decoded >= 1, "\(name)")
        }
    }

    @Test func `has every byte at every position as with it`() throws {
        let head = Array("GET /ab HTTP/1.1\r\nAb: c d\r\nE:f\r\n\r\n".utf8)
        for index in head.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = head
                changed[index] = byte
                try Self.compare([changed + Array(Self.plain.utf8)])
                changed = head
                changed.insert(byte, at: index)
                try Self.compare([changed, Array(Self.plain.utf8)])
            }
        }
    }

    // MARK: Limits

    @Test func `is refused at the same size and number of fields`() throws {
        for size in 470...530 {
            try Self.compareAllOf(["GET /\(String(repeating: "a", count: size)) HTTP/1.1\r\nA: b\r\n\r\n"])
            try Self.compareAllOf(["GET / HTTP/1.1\r\nA: \(String(repeating: "a", count: size))\r\n\r\n"])
            let half = String(repeating: "a", count: size)
            try Self.compareAllOf(["GET / HTTP/1.1\r\nA: \(half)\r\nB: \(half)\r\n\r\n"])
        }
        for count in 14...18 {
            let fields = (0..<count).map { "X\($0): \($0)\r\n" }.joined()
            let fast = try Self.compareAll("GET / HTTP/1.1\r\n\(fields)\r\n")
            #expect(fast.service.requests == (count <= 16 ? 1 : 0))
            #expect(fast.service.decoded == 0)
        }
    }

    /// Compares inputs in one piece, and in pieces of 100 bytes.
    private static func compareAllOf(_ inputs: [String]) throws {
        for input in inputs {
            let bytes = Array(input.utf8)
            try compare([bytes])
            try compare(stride(from: 0, to: bytes.count, by: 100).map { Array(bytes[$0..<min($0 + 100, bytes.count)]) })
        }
    }

    // MARK: The connection

    @Test func `is read without it again after an unusual one`() throws {
        let unusual = "GET /a HTTP/1.1\r\nA:\tb\r\n\r\n"
        let fast = try Self.compare(
            [Self.plain, unusual, Self.plain, unusual + Self.plain, Self.plain].map { Array($0.utf8) }
        )
        #expect((fast.service.requests, fast.service.decoded) == (6, 3))
        // In pieces, the end is not certain before it comes alone.
        let pieces = try Self.compare((unusual + Self.plain).utf8.map { [$0] })
        #expect((pieces.service.requests, pieces.service.decoded) == (2, 2))
    }

    @Test func `is the last one when the listener shuts down`() throws {
        for input in Self.plainInputs {
            let bytes = Array(input.utf8)
            for index in 1..<bytes.count {
                let fast = try Self.compare([Array(bytes[..<index]), Array(bytes[index...])], isDraining: true)
                // The only answer is written after the shutdown has begun.
                guard Self.requests(in: input) == 1 else { continue }
                #expect(fast.lines("Connection: ") == ["close"])
            }
        }
    }

    @Test func `waits for the answer before it`() throws {
        let input = Array(String(repeating: Self.plain, count: 5).utf8)
        for timing in EchoingService.Timing.allCases {
            for size in [1, 7, Self.plain.utf8.count, 100, input.count] {
                let pieces = stride(from: 0, to: input.count, by: size).map {
                    Array(input[$0..<min($0 + size, input.count)])
                }
                let fast = try Self.compare(pieces, timing: timing)
                #expect(fast.lines("X-Asked: ").map { $0.dropFirst().prefix(1) } == ["1", "2", "3", "4", "5"])
            }
        }
    }

    @Test func `is the same as with it for every input that fuzzing kept`() throws {
        let folder = "\(repository)/fuzz/corpus/http"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count > 100)
        for name in names {
            // The first two bytes choose a service and a split.
            let input = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")).dropFirst(2))
            guard !input.isEmpty else { continue }
            for timing in EchoingService.Timing.allCases {
                try Self.compare([input], timing: timing)
                try Self.compare(input.map { [$0] }, timing: timing)
            }
        }
    }

    @Test func `is the same as with it in random mixtures and pieces`() throws {
        var random = SplitMix64(seed: 20_261_122)
        let parts = Self.plainInputs + Self.unusual.values.sorted()
        for _ in 0..<3000 {
            var input = (0..<Int.random(in: 1...4, using: &random)).flatMap { _ in
                Array(parts[Int.random(in: 0..<parts.count, using: &random)].utf8)
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<input.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: input[index] = UInt8.random(in: .min ... .max, using: &random)
                case 1: input.insert(Array("\r\n \t:\0aA".utf8)[Int.random(in: 0..<8, using: &random)], at: index)
                default: input.remove(at: index)
                }
            }
            var (pieces, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], input[...])
            while !rest.isEmpty {
                let size = Int.random(in: 1...200, using: &random)
                pieces.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            try Self.compare(pieces, timing: EchoingService.Timing.allCases.randomElement(using: &random) ?? .atOnce)
        }
    }
}
