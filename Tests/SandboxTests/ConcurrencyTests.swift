// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@Suite struct `Concurrency Monitoring` {
    private static let application = ["Authorization": "Basic \(Data("demo-app:".utf8).base64EncodedString())"]

    private static func start(
        in sandbox: InProcessSandbox,
        subject: String = "household-1",
        fields: [String: String] = ["channel": "TNT"],
        ending code: String? = nil
    ) throws -> HTTPConnection.Response {
        var headers = application
        headers["X-Terminate"] = code
        return try sandbox.form(to: "/v2/sessions/SandboxMVPD/\(subject)", fields: fields, headers: headers)
    }

    private static func call(
        _ sandbox: InProcessSandbox,
        method: String,
        path: String
    ) throws -> HTTPConnection.Response { try sandbox.send(method, path: path, headers: application) }

    @Test func `counts the streams of a household, whoever watches`() async throws {
        try await InProcessSandbox.withDevice(user: "carol") { (sandbox, device) throws in
            let token = try #require(try device.token(for: "TNT"))
            let guid = try #require(try sandbox.verify(token, resource: "TNT").token?.userSessionGUID)
            let first = try Self.start(in: sandbox)
            #expect(first.status == 202)
            #expect(first.location.count == 36)
            #expect(first.headers["expires"] == "Thu, 02 Jan 2031 10:05:05 GMT")
            #expect(try Self.start(in: sandbox, subject: guid).status == 202)
            let third = try Self.start(in: sandbox, subject: "user-carol")
            #expect(third.status == 409)
            let advice = try #require(third.list("associatedAdvice").first)
            #expect(advice["type"] as? String == "rule-violation")
            #expect(advice["threshold"] as? Int == 2)
            let conflicts = try #require(advice["conflicts"] as? [String: [[String: Any]]])
            #expect(conflicts.count == 2)
            let conflict = try #require(conflicts[first.location]?.first)
            #expect(conflict["channel"] as? String == "TNT")
            #expect(conflict["applicationName"] as? String == "demo-app")
            #expect(conflict["startedAt"] as? String == "2031-01-02T10:04:05Z")
            // Another household has its own limit.
            #expect(try Self.start(in: sandbox, subject: "household-2").status == 202)
            #expect(try Self.start(in: sandbox, subject: "somebody").status == 202)
            let running = try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1")
            #expect(running.list("runningStreams").count == 2)
            #expect(running.headers["expires"] == "Thu, 02 Jan 2031 10:05:35 GMT")
        }
    }

    @Test func `ends a stream for another, which says who`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let first = try Self.start(in: sandbox)
            _ = try Self.start(in: sandbox)
            let refused = try Self.start(in: sandbox)
            let conflicts = refused.list("associatedAdvice").first?["conflicts"] as? [String: [[String: Any]]]
            let code = try #require(conflicts?[first.location]?.first?["terminationCode"] as? String)
            #expect(try Self.start(in: sandbox, ending: "ffffffff").status == 409)
            #expect(try Self.start(in: sandbox, subject: "household-2", ending: code).status == 202)
            #expect(try Self.start(in: sandbox, ending: code).status == 202)
            let path = "/v2/sessions/SandboxMVPD/household-1/\(first.location)"
            for method in ["POST", "DELETE"] {
                let gone = try Self.call(sandbox, method: method, path: path)
                #expect(gone.status == 410)
                #expect(gone.list("associatedAdvice").first?["type"] as? String == "remote-termination")
            }
            let running = try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1")
            let superseded = running.list("runningStreams").compactMap {
                ($0["metadata"] as? [String: String])?["superseded"]
            }
            #expect(superseded == [code])
        }
    }

    @Test func `lets no more in where many come at once`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answers = try concurrently(20) { _ in try Self.start(in: sandbox) }
            #expect(answers.filter { $0.status == 202 }.count == 2)
            #expect(answers.filter { $0.status == 409 }.count == 18)
        }
    }

    /// A clock that goes back simulates a heartbeat that was read before the end was written.
    @Test func `brings nothing back that was ended, and loses no metadata`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let path = "/v2/sessions/SandboxMVPD/household-1/\(try Self.start(in: sandbox).location)"
            let answers = try concurrently(20) {
                try Self.call(sandbox, method: "POST", path: "\(path)?name\($0)=\($0)")
            }
            #expect(answers.allSatisfy { $0.status == 202 })
            let running = try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1")
            let metadata = running.list("runningStreams").first?["metadata"] as? [String: String]
            #expect(metadata?.count == 21)
            #expect(try Self.call(sandbox, method: "DELETE", path: path).status == 202)
            sandbox.advance(seconds: -10)
            #expect(try Self.call(sandbox, method: "POST", path: path).status == 410)
            let after = try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1")
            #expect(after.list("runningStreams").isEmpty)
        }
    }

    @Test func `accepts no more metadata than a stream can need`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            func fields(_ range: Range<Int>) -> [String: String] {
                Dictionary(uniqueKeysWithValues: range.map { ("name\($0)", "1") })
            }
            let long = String(repeating: "x", count: 257)
            for refused in [fields(0..<65), ["name": long], [long: "value"]] {
                #expect(try Self.start(in: sandbox, subject: "household-1", fields: refused).status == 400)
            }
            let stream = try Self.start(in: sandbox, subject: "household-1", fields: fields(0..<64))
            #expect(stream.status == 202)
            let path = "/v2/sessions/SandboxMVPD/household-1/\(stream.location)"
            #expect(try Self.call(sandbox, method: "POST", path: "\(path)?name0=2").status == 202)
            #expect(try Self.call(sandbox, method: "POST", path: "\(path)?name64=1").status == 400)
        }
    }

    @Test func `ends what is not heard of for 90 seconds`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let stream = try Self.start(in: sandbox).location
            let path = "/v2/sessions/SandboxMVPD/household-1/\(stream)"
            sandbox.advance(seconds: 89)
            #expect(try Self.call(sandbox, method: "POST", path: "\(path)?channel=CNN&show=Friends").status == 202)
            let running = try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1")
            // An existing value is kept; a new name is added.
            #expect(
                running.list("runningStreams").first?["metadata"] as? [String: String]
                    == ["channel": "TNT", "show": "Friends"]
            )
            sandbox.advance(seconds: 89)
            #expect(try Self.call(sandbox, method: "POST", path: path).status == 202)
            sandbox.advance(seconds: 90)
            let gone = try Self.call(sandbox, method: "POST", path: path)
            #expect(gone.status == 410)
            #expect(gone.body.isEmpty)
            #expect(try Self.call(sandbox, method: "DELETE", path: path).status == 410)
            #expect(
                try Self.call(sandbox, method: "GET", path: "/v2/runningStreams/SandboxMVPD/household-1").json[
                    "otherStreams"
                ] as? Int
                    == 0
            )
            let other = try Self.start(in: sandbox).location
            #expect(
                try Self.call(sandbox, method: "DELETE", path: "/v2/sessions/SandboxMVPD/household-1/\(other)").status
                    == 202
            )
            #expect(
                try Self.call(sandbox, method: "DELETE", path: "/v2/sessions/SandboxMVPD/household-1/\(other)").status
                    == 410
            )
        }
    }

    @Test func `wants its metadata, its application and what exists`() async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "concurrency: { limit: 2, strategy: rejectNew }",
            with: "concurrency: { limit: 1, strategy: evictOldest, requiredMetadata: [channel] }"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            #expect(try Self.call(sandbox, method: "GET", path: "/v2/metadata").body == #"["channel"]"#)
            let missing = try Self.start(in: sandbox, subject: "household-1", fields: [:])
            #expect(missing.status == 400)
            #expect(
                missing.body
                    == #"{"associatedAdvice":[],"obligations":{"namespace":"adobe.primetime.cm","action":"refresh","arguments":["channel"]}}"#
            )
            #expect(
                try sandbox.form(to: "/v2/sessions/SandboxMVPD/household-1", fields: ["channel": "TNT"]).status == 401
            )
            #expect(
                try Self.call(sandbox, method: "POST", path: "/v2/sessions/Nobody/household-1?channel=TNT").status
                    == 404
            )
            #expect(
                try Self.call(sandbox, method: "POST", path: "/v2/sessions/SandboxMVPD/household-1/none").status == 404
            )
            // The newest stream starts, and the oldest is ended.
            let first = try Self.start(in: sandbox).location
            let second = try Self.start(in: sandbox).location
            #expect(
                try Self.call(sandbox, method: "POST", path: "/v2/sessions/SandboxMVPD/household-1/\(first)").status
                    == 410
            )
            #expect(
                try Self.call(sandbox, method: "POST", path: "/v2/sessions/SandboxMVPD/household-1/\(second)").status
                    == 202
            )
        }
    }
}
