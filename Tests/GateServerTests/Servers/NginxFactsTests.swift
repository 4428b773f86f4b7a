// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import MediaResources
import Platform
import Testing

/// Grants that are bound to the client's connection or location, through nginx's module over TLS and through the
/// service.
@Suite(.needs(.nginxModule), .serialized) struct `Facts inside nginx` {
    /// The certificates of the server and of two clients. Their lives contain the time of the test's gate, which is years from now.
    private struct Certificates {
        let folder: TemporaryFolder

        init(_ folder: TemporaryFolder) throws {
            self.folder = folder
            for name in ["server", "viewer", "other"] {
                _ = try Self.openssl([
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "36500",
                    "-subj", "/CN=\(name)", "-keyout", folder.file("\(name).key"), "-out", folder.file("\(name).pem"),
                ])
            }
        }

        private static func openssl(_ arguments: [String]) throws -> CommandRun {
            let run = try CommandRun(try #require(Program.installed("openssl")), arguments: arguments)
            try #require(run.status == 0, "\(run.error)")
            return run
        }

        /// The SubjectPublicKeyInfo of a client, as openssl writes it.
        func key(_ name: String) throws -> [UInt8] {
            let output = folder.file("\(name).der")
            _ = try Self.openssl([
                "pkey", "-in", folder.file("\(name).key"), "-pubout", "-outform", "DER", "-out", output,
            ])
            return try folder.bytes("\(name).der")
        }
    }

    /// A connection of a client, and what is known of the client's location.
    private struct Client {
        var protocols = "http2"
        var certificate: String?
        var isPlain = false
        var location: [String: String] = [:]

        /// The facts as the page's sub-request would state them to the service.
        func reported(_ certificates: Certificates) throws -> [String: String] {
            var fields: [String: String] = [:]
            if !isPlain {
                fields["X-Original-ALPN"] = ["http2": "h2", "http1.1": "http/1.1"][protocols] ?? ""
                fields["X-Original-Client-Key"] = try certificate.map { Base64.encode(try certificates.key($0)) } ?? ""
            }
            for (name, value) in location { fields["X-Original-\(name)"] = value }
            return fields
        }
    }

    private static func lines(_ folder: TemporaryFolder) -> [String: String] {
        let tls = """
            listen unix:\(folder.file("tls.sock")) ssl http2;
                    ssl_certificate \(folder.file("server.pem"));
                    ssl_certificate_key \(folder.file("server.key"));
                    ssl_verify_client optional_no_ca;
                    listen 127.0.0.1:8088;
            """
        let page = (try? EdgeProxy.nginxModule.block("nginx-facts", in: folder, gate: "", origin: 0)) ?? ""
        let facts = "playgate_fact country=$country asn=$http_x_asn position=$http_x_position;"
        return [
            // A geo module of the operator's.
            "    server {\n": "    map $http_x_geo $country { default $http_x_geo; }\n    server {\n",
            "        listen 127.0.0.1:8088;\n": "        \(tls)\n",
            "            playgate_ask /_gate;\n": "            playgate_ask /_gate;\n            \(facts)\n",
            "            proxy_set_header X-Original-Range $http_range;\n":
                page + "            proxy_set_header X-Original-Range $http_range;\n",
            // The players' sockets have no address.
            "            proxy_set_header X-Original-Client $remote_addr;\n": "",
        ]
    }

    private static let path = "/film/tnt/low/seg1.ts"

    private static func issuer() throws -> CATIssuer {
        let secret = try #require(Data(base64Encoded: Film.secret))
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        return try CATIssuer(key: TokenKey(secret: [UInt8](secret), id: KeyID("pg-2026-11"), binding: binding))
    }

    private static func grant(at now: Timestamp, change: (inout CATClaims) -> Void) throws -> String {
        var claims = CATClaims()
        claims.issuer = "playgate"
        claims.issued = now
        claims.expires = now.adding(seconds: 600)
        claims.uri = [.init(.path, match: .prefix("/film/tnt/"))]
        let secret = try #require(Data(base64Encoded: Film.secret))
        let resource = try MediaResource("TNT").canonicalForm
        claims.protection = try SubjectKey([UInt8](secret)).protectionTag(requestor: "REF30", resource: resource)
        claims.session = PlaybackSession(id: SessionID(number: 7), end: now.adding(seconds: 6000), revocation: nil)
        change(&claims)
        return try issuer().issue(claims).token
    }

    /// Returns the code that a player gets through nginx.
    private static func code(for grant: String, from client: Client, in folder: TemporaryFolder) throws -> String {
        var arguments = ["-sk", "-o", "/dev/null", "-D", "-", "--unix-socket"]
        arguments.append(folder.file(client.isPlain ? "edge-players.sock" : "tls.sock"))
        arguments += client.protocols == "none" ? ["--no-alpn"] : ["--\(client.protocols)"]
        if let certificate = client.certificate {
            arguments += ["--cert", folder.file("\(certificate).pem"), "--key", folder.file("\(certificate).key")]
        }
        for (name, value) in client.location { arguments += ["-H", "X-\(name): \(value)"] }
        arguments += [
            "-H", "CTA-Common-Access-Token: \(grant)", "-H", "X-Original-ALPN: x", "-H", "X-Playgate-ALPN: x",
        ]
        arguments.append("\(client.isPlain ? "http" : "https")://cdn.example\(path)")
        let answer = try CommandRun(try #require(Program.installed("curl")), arguments: arguments)
        let field = answer.output.lowercased().split(whereSeparator: \.isNewline).first {
            $0.hasPrefix("x-playgate-code: ")
        }
        return field.map { String($0.dropFirst("x-playgate-code: ".count)) } ?? "\(answer.status) \(answer.output)"
    }

    /// Returns the code of the service for the same.
    private static func serviceCode(
        for grant: String,
        from client: Client,
        certificates: Certificates
    ) throws -> String {
        var fields = try client.reported(certificates)
        fields["X-Original-URI"] = path
        fields["X-Original-Method"] = "GET"
        fields["X-Original-Scheme"] = client.isPlain ? "http" : "https"
        fields["X-Original-Host"] = "cdn.example"
        fields["CTA-Common-Access-Token"] = grant
        let connection = try HTTPConnection("unix:\(certificates.folder.file("edge.sock"))")
        return try connection.request("GET", path: "/v1/check/nginx", headers: fields).gateCode
    }

    @Test func `give the codes of the service`() async throws {
        let folder = try TemporaryFolder()
        let certificates = try Certificates(folder)
        let (own, other) = (try certificates.key("viewer"), try certificates.key("other"))
        try await EdgeProxy.nginxModule.withGate(
            catalogue: Film.catalogue,
            more: Film.grants,
            replacing: Self.lines(folder),
            folder: folder
        ) { (gate, _) throws in
            let viewer = Client(certificate: "viewer")
            let (h1, none) = (Client(protocols: "http1.1"), Client(protocols: "none"))
            let plain = Client(protocols: "http1.1", isPlain: true)
            func from(_ location: [String: String]) -> Client { Client(location: location) }
            let rows: [(name: String, change: (inout CATClaims) -> Void, answers: [(Client, String)])] = [
                ("nothing", { _ in }, [(viewer, "granted"), (plain, "granted"), (none, "granted")]),
                (
                    "h2", { $0.alpn = ["h2"] },
                    [
                        (viewer, "granted"), (h1, "grant_tls_mismatch"), (none, "grant_tls_mismatch"),
                        (plain, "grant_context_missing"),
                    ]
                ),
                ("http/1.1", { $0.alpn = ["http/1.1"] }, [(h1, "granted"), (viewer, "grant_tls_mismatch")]),
                (
                    "key", { $0.clientKey = own },
                    [
                        (viewer, "granted"), (Client(certificate: "other"), "grant_tls_mismatch"),
                        (Client(), "grant_tls_mismatch"),
                        (Client(protocols: "http1.1", certificate: "viewer"), "granted"),
                        (plain, "grant_context_missing"),
                    ]
                ),
                ("other key", { $0.clientKey = other }, [(viewer, "grant_tls_mismatch")]),
                (
                    "country", { $0.countries = ["FR"] },
                    [
                        (from(["Geo": "FR"]), "granted"), (from(["Geo": "fr,FR-75"]), "granted"),
                        (from(["Geo": "US"]), "grant_location_mismatch"), (from([:]), "grant_context_missing"),
                        (from(["Geo": "France"]), "grant_context_missing"),
                    ]
                ),
                (
                    "network", { $0.networks = [.system(64_500)] },
                    [
                        (from(["ASN": "64500"]), "granted"), (from(["ASN": "64501"]), "grant_address_mismatch"),
                        (from([:]), "grant_context_missing"), (from(["ASN": "AS64500"]), "grant_context_missing"),
                        (from(["ASN": "0"]), "grant_context_missing"),
                        (from(["ASN": "4294967296"]), "grant_context_missing"),
                        (from(["ASN": "00000064500"]), "grant_context_missing"),
                    ]
                ),
                (
                    "position", { $0.geohashes = ["u09"] },
                    [
                        (from(["Position": "48.8566,2.3522"]), "granted"), (from([:]), "grant_context_missing"),
                        (from(["Position": "40.7,-74"]), "grant_location_mismatch"),
                        (from(["Position": "Paris"]), "grant_context_missing"),
                    ]
                ),
            ]
            for row in rows {
                let grant = try Self.grant(at: gate.now, change: row.change)
                // Twice: what one connection is allowed, the worker's memory gives to no other.
                for _ in 0..<2 {
                    for (client, code) in row.answers {
                        let found = try Self.code(for: grant, from: client, in: folder)
                        let reportedCode = try Self.serviceCode(for: grant, from: client, certificates: certificates)
                        #expect(found == code, "\(row.name): \(client)")
                        #expect(reportedCode == code, "\(row.name): \(client), by the service")
                    }
                }
            }
        }
    }

    /// What the gate must decide, it decides by the same facts, which the page's sub-request states.
    @Test func `reach the gate with its request`() async throws {
        let folder = try TemporaryFolder()
        let certificates = try Certificates(folder)
        let own = try certificates.key("viewer")
        try await EdgeProxy.nginxModule.withGate(
            catalogue: Film.catalogue,
            more: Film.grants,
            replacing: Self.lines(folder),
            folder: folder
        ) { (gate, _) throws in
            let grant = try Self.grant(at: gate.now) { claims in
                (claims.clientKey, claims.alpn, claims.countries) = (own, ["h2"], ["FR"])
                claims.replay = 1
            }
            var client = Client(certificate: "other", location: ["Geo": "FR"])
            var codes = [try Self.code(for: grant, from: client, in: folder)]
            client.certificate = "viewer"
            for _ in 0..<2 { codes.append(try Self.code(for: grant, from: client, in: folder)) }
            #expect(codes == ["grant_tls_mismatch", "granted", "grant_replayed"])
        }
    }
}
