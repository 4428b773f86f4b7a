// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeListener
import Encodings
import Foundation
import GateTestSupport
import NIOHTTP1
import Platform
import PlaybackGate
import Testing

@testable import GateAPI
@testable import GateConfiguration

/// `docs/how-to/operations.md` names what the gate has.
@Suite struct `The page on running the gate` {
    private static let page = Result {
        try String(contentsOfFile: "\(repository)/docs/how-to/operations.md", encoding: .utf8)
    }
    private static let document = Result {
        try String(contentsOfFile: "\(repository)/Sources/GateAPI/openapi.yaml", encoding: .utf8)
    }

    @Test func `has every code, with its status and action`() throws {
        let lines = try Self.page.get().split(separator: "\n").filter { $0.hasPrefix("| ") }
        for code in DenyCode.allCases {
            let facts = "| \(code.status.code) | \(code.action.rawValue) |"
            let line = lines.first { $0.contains("`\(code.rawValue)`") && $0.contains(facts) }
            #expect(line != nil, "\(code.rawValue) \(facts)")
        }
        for fault in APIFault.allCases {
            #expect(try Self.page.get().contains("`\(fault.rawValue)`"), "\(fault.rawValue)")
        }
    }

    @Test func `has every scope`() throws {
        // Those of the operator page stand with its keys.
        for scope in Scope.ofAdmin { #expect(try Self.page.get().contains("`\(scope.rawValue)`"), "\(scope.rawValue)") }
        for scope in Scope.ofAPI {
            #expect(try Self.page.get().contains("| \(scope.rawValue) | "), "\(scope.rawValue)")
            #expect(try Self.document.get().contains("Requires the scope \(scope.rawValue)"), "\(scope.rawValue)")
        }
    }

    @Test func `has every metric`() async throws {
        let secret = String(repeating: "A", count: 44)
        let configuration = RunningGate.configuration(
            """
            verification: { cache: 64 }
            keys: { k1: { secret: \(secret) } }
            grants: { subjectKey: \(secret), profiles: { live: { issuer: playgate, key: k1 } } }
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            traces: { endpoint: "http://127.0.0.1:9/v1/traces" }
            """
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let lines = try gate.admin("GET", path: "/metrics").body.split(separator: "\n").filter {
                $0.hasPrefix("# TYPE ")
            }
            let names = lines.map { String($0.split(separator: " ")[2]) }
            #expect(names.count > 20, "\(names)")
            for name in names { #expect(try Self.page.get().contains("`\(name)"), "\(name)") }
        }
    }

    @Test func `has every key of grants`() throws {
        let folder = try TemporaryFolder()
        let configuration = `A configuration with grants`.Parts(
            keys: "{ k1: { secret: \(String(repeating: "A", count: 44)) } }",
            issuers: "{ issuer: other, keys: [k1] }"
        )
        for name in ["subject.key"] { try folder.write(name, contents: String(repeating: "A", count: 44)) }
        let file = try folder.write("gate.yaml", contents: configuration.text)
        let text = try GateConfiguration(file: file).effective.line
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let page = try Self.page.get()
        var keys: [String] = []
        for section in ["keys", "grants"] { Self.collect(value?[section], into: &keys) }
        #expect(keys.count > 25)
        for key in Set(keys).subtracting(["k1", "live"]) {
            #expect(
                page.contains(".\(key)`") || page.contains(".\(key).") || page.contains(".\(key)[]")
                    || page.contains("`….\(key)"),
                "\(key)"
            )
        }
    }

    private static func collect(_ value: Any?, into keys: inout [String]) {
        if let object = value as? [String: Any] {
            for (key, value) in object {
                keys.append(key)
                collect(value, into: &keys)
            }
        } else if let list = value as? [Any] {
            for value in list { collect(value, into: &keys) }
        }
    }
}
