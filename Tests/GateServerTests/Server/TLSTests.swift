// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

// Certificates of the openssl command line, with curl as the client.
@Suite struct `TLS` {
    private static func run(_ program: String, arguments: [String]) throws -> String {
        guard let path = Program.installed(program) else {
            Issue.record("\(program) is not installed; run scripts/setup test")
            return ""
        }
        let run = try CommandRun(path, arguments: arguments)
        return run.output + run.error
    }

    /// Creates a certificate for localhost that signs itself, and its key.
    private static func create(_ name: String, subject: String, in folder: TemporaryFolder) throws {
        _ = try run(
            "openssl",
            arguments: [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject, "-addext",
                "subjectAltName=DNS:localhost", "-keyout", folder.file("\(name).key"), "-out",
                folder.file("\(name).pem"),
            ]
        )
    }

    /// Creates a server's certificate, and a client's certificate with its authority.
    private static func certificates() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try create("server", subject: "/CN=localhost", in: folder)
        try create("authority", subject: "/CN=authority", in: folder)
        _ = try run(
            "openssl",
            arguments: [
                "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=backend", "-keyout", folder.file("client.key"),
                "-out", folder.file("client.csr"),
            ]
        )
        _ = try run(
            "openssl",
            arguments: [
                "x509", "-req", "-in", folder.file("client.csr"), "-CA", folder.file("authority.pem"), "-CAkey",
                folder.file("authority.key"), "-CAcreateserial", "-days", "2", "-out", folder.file("client.pem"),
            ]
        )
        return folder
    }

    /// The SHA-256 fingerprint of the client's certificate, as openssl prints it.
    private static func fingerprint(_ folder: TemporaryFolder) throws -> String {
        let printed = try run(
            "openssl",
            arguments: ["x509", "-in", folder.file("client.pem"), "-noout", "-fingerprint", "-sha256"]
        )
        return try #require(printed.split(separator: "=").last).filter { !$0.isNewline }
    }

    private static func tls(_ folder: TemporaryFolder) -> String {
        """
        tls: { certificate: "\(folder.file("server.pem"))", key: "\(folder.file("server.key"))", authorities: "\(folder.file("authority.pem"))" }
        """
    }

    @Test func `is spoken by playgate health`() async throws {
        let folder = try Self.certificates()
        let configuration = RunningGate.configuration()
            .replacingOccurrences(
                of: "admin: { listen: \"127.0.0.1:0\" }",
                with: "admin: { listen: \"127.0.0.1:0\", \(Self.tls(folder)) }"
            )
        try await RunningGate.with(configuration) { gate in
            let run = try `playgate health`.ask(in: folder, at: gate.admin, more: ", \(Self.tls(folder))")
            #expect(run.status == 0, "\(run.error)")
            #expect(try `playgate health`.ask(in: folder, at: gate.admin).status == 2)
        }
    }

    /// One listener of each protocol.
    private static func allListeners(_ folder: TemporaryFolder) -> String {
        RunningGate.configuration(
            """
            edge:
              listen: ["127.0.0.1:0", "spoe:127.0.0.1:0", "grpc:127.0.0.1:0"]
              tokens: [{ query: token }]
              \(tls(folder))
            """
        ).replacingOccurrences(
            of: "admin: { listen: \"127.0.0.1:0\" }",
            with: "admin: { listen: \"127.0.0.1:0\", \(tls(folder)) }"
        )
    }

    /// Returns the subject of the certificate that a listener shows.
    private static func subject(at address: String) throws -> String {
        let output = try run(
            "openssl",
            arguments: ["s_client", "-connect", address, "-alpn", "h2,http/1.1", "-showcerts"]
        )
        return String(output.split(separator: "\n").first { $0.hasPrefix("subject=") } ?? "")
    }

    @Test func `has the new certificate after a reload, and the old one while the new one is broken`() async throws {
        let folder = try Self.certificates()
        try await RunningGate.with(Self.allListeners(folder)) { gate in
            let reload = { () throws -> Int in
                let arguments = [
                    "-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*", "-k", "-X", "POST", "-H",
                    "X-Playgate-Request: test", "https://\(gate.admin)/reload",
                ]
                return Int(try Self.run("curl", arguments: arguments)) ?? 0
            }
            let listeners = [gate.admin, gate.grpc] + gate.edges + gate.offloads
            for address in listeners { #expect(try Self.subject(at: address) == "subject=CN = localhost") }
            try Self.create("next", subject: "/CN=next", in: folder)
            let (certificate, key) = (try folder.bytes("next.pem"), try folder.bytes("next.key"))
            // A file that is cut off, and a certificate without its key.
            for broken in [[UInt8](certificate.prefix(100)), certificate] {
                try folder.write("server.pem", contents: broken)
                #expect(try reload() == 422)
                for address in listeners { #expect(try Self.subject(at: address) == "subject=CN = localhost") }
            }
            #expect(try gate.log("no certificate can be read").first?.contains(folder.file("server.pem")) ?? false)
            try folder.write("server.key", contents: key)
            #expect(try reload() == 200)
            for address in listeners { #expect(try Self.subject(at: address) == "subject=CN = next") }
        }
    }

    @Test(.needsOwnAddress) func `lets edges from afar ask by their certificates`() async throws {
        let folder = try Self.certificates()
        let address = try #require(try ownAddress())
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge:
              listen: 0.0.0.0:0
              tokens: [{ query: token }]
              \(Self.tls(folder))
              peers: ["sha256:\(try Self.fingerprint(folder))"]
            """
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let port = gate.edge.split(separator: ":").last ?? ""
            let token = try gate.token()
            let check = { (more: [String]) in
                let base = [
                    "-s", "-i", "--noproxy", "*", "--cacert", folder.file("server.pem"), "--resolve",
                    "localhost:\(port):\(address)", "-H", "X-Forwarded-Uri: /live/tnt/a?token=\(token)", "-H",
                    "X-Forwarded-Method: GET", "https://localhost:\(port)/v1/check/forward",
                ]
                return try Self.run("curl", arguments: base + more)
            }
            #expect(try check([]).contains("X-Playgate-Code: peer_not_trusted"))
            // Signed by a trusted authority, but not on the allow-list.
            let authority = ["--cert", folder.file("authority.pem"), "--key", folder.file("authority.key")]
            #expect(try check(authority).contains("X-Playgate-Code: peer_not_trusted"))
            let client = ["--cert", folder.file("client.pem"), "--key", folder.file("client.key")]
            #expect(try check(client).contains("X-Playgate-Code: verified"))
            #expect(try check(client).contains("X-Playgate-Code: token_already_used"))
        }
    }

    @Test func `lets Envoy ask over gRPC by its certificate`() async throws {
        let folder = try Self.certificates()
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge:
              listen: ["127.0.0.1:0", "grpc:127.0.0.1:0"]
              tokens: [{ query: token }]
              \(Self.tls(folder))
              peers: ["sha256:\(try Self.fingerprint(folder))"]
            """
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let port = gate.grpc.split(separator: ":").last ?? ""
            // attributes.request.http: GET /live/none
            let message: [UInt8] =
                [0x0A, 21, 0x22, 19, 0x12, 17, 0x12, 3] + Array("GET".utf8) + [0x22, 10] + Array("/live/none".utf8)
            let check = { (more: [String]) in
                let options = [
                    "--http2", "--cacert", folder.file("server.pem"), "--resolve", "localhost:\(port):127.0.0.1",
                ]
                return try GRPCCall(to: "localhost:\(port)", message: message, options: options + more, scheme: "https")
            }
            #expect(try check([]).decision()?.body == "peer_not_trusted\n")
            let authority = ["--cert", folder.file("authority.pem"), "--key", folder.file("authority.key")]
            #expect(try check(authority).decision()?.body == "peer_not_trusted\n")
            let client = ["--cert", folder.file("client.pem"), "--key", folder.file("client.key")]
            #expect(try check(client).decision()?.body == "unknown_media\n")
            // Without HTTP/2, and without TLS, there is no answer.
            #expect(try check(client + ["--http1.1"]).status == nil)
            #expect(try GRPCCall(to: gate.grpc, message: message).status == nil)
        }
    }

    @Test func `serves, and knows callers by their certificates`() async throws {
        let folder = try Self.certificates()
        let configuration = RunningGate.configuration(
            api: """
                  \(Self.tls(folder))
                  clientCertificates: [{ name: backend, sha256: "\(try Self.fingerprint(folder))", scopes: [catalogue] }]
                """
        )
        try await RunningGate.with(configuration) { gate in
            let port = gate.api.split(separator: ":").last ?? ""
            let curl = { (path: String, more: [String]) in
                let base = [
                    "-s", "--cacert", folder.file("server.pem"), "--resolve", "localhost:\(port):127.0.0.1",
                    "https://localhost:\(port)\(path)",
                ]
                return try Self.run("curl", arguments: base + more)
            }
            let client = ["--cert", folder.file("client.pem"), "--key", folder.file("client.key")]
            #expect(try curl("/v1/catalogue/tnt", client).contains("\"resource\":\"TNT\""))
            #expect(try curl("/v1/catalogue/tnt", []).contains("credential_missing"))
            #expect(try curl("/v1/playback", client + ["-d", "{}"]).contains("scope_missing"))
            // A certificate of an untrusted authority ends the connection.
            let other = ["--cert", folder.file("server.pem"), "--key", folder.file("server.key")]
            #expect(try curl("/v1/catalogue/tnt", other).isEmpty)
            // A connection without TLS is closed.
            let plain = try HTTPConnection(gate.api)
            try plain.send("GET /v1/codes HTTP/1.1\r\nHost: g\r\n\r\n")
            #expect(plain.isClosedByPeer())
        }
    }
}
