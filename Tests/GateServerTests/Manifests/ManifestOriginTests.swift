// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import NIOHTTP1
import Synchronization
import Testing

@testable import Manifests

/// The origin behind a manifest listener: what it may answer, and what becomes of it.
@Suite struct `The origin of manifests` {
    private typealias Script = ScriptedOrigin.Script

    private static let film = "#EXTM3U\n#EXTINF:2,\nseg1.ts\n#EXT-X-ENDLIST\n"
    private static let path = "/film/tnt/film.m3u8"

    /// The film, compressed by gzip.
    private static let zipped = Result {
        try CommandRun("/bin/sh", arguments: ["-c", "printf '\(film)' | gzip -c | base64"])
    }

    private static func zippedBytes() throws -> [UInt8] {
        let text = try zipped.get().output.filter { !$0.isWhitespace }
        return try #require(Data(base64Encoded: text)).map { $0 }
    }

    /// Answers that are refused, with status and code.
    static let refused: [(name: String, script: ScriptedOrigin.Script, status: Int, code: String)] = {
        var broken = Script(film)
        broken.breaks = true
        let long = film + String(repeating: "#x\n", count: 400)
        return [
            ("404", Script(status: .notFound), 404, "origin_not_found"),
            ("410", Script(status: .gone), 404, "origin_not_found"),
            ("500", Script(status: .internalServerError), 502, "origin_failed"),
            ("503", Script(status: .serviceUnavailable), 502, "origin_failed"),
            ("401", Script(status: .unauthorized), 502, "origin_failed"),
            ("304", Script(status: .notModified), 502, "origin_failed"),
            ("206", Script(status: .partialContent), 502, "origin_failed"),
            ("a redirect to itself", Script(status: .found, [("Location", path)]), 502, "origin_redirected"),
            (
                "a redirect elsewhere", Script(status: .found, [("Location", "http://127.0.0.1:1/")]), 502,
                "origin_redirected"
            ),
            ("a segment", Script(film, type: "video/mp2t"), 502, "origin_type_refused"),
            ("a page", Script("<html>", type: "text/html"), 502, "origin_type_refused"),
            (
                "two types", Script(film, headers: [("Content-Type", "application/vnd.apple.mpegurl")]), 502,
                "origin_type_refused"
            ),
            ("brotli", Script(film, headers: [("Content-Encoding", "br")]), 502, "origin_encoding_refused"),
            ("two codings", Script(film, headers: [("Content-Encoding", "gzip, br")]), 502, "origin_encoding_refused"),
            ("no gzip", Script(film, headers: [("Content-Encoding", "gzip")]), 502, "origin_encoding_refused"),
            ("an end in between", broken, 502, "origin_unreachable"),
            ("too much", Script(long), 502, "manifest_too_large"),
            (
                "too much, in chunks", Script(long, headers: [("Transfer-Encoding", "chunked")]), 502,
                "manifest_too_large"
            ),
            ("no playlist", Script("EXTM3U\n"), 502, "manifest_malformed"),
            ("nothing", Script(""), 502, "manifest_malformed"),
            ("a bad last line", Script(film + "http://[::1/x.ts\n"), 502, "manifest_reference_invalid"),
            ("bytes that are no text", Script([0x23, 0x45, 0xFF, 0xFE]), 502, "manifest_encoding_invalid"),
        ]
    }()

    @Test(arguments: refused.indices)
    func `is not passed on unless it is a manifest`(number: Int) async throws {
        let (name, script, status, code) = Self.refused[number]
        let origin = try ScriptedOrigin { _ in script }
        try await ManifestGate.with(origin, advanced: "manifests: { bytes: 1024 }") { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == status && answer.code == code, "\(name): \(answer)")
            #expect(answer.values("Cache-Control") == ["no-store"] && answer.values("Location").isEmpty)
            #expect(!answer.body.contains("seg1"))
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"\(code)\"}") == 1)
            // Each code is explained.
            #expect(try gate.get("/v1/codes/\(code)").json["status"] as? Int == status)
        }
    }

    @Test func `sets nothing but the type`() async throws {
        let fields = [
            "Set-Cookie": "origin=1", "ETag": "\"e\"", "Last-Modified": "Thu, 02 Jan 2031 10:04:05 GMT",
            "Cache-Control": "public, max-age=60", "Access-Control-Allow-Origin": "*", "X-Accel-Redirect": "/secret",
            "Strict-Transport-Security": "max-age=1", "Connection": "X-Hop", "X-Hop": "1", "Age": "3", "Vary": "Cookie",
        ]
        let origin = try ScriptedOrigin { _ in
            Script(Self.film, type: "Application/X-mpegURL; charset=utf-8", headers: fields.map { ($0.key, $0.value) })
        }
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(Self.path)
            let names = Set(answer.headers.keys)
            let expected: Set<String> = [
                "content-length", "content-type", "cache-control", "x-content-type-options", "x-playgate-trace",
                "x-playgate-code", "x-playgate-session", "date",
            ]
            #expect(names == expected, "\(names)")
            #expect(answer.values("Content-Type") == ["application/x-mpegurl"])
            #expect(answer.values("Cache-Control") == ["private, no-store"])
            let request = try #require(origin.heads.first).headers
            #expect(Set(request.map { $0.name.lowercased() }) == ["accept", "accept-encoding", "host", "user-agent"])
        }
    }

    @Test func `may compress by gzip`() async throws {
        let bytes = try Self.zippedBytes()
        let origin = try ScriptedOrigin { _ in
            Script(bytes, type: "application/vnd.apple.mpegurl", headers: [("Content-Encoding", "gzip")])
        }
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 200 && answer.references.count == 1, "\(answer)")
            #expect(answer.values("Content-Encoding").isEmpty)
        }
    }

    @Test func `cannot make memory of little gzip`() async throws {
        let run = try CommandRun("/bin/sh", arguments: ["-c", "head -c 20000000 /dev/zero | gzip -9 -c | base64 -w0"])
        let bytes = try #require(Data(base64Encoded: run.output.filter { !$0.isWhitespace })).map { $0 }
        let origin = try ScriptedOrigin { _ in
            Script(bytes, type: "application/vnd.apple.mpegurl", headers: [("Content-Encoding", "gzip")])
        }
        try await ManifestGate.with(origin, advanced: "manifests: { bytes: 1000000 }") { (gate) throws in
            #expect(try gate.start(Self.path).code == "manifest_too_large")
        }
    }

    @Test(arguments: [
        "application/vnd.apple.mpegurl", "application/x-mpegURL", "application/mpegurl", "audio/mpegurl",
        "audio/x-mpegurl",
        "video/mpegurl", "video/x-mpegurl", "application/vnd.apple.mpegurl.audio", "application/dash+xml",
        "video/vnd.mpeg.dash.mpd",
    ])
    func `may name any type that manifests have or had`(type: String) {
        let kind = ManifestType(type: type, path: "/playlist")?.kind
        #expect(kind == (type.contains("dash") ? .dash : .hls))
    }

    @Test(arguments: [
        (Self.film, "hls"), ("\u{FEFF}" + Self.film, "hls"), ("<MPD type=\"static\"><Period/></MPD>", "dash"),
        ("<?xml version=\"1.0\"?>\n<MPD type=\"static\"><Period/></MPD>", "dash"), ("{}", ""), ("", ""),
    ])
    func `may have any path that is named, with a general type`(body: String, kind: String) async throws {
        let origin = try ScriptedOrigin { _ in Script(body, type: "text/plain") }
        try await ManifestGate.with(origin, manifest: ["paths: [/film/tnt/playlist, \"/film/tnt/*/list\"]"]) {
            (gate) throws in
            let answer = try gate.start("/film/tnt/playlist")
            if kind.isEmpty {
                #expect(answer.status == 502 && answer.code == "origin_type_refused", "\(answer)")
            } else {
                #expect(
                    answer.values("Content-Type").first?.contains(kind == "hls" ? "mpegurl" : "dash") ?? false,
                    "\(answer)"
                )
            }
            #expect(try gate.start("/film/tnt/low/list", viewer: "two").status == answer.status)
            #expect(try gate.start("/film/tnt/other", viewer: "three").code == "manifest_path_not_served")
        }
    }

    @Test(arguments: ["application/octet-stream", "text/plain; charset=utf-8", nil])
    func `may leave the type to the path`(type: String?) async throws {
        let origin = try ScriptedOrigin { _ in Script(Self.film, type: type) }
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 200 && answer.values("Content-Type") == ["application/vnd.apple.mpegurl"])
        }
    }

    @Test(arguments: [Script.Step.request, .head, .firstByte])
    func `has a time limit for each step`(step: ScriptedOrigin.Script.Step) async throws {
        let origin = try ScriptedOrigin { _ in
            var script = Script(Self.film)
            script.pause = step
            return script
        }
        try await ManifestGate.with(origin, advanced: "manifests: { response: 200ms, body: 200ms }") { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 504 && answer.code == "origin_timed_out", "\(answer)")
            #expect(eventually { origin.connections == 0 })
        }
    }

    @Test func `may hold a blocking reload`() async throws {
        let origin = try ScriptedOrigin { head in
            if head.uri.contains("_HLS_msn") { Thread.sleep(forTimeInterval: 0.3) }
            return Script(Self.film)
        }
        try await ManifestGate.with(origin, advanced: "manifests: { response: 5s, body: 100ms }") { (gate) throws in
            let token = try gate.token().percentEncoded
            #expect(try gate.manifest(at: "\(Self.path)?_HLS_msn=3&token=\(token)").status == 200)
        }
    }

    @Test func `must show a certificate that the system trusts`() async throws {
        let openssl = try #require(Program.installed("openssl"), "openssl is not installed; run scripts/setup test")
        let folder = try TemporaryFolder()
        let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
        let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        let request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"] + subject
        #expect(try CommandRun(openssl, arguments: request + ["-keyout", key, "-out", certificate]).status == 0)
        let port = try RunningEdge.freePort()
        let options = ["s_server", "-quiet", "-WWW", "-accept", "127.0.0.1:\(port)", "-cert", certificate, "-key", key]
        let server = try Program(openssl, arguments: options, log: folder.file("log"))
        defer { server.signal(SIGKILL) }
        #expect(eventually { (try? HTTPConnection("127.0.0.1:\(port)")) != nil })
        try await RunningGate.with(ManifestGate.configuration(origin: "https://localhost:\(port)")) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 502 && answer.code == "origin_unreachable", "\(answer)")
        }
    }

    @Test func `that is down differs from one that fails`() async throws {
        let configuration = ManifestGate.configuration(origin: "http://127.0.0.1:1")
        try await RunningGate.with(configuration) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 502 && answer.code == "origin_unreachable", "\(answer)")
        }
    }

    @Test func `gets no more requests when the player leaves`() async throws {
        let origin = try ScriptedOrigin { _ in
            var script = Script(Self.film)
            script.pause = .request
            return script
        }
        try await ManifestGate.with(origin, advanced: "manifests: { fetches: 1 }") { (gate) throws in
            let target = "\(Self.path)?token=\(try gate.token().percentEncoded)"
            do {
                let connection = try HTTPConnection(gate.manifests)
                try connection.sendRequest("GET", path: target, host: "cdn.example")
                #expect(eventually { origin.heads.count == 1 })
                // No other fetch has room, and a request without it uses no token up.
                let token = try gate.token(GateSample.claims(session: "two"))
                let other = try gate.start(Self.path, token: token)
                #expect(other.status == 503 && other.code == "gate_overloaded", "\(other)")
                #expect(other.values("Retry-After") == ["1"])
                let playback = try gate.play(path: "/film/tnt/film.m3u8", token: token)
                #expect(playback.status == 200, "\(playback)")
            }
            #expect(eventually { origin.connections == 0 }, "the fetch goes on")
            let abandoned = "playgate_manifest_requests_total{result=\"manifest_abandoned\"}"
            #expect(try eventually { try gate.metric(abandoned) == 1 })
        }
    }

    @Test func `is requested by a path below its own`() async throws {
        let origin = try ScriptedOrigin { _ in Script(Self.film) }
        let configuration = ManifestGate.configuration(origin: "\(origin.url)/origin/a%20b/")
        try await RunningGate.with(configuration) { (gate) throws in
            let answer = try gate.start("/film/tnt/a%20%e2%82%ac.m3u8")
            #expect(answer.status == 200, "\(answer)")
            #expect(origin.heads.map(\.uri) == ["/origin/a%20b/film/tnt/a%20%E2%82%AC.m3u8"])
        }
    }

    @Test func `is measured`() async throws {
        let origin = try ScriptedOrigin { _ in Script(Self.film) }
        try await ManifestGate.with(origin) { (gate) throws in
            #expect(try gate.start(Self.path).status == 200)
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"rewritten\"}") == 1)
            #expect(try gate.metric("playgate_manifest_origin_fetch_seconds_count") == 1)
            #expect(try gate.metric("playgate_connections_total{listener=\"manifest\"}") == 1)
            let line = try #require(try gate.log("\"edge\":\"manifest\"").first)
            #expect(line.contains("\"code\":\"verified\"") && line.contains("\"path\":\"/film/tnt/film.m3u8\""))
            #expect(!(try gate.folder.text("log").contains("token=")))
        }
    }
}
