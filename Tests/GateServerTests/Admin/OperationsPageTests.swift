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

/// Pages of the reference name what the gate has.
@Suite struct `The pages of the reference` {
    private static func page(_ name: String) throws -> String {
        try String(contentsOfFile: "\(repository)/docs/\(name).md", encoding: .utf8)
    }
    private static let document = Result {
        try String(contentsOfFile: "\(repository)/Sources/GateAPI/openapi.yaml", encoding: .utf8)
    }

    @Test func `has every code, with its status and action`() throws {
        let page = try Self.page("reference/codes")
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
        for code in DenyCode.allCases {
            let facts = "| \(code.status.code) | \(code.action.rawValue) |"
            let line = lines.first { $0.contains("`\(code.rawValue)`") && $0.contains(facts) }
            #expect(line != nil, "\(code.rawValue) \(facts)")
        }
        for fault in APIFault.allCases {
            #expect(page.contains("`\(fault.rawValue)`"), "\(fault.rawValue)")
        }
    }

    @Test func `has every scope`() throws {
        // Those of the operator page stand with its keys.
        let admin = try Self.page("how-to/operator-page")
        for scope in Scope.ofAdmin { #expect(admin.contains("`\(scope.rawValue)`"), "\(scope.rawValue)") }
        let page = try Self.page("reference/api")
        for scope in Scope.ofAPI {
            #expect(page.contains("| \(scope.rawValue) | "), "\(scope.rawValue)")
            #expect(try Self.document.get().contains("Requires the scope \(scope.rawValue)"), "\(scope.rawValue)")
        }
    }

    @Test func `has every metric`() async throws {
        let secret = String(repeating: "A", count: 44)
        let configuration = RunningGate.configuration(
            """
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
            let page = try Self.page("reference/metrics")
            for name in names { #expect(page.contains("`\(name)"), "\(name)") }
        }
    }
}
