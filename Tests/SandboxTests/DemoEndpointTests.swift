// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@Suite struct `What anybody may see` {
    @Test(
        "is there, with its type",
        arguments: [
            ("/", "text/html;charset=UTF-8"), ("/demo.js", "text/javascript;charset=UTF-8"),
            ("/sandbox.css", "text/css;charset=UTF-8"), ("/sandbox/demo.json", "application/json;charset=UTF-8"),
            ("/sandbox/keys", "application/x-pem-file"), ("/sandbox/errors", "text/html;charset=UTF-8"),
        ]
    )
    func page(path: String, type: String) async throws {
        try await RunningSandbox.with { (sandbox) throws in
            let answer = try sandbox.get(path)
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == type)
            #expect(answer.headers["playgate-sandbox"] == "stand-in")
        }
    }

    @Test func `of the demo is enough to log in and play`() async throws {
        try await RunningSandbox.with { (sandbox) throws in
            let demo = try sandbox.get("/sandbox/demo.json").json
            #expect(demo["requestor"] as? String == "REF30")
            let items = try #require(demo["items"] as? [[String: Any]])
            #expect(items.count == 6)
            let bearer = try sandbox.bearer(statement: demo["softwareStatement"] as? String ?? "")
            let device = TestDevice(sandbox, "browser", bearer)
            try device.logIn("alice")
            for item in items where item["protected"] as? Bool == true {
                let resource = try #require(item["resource"] as? String)
                #expect(try device.token(resource) != nil, "\(resource)")
            }
        }
    }

    @Test func `inventory G: the certificate is the one that verifies`() async throws {
        try await RunningSandbox.with { (sandbox) throws in
            #expect(try sandbox.get("/sandbox/keys").body == sandbox.keys.certificate)
        }
    }
}
