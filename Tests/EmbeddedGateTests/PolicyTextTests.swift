// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import GateTestSupport
import Platform
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

@Suite("Policies as text")
struct PolicyTextTests {
    private static func open(_ text: String) -> (result: Int32, error: playgate_error) {
        var policy: OpaquePointer?
        var error = playgate_error()
        let bytes = text.utf8.map { CChar(bitPattern: $0) }
        let now = EmbeddedSample.time.millisecondsSince1970
        let result = playgate_policy_open(bytes, bytes.count, now, &policy, &error)
        playgate_policy_release(policy)
        return (result, error)
    }

    @Test("A policy that was written is read as the same policy")
    func roundTrip() throws {
        let written = try EmbeddedSample().document().json()
        let read = try EdgeBundle(written.span, at: EmbeddedSample.time)
        #expect(String(decoding: read.json(), as: UTF8.self) == String(decoding: written, as: UTF8.self))
    }

    @Test("A fault is told with its line")
    func lines() throws {
        let text = String(decoding: try EmbeddedSample().document().json(), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let entry = try #require(lines.firstIndex { $0.contains("\"/segments/\"") })
        for (from, to, sentence) in [
            ("\"admits\":\"ttl\"", "\"admits\":\"always\"", "admits: is not known here"),
            ("\"admits\":", "\"admit\":", "admit: unknown member"),
            ("\"/segments/\"", "\"segments\"", "must begin with /"),
            ("\"requestor\":\"REF30\"", "\"requestor\":3", "requestor: must be a string"), ("{", "", "this is no JSON"),
        ] {
            var changed = lines.map(String.init)
            changed[entry] = changed[entry].replacing(from, with: to, maxReplacements: 1)
            let (result, error) = Self.open(changed.joined(separator: "\n"))
            #expect(result == PLAYGATE_E_POLICY)
            #expect(error.line == UInt32(entry + 1), "\(error.sentence)")
            #expect(error.column > 0)
            #expect(error.sentence.contains(sentence), "\(error.sentence)")
        }
    }

    @Test("Another version has a result of its own")
    func version() throws {
        let text = String(decoding: try EmbeddedSample().document().json(), as: UTF8.self)
        #expect(Self.open(text.replacing("\"version\": 1", with: "\"version\": 2")).result == PLAYGATE_E_VERSION)
        #expect(Self.open(text.replacing("\"version\": 1,", with: "")).result == PLAYGATE_E_POLICY)
    }

    @Test("A part of a policy is none, nor is any beginning of one")
    func parts() throws {
        let document = try EmbeddedSample().document()
        #expect(Self.open(String(decoding: document.json(parts: [.keys]), as: UTF8.self)).result == PLAYGATE_E_POLICY)
        let text = document.json()
        for length in stride(from: 1, to: text.count - 2, by: 17) {
            let (result, error) = Self.open(String(decoding: text[..<length], as: UTF8.self))
            #expect(result == PLAYGATE_E_POLICY)
            #expect(error.line > 0)
        }
    }

    @Test("No error tells a secret")
    func secrets() throws {
        let text = String(decoding: try EmbeddedSample().document().json(), as: UTF8.self)
        let secret = try #require(text.firstRange(of: "\"secret\":\"")).upperBound
        let value = text[secret...].prefix { $0 != "\"" }
        for other in [value.dropLast(30) + "", value + "*"] {
            let error = Self.open(text.replacing(value, with: other)).error
            #expect(!error.sentence.contains(value.prefix(8)))
            #expect(error.line > 0)
        }
    }
}
