// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

/// The documented Preauthorize bodies, compared without regard to the order of members and white space.
@Suite struct `The documented body` {
    /// Returns the body in canonical form, without the members that are specific to the sandbox: trace and help.
    private static func plain(_ body: String) throws -> String {
        func plain(_ value: Any) -> Any {
            if let list = value as? [Any] { return list.map(plain) }
            guard var map = value as? [String: Any] else { return value }
            for (name, value) in map { map[name] = plain(value) }
            for name in ["trace", "helpUrl"] where map[name] != nil {
                #expect((map[name] as? String)?.isEmpty == false)
                map[name] = name
            }
            return map
        }
        let value = plain(try JSONSerialization.jsonObject(with: Data(body.utf8)))
        return String(decoding: try JSONSerialization.data(withJSONObject: value, options: .sortedKeys), as: UTF8.self)
    }

    private static func expect(
        _ expected: String,
        user: String = "bob",
        requestor: String = "REF30",
        resources: String = "resource1,resource2,resource3",
        packages: String,
        status: Int = 200,
        without missing: String? = nil
    ) async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "    channels: [TNT, TBS]",
            with: "    channels: [\(packages)]"
        )
        try await InProcessSandbox.withDevice(configuration) { (sandbox, device) throws in
            try device.logIn(user, requestor: requestor)
            let answer = try device.v1(
                "/api/v1/preauthorize",
                parameters: ["resource": resources, "requestor": requestor],
                without: missing
            )
            #expect(answer.status == status)
            #expect(answer.headers["content-type"]?.hasPrefix("application/json") ?? false)
            if status == 200 {
                #expect(answer.headers["adobe-response-confidence"] == "full")
                #expect(answer.headers["adobe-request-id"]?.isEmpty == false)
            }
            #expect(try plain(answer.body) == plain(expected))
        }
    }

    @Test func `inventory 30, 37: all allowed`() async throws {
        try await Self.expect(
            """
            {"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":true},
            {"id":"resource3","authorized":true}]}
            """,
            packages: "resource1, resource2, resource3"
        )
    }

    @Test func `inventory 38: some denied, reporting off`() async throws {
        try await Self.expect(
            """
            {"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":false},
            {"id":"resource3","authorized":true}]}
            """,
            requestor: "QUIET",
            packages: "resource1, resource3"
        )
    }

    @Test func `inventory 39, authorization_denied_by_mvpd: some denied, reporting on`() async throws {
        try await Self.expect(
            """
            {"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":false,
            "error":{"status":403,"code":"authorization_denied_by_mvpd","message":"User not authorized",
            "details":"Your package does not include \\"resource2\\".","helpUrl":"x","trace":"x","action":"none"}},
            {"id":"resource3","authorized":true}]}
            """,
            packages: "resource1, resource3"
        )
    }

    @Test func `inventory 40, bad_request: a parameter missing`() async throws {
        try await Self.expect(
            """
            {"resources":[],"status":{"status":400,"code":"bad_request",
            "message":"Missing required parameter : deviceId","details":"","helpUrl":"x","trace":"x","action":"none"}}
            """,
            packages: "resource1",
            status: 400,
            without: "deviceId"
        )
    }
}
