// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@Suite struct `A switch` {
    @Test(
        "is refused with its name",
        arguments: [
            ("[]", "must be an object"), ("{", "must be a JSON object"), (#"{"nonsense":true}"#, "nonsense"),
            (#"{"wrongKey":1}"#, "wrongKey: must be true or false"), (#"{"clockSkew":"soon"}"#, "clockSkew"),
            (#"{"faults":[{"code":"network_received_error"}]}"#, "on: is missing"),
            (#"{"faults":[{"on":"lunch","status":503}]}"#, "on: must be one of"),
            (#"{"faults":[{"on":"token"}]}"#, "has no effect"),
            (#"{"faults":[{"on":"token","status":200}]}"#, "status: must be a whole number from 400 to 599"),
            (#"{"faults":[{"on":"token","status":503,"body":"x"}]}"#, "a fault has one effect"),
            (#"{"faults":[{"on":"token","code":"made_up"}]}"#, "made_up is not a service code"),
            (#"{"faults":[{"on":"any","code":"network_error"}]}"#, "network_error is not a service code"),
            (#"{"faults":[{"on":"authorize","code":"invalid_client"}]}"#, "only for register and token"),
            (#"{"faults":[{"on":"mvpd","status":503}]}"#, "a fault of mvpd must have a code"),
            (#"{"faults":[{"on":"mvpd","code":"invalid_requestor"}]}"#, "must have a code of one resource"),
            (#"{"throttling":{"speed":1}}"#, "speed"), (#"{"denied":"TNT"}"#, "denied: must be a list"),
            (#"{"degradation":[{"requestor":"REF30","mvpd":"X","rule":"authNAll"}]}"#, "mvpd: unknown MVPD X"),
            (#"{"degradation":[{"requestor":"REF30","mvpd":"DTV","rule":"x"}]}"#, "rule: must be one of authNAll"),
        ]
    )
    func refused(body: String, message: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let before = try sandbox.get("/sandbox/control").body
            let answer = try sandbox.control(body)
            #expect(answer.status == 400)
            #expect((answer.json["message"] as? String)?.contains(message) ?? false, "\(answer.body)")
            #expect(try sandbox.get("/sandbox/control").body == before)
        }
    }

    @Test func `is reported as it was set, and put back`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let before = try sandbox.get("/sandbox/control").body
            let set = """
                {"faults":[{"on":"authorize","code":"network_received_error","details":"d","times":2},\
                {"on":"login","delay":"500ms"}],"wrongKey":true,"clockSkew":"-1h","malformedTokens":true,\
                "throttling":{"rate":2,"burst":3},"denied":["TNT"],\
                "degradation":[{"requestor":"REF30","mvpd":"DTV","rule":"authZNone"}]}
                """
            #expect(try sandbox.control(set).status == 204)
            #expect(try sandbox.get("/sandbox/control").body == set)
            #expect(try sandbox.send("DELETE", path: "/sandbox/control").status == 204)
            #expect(try sandbox.get("/sandbox/control").body == before)
        }
    }

    @Test func `is for this machine, by its own name, and for no page of another origin`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            for host in [
                "evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "localhost.x",
            ] {
                #expect(try sandbox.send("GET", path: "/sandbox/control", host: host).status == 421, "\(host)")
            }
            for name in ["X-Forwarded-For", "Forwarded", "x-forwarded-for"] {
                #expect(try sandbox.get("/sandbox/control", headers: [name: "for=127.0.0.1"]).status == 403)
                #expect(
                    try sandbox.json(to: "/sandbox/control", body: "{}", headers: [name: "127.0.0.1"]).status == 403
                )
            }
            for host in ["localhost", "localhost:1", "127.0.0.2:8070", "[::1]:8070", "LOCALHOST"] {
                #expect(try sandbox.send("GET", path: "/sandbox/control", host: host).status == 200, "\(host)")
            }
            for (origin, status) in [("http://evil.example", 403), ("null", 403), (sandbox.url, 200)] {
                #expect(try sandbox.get("/sandbox/control", headers: ["Origin": origin]).status == status)
            }
            #expect(try sandbox.json(to: "/sandbox/control", body: "{}", headers: ["Origin": "null"]).status == 403)
            #expect(try sandbox.send("DELETE", path: "/sandbox/control", host: "evil.example").status == 421)
        }
    }

    @Test(
        "spoils media tokens",
        arguments: [
            (#"{"wrongKey":true}"#, VerificationStatus.invalidSignature),
            (#"{"malformedTokens":true}"#, .invalidTokenFormat), (#"{"clockSkew":"-1h"}"#, .tokenExpired),
            (#"{"clockSkew":"1h"}"#, .tokenExpired), (#"{"clockSkew":"-1m"}"#, .validToken),
        ]
    )
    func tokens(control: String, status: VerificationStatus) async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            try sandbox.control(control)
            let token = try #require(try device.token(for: "TNT"))
            #expect(try sandbox.verify(token, resource: "TNT").status == status)
            _ = try sandbox.send("DELETE", path: "/sandbox/control")
            #expect(try sandbox.verify(try #require(try device.token(for: "TNT")), resource: "TNT").isValid)
        }
    }

    @Test(
        "makes one operation fail, as often as told",
        arguments: [
            ("register", "/o/client/register"), ("token", "/o/client/token"), ("regcode", "/reggie/v1/REF30/regcode"),
            ("sessions", "/api/v2/REF30/sessions"),
            ("preauthorize", "/api/v2/REF30/decisions/preauthorize/SandboxMVPD"),
            ("authorize", "/api/v2/REF30/decisions/authorize/SandboxMVPD"), ("login", "/sandbox/idp/login"),
            ("mediaToken", "/adobe-services/shortAuthorize"),
        ]
    )
    func fails(operation: String, path: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            try sandbox.control(#"{"faults":[{"on":"\#(operation)","status":503,"times":2}]}"#)
            let other = operation == "register" ? "/o/client/token" : "/o/client/register"
            #expect(try sandbox.json(to: other, body: "{}").status == 400)
            for expected in [true, true, false] {
                #expect((try sandbox.form(to: path, fields: [:]).status == 503) == expected)
            }
        }
    }

    @Test(
        "makes what is only read fail",
        arguments: [
            ("configuration", "/api/v1/config/REF30"), ("authenticate", "/api/v2/authenticate/REF30/ABCDEFG"),
            ("profiles", "/api/v2/REF30/profiles"), ("userMetadata", "/api/v1/tokens/usermetadata"),
            ("logout", "/adobe-services/logout"), ("any", "/api/v1/checkauthn"),
        ]
    )
    func failsToRead(operation: String, path: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            try sandbox.control(#"{"faults":[{"on":"\#(operation)","body":"{\"half\":","times":1}]}"#)
            let answer = try sandbox.get(path)
            #expect(answer.status == 200)
            #expect(answer.body == #"{"half":"#)
            #expect(try sandbox.get(path).body != #"{"half":"#)
        }
    }

    @Test func `answers with a word of registration`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            try sandbox.control(#"{"faults":[{"on":"token","code":"unauthorized_client","times":1}]}"#)
            let answer = try sandbox.form(to: "/o/client/token", fields: [:])
            #expect(answer.status == 400)
            #expect(answer.json["error"] as? String == "unauthorized_client")
        }
    }

    @Test func `closes the connection`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            try sandbox.control(#"{"faults":[{"on":"configuration","close":true,"times":1}]}"#)
            let connection = try HTTPConnection(sandbox.address)
            try connection.sendRequest("GET", path: "/api/v1/config/REF30", host: sandbox.address)
            #expect(connection.isClosedByPeer())
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
        }
    }

    /// If the service waited for stalled clients, this would last a day.
    @Test func `delays a client, and not the end of the service`() async throws {
        let connections = try await InProcessSandbox.with(patience: .seconds(86_400)) { (sandbox) throws in
            let stall = #"{"faults":[{"on":"configuration","stall":true,"times":1}]}"#
            try sandbox.control(stall)
            let connection = try HTTPConnection(sandbox.address)
            try connection.sendRequest("GET", path: "/api/v1/config/REF30", host: sandbox.address)
            // The service handles the request once the fault is gone.
            #expect(eventually { (try? sandbox.get("/sandbox/control"))?.list("faults").isEmpty == true })
            try sandbox.control(stall)
            // The service does not wait for a client that disconnects either.
            try HTTPConnection(sandbox.address).sendRequest("GET", path: "/api/v1/config/REF30", host: sandbox.address)
            #expect(try sandbox.get("/sandbox/keys").status == 200)
            return Waiting(connection: connection)
        }
        _ = connections
    }

    @Test func `of no kind is needed to end the service while half a request has come`() async throws {
        let connections = try await InProcessSandbox.with(patience: .seconds(1)) { (sandbox) throws in
            let connection = try HTTPConnection(sandbox.address)
            #expect(try connection.request("GET", path: "/sandbox/keys", host: sandbox.address).status == 200)
            try connection.send(
                "POST /o/client/token HTTP/1.1\r\nHost: \(sandbox.address)\r\nContent-Length: 10\r\n\r\nhalf"
            )
            #expect(try sandbox.get("/sandbox/keys").status == 200)
            return Waiting(connection: connection)
        }
        _ = connections
    }

    private struct Waiting: @unchecked Sendable { let connection: HTTPConnection }

    @Test func `delays an answer that comes then`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            try sandbox.control(#"{"faults":[{"on":"configuration","delay":"20ms","times":1}]}"#)
            let start = ContinuousClock.now
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
            // A lower bound holds on the slowest machine too.
            #expect(ContinuousClock.now - start >= .milliseconds(20))
        }
    }

    @Test func `throttles each device by itself`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let bearer = try sandbox.bearer()
            // Throttling is off by default.
            for _ in 0..<30 { #expect(try sandbox.get("/api/v1/config/REF30").status == 200) }
            try sandbox.control(#"{"throttling":{"rate":1,"burst":10}}"#)
            for _ in 0..<10 { #expect(try sandbox.get("/api/v1/config/REF30").status == 200) }
            let answer = try sandbox.get("/api/v1/config/REF30")
            #expect(answer.status == 429)
            #expect(answer.headers["content-type"] == "text/html")
            #expect(answer.headers["access-control-allow-headers"]?.contains("AP-Device-Identifier") ?? false)
            #expect(answer.headers["access-control-expose-headers"]?.hasPrefix("pass_sfp,Authzf-Error-Code") ?? false)
            let forwarded = ["X-Forwarded-For": "203.0.113.7, 10.0.0.1"]
            // The service accepts the forwarded address of an authenticated server only.
            #expect(try sandbox.get("/api/v1/config/REF30", headers: forwarded).status == 429)
            let stranger = ["Authorization": "Bearer nobody"]
            #expect(try sandbox.get("/api/v1/config/REF30", headers: forwarded.merging(stranger) { $1 }).status == 429)
            let known = ["Authorization": "Bearer \(bearer)"]
            #expect(try sandbox.get("/api/v1/config/REF30", headers: forwarded.merging(known) { $1 }).status == 200)
            sandbox.advance(seconds: 1)
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
            #expect(try sandbox.get("/api/v1/config/REF30").status == 429)
            // Pages and control requests of the sandbox's user are not throttled.
            #expect(try sandbox.get("/sandbox.css").status == 200)
            #expect(try sandbox.get("/sandbox/control").status == 200)
        }
    }
}
