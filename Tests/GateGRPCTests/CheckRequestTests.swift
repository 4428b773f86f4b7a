// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import NIOCore
import Testing

@testable import GateGRPC

/// The messages of Envoy, written as its definition has them.
@Suite struct `A request to check` {
    /// The fields of `attributes.request.http`.
    static func message(_ http: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.write(field: 1) { attributes in
            attributes.write(field: 1) { $0.write("10.0.0.1", field: 1) }
            attributes.write(field: 4) { request in
                request.write(field: 1) { $0.write(1_763_000_000, field: 1) }
                request.write(field: 2, http)
            }
        }
        return writer.bytes
    }

    /// Writes a header field: as an entry of `headers`, or of `header_map` with its raw bytes.
    static func write(_ name: String, value: String, raw: Bool = false, into http: inout ProtobufWriter) {
        let entry = { (entry: inout ProtobufWriter) in
            entry.write(name, field: 1)
            entry.write(value, field: raw ? 3 : 2)
        }
        if raw { http.write(field: 13) { $0.write(field: 1, entry) } } else { http.write(field: 3, entry) }
    }

    private static let whole = message { http in
        http.write("id", field: 1)
        http.write("GET", field: 2)
        for (name, value) in [(":path", "/a?b=c"), ("cookie", "d=e"), ("x-empty", "")] {
            write(name, value: value, into: &http)
        }
        http.write("/a?b=c", field: 4)
        http.write("example:8443", field: 5)
        http.write("https", field: 6)
        http.write(300, field: 9)
    }

    @Test func `has the facts of the client's request, and no pseudo header fields`() throws {
        let request = try #require(CheckRequest(Self.whole))
        #expect(request.method == "GET" && request.path == "/a?b=c" && request.host == "example:8443")
        #expect(request.headers == [.init(name: "cookie", value: "d=e"), .init(name: "x-empty", value: "")])
    }

    @Test func `separates repeated header fields, if they are raw`() throws {
        let message = Self.message { http in
            http.write("GET", field: 2)
            http.write("/", field: 4)
            http.write(field: 13) { map in
                for value in ["a", "b"] {
                    map.write(field: 1) { entry in
                        entry.write("x-media-token", field: 1)
                        entry.write(value, field: 3)
                    }
                }
            }
        }
        #expect(CheckRequest(message)?.headers.map(\.value) == ["a", "b"])
    }

    private static func bad(_ http: (inout ProtobufWriter) -> Void) -> [UInt8] {
        message { writer in
            writer.write("GET", field: 2)
            writer.write("/", field: 4)
            http(&writer)
        }
    }

    private static let faults: [(name: String, message: [UInt8])] = [
        ("nothing", []), ("no attributes", [0x12, 0]), ("no request", [0x0A, 0]), ("no fields", message { _ in }),
        ("no path", message { $0.write("GET", field: 2) }), ("no method", message { $0.write("/", field: 4) }),
        ("two methods", bad { $0.write("PUT", field: 2) }), ("two paths", bad { $0.write("/b", field: 4) }),
        ("two requests", whole + whole), ("an end within a field", Array(whole.dropLast())),
        ("a length of 2⁶³", [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
        ("a number of 11 bytes", [0x08] + Array(repeating: 0xFF, count: 10) + [1]),
        ("field 0", [0x02, 0]), ("a group", [0x0B, 0x0C]), ("a number as attributes", [0x08, 1]),
        ("a path that is not UTF-8", [0x0A, 0x0A, 0x22, 0x08, 0x12, 0x06, 0x12, 0x01, 0x47, 0x22, 0x01, 0xFF]),
        ("a header field without a name", bad { write("", value: "a", into: &$0) }),
        ("a name that is not ASCII", bad { write("\u{E9}", value: "a", into: &$0) }),
        ("a name with a space", bad { write("a b", value: "a", raw: true, into: &$0) }),
        ("a line break", bad { write("a", value: "b\r\nc: d", into: &$0) }),
        ("a NUL", bad { write("a", value: "\0", raw: true, into: &$0) }),
        (
            "fields in both forms",
            bad { http in for raw in [false, true] { write("a", value: "b", raw: raw, into: &http) } }
        ),
        ("two lists", bad { http in for name in ["a", "b"] { write(name, value: "b", raw: true, into: &http) } }),
        ("too many fields", bad { http in for number in 0...256 { write("a\(number)", value: "b", into: &http) } }),
    ]

    @Test(arguments: faults.indices) func `is refused if it is ambiguous or no message`(row: Int) {
        #expect(CheckRequest(Self.faults[row].message) == nil, "\(Self.faults[row].name)")
    }

    /// Any bytes give a request or none.
    @Test func `may be changed in any way`() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<20_000 {
            var message = Self.whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<message.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: message[index] = UInt8.random(in: 0...255, using: &random)
                case 1: message.removeSubrange(index..<min(message.count - 1, index + 3))
                default: message.insert(UInt8.random(in: 0...255, using: &random), at: index)
                }
            }
            if let request = CheckRequest(message) { #expect(!request.path.isEmpty && !request.method.isEmpty) }
        }
    }
}

@Suite struct `An answer to a check` {
    @Test func `always reports its status`() {
        #expect(CheckAnswer.allow(.init()).message == [0x0A, 0, 0x1A, 0])
        let denied = CheckAnswer.deny(.init(status: 403, headers: [], body: "")).message
        #expect(denied == [0x0A, 2, 8, 7, 0x12, 5, 0x0A, 3, 8, 0x93, 3])
        #expect(CheckAnswer.deny(.init(status: 401, headers: [], body: "a")).message[..<4] == [0x0A, 2, 8, 16])
    }

    @Test func `sets and adds header fields`() {
        var allowance = CheckAnswer.Allowance()
        allowance.set = [.init(name: "a", value: "b")]
        allowance.removed = ["c"]
        allowance.added = [.init(name: "d", value: "e", isRepeatable: true)]
        allowance.removedParameters = ["f"]
        // header: { key, value }, and append_action: 2 to replace.
        let replacing: [UInt8] = [0x12, 10, 0x0A, 6, 0x0A, 1, 97, 0x12, 1, 98, 0x18, 2]
        let appending: [UInt8] = [0x32, 8, 0x0A, 6, 0x0A, 1, 100, 0x12, 1, 101]
        let ok = replacing + [0x2A, 1, 99] + appending + [0x42, 1, 102]
        #expect(CheckAnswer.allow(allowance).message == [0x0A, 0, 0x1A, UInt8(ok.count)] + ok)
    }
}

@Suite struct `A peer of the gRPC listener` {
    @Test(
        arguments: [
            ("ipv4:127.0.0.1:80", "127.0.0.1", 80), ("ipv6:[::1]:443", "::1", 443), ("ipv6:::1", nil, nil),
            ("ipv4:a:1", nil, nil),
            ("ipv4:127.0.0.1", nil, nil), ("ipv4:127.0.0.1:70000", nil, nil), ("<unknown>", nil, nil), ("", nil, nil),
        ] as [(String, String?, Int?)]
    ) func `has an address`(text: String, host: String?, port: Int?) {
        let address = GRPCPeer.address(text)
        #expect(address?.ipAddress == host && address?.port == port)
    }

    @Test func `of a unix socket has no number`() {
        guard case .unixDomainSocket = GRPCPeer.address("unix:/run/a.sock") else {
            Issue.record("no unix socket")
            return
        }
    }
}
