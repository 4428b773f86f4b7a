// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// A cookie that is copied from Chromium to ffmpeg, which shows it for good, each at another edge: two gates, each a process of its own,
/// with one Redis.
@Suite(.serialized) struct `A film whose cookie is copied` {
    /// The edges: two nginx with the module, each at a gate, and one nginx that asks the first gate for each request.
    private final class Edges {
        let viewer: RunningEdge
        let copier: RunningEdge
        private(set) var gates: [ServedGate]
        private let folders: [TemporaryFolder]
        private let redis: RedisServer
        private var server: Program

        init(
            viewer: RunningEdge,
            copier: RunningEdge,
            gates: [ServedGate],
            folders: [TemporaryFolder],
            redis: (server: RedisServer, program: Program)
        ) {
            (self.viewer, self.copier, self.gates, self.folders) = (viewer, copier, gates, folders)
            (self.redis, server) = redis
        }

        deinit {
            for gate in gates { gate.program.signal(SIGTERM) }
            server.signal(SIGKILL)
        }

        /// Kills a part, and starts it again.
        func restart(_ part: Part) throws {
            switch part {
            case .gate:
                gates[1].program.signal(SIGKILL)
                let configuration = try `A film whose cookie is copied`.configuration(
                    of: folders[1],
                    redis: redis.socket
                )
                gates[1] = try ServedGate(in: folders[1], configuration: configuration)
            case .redis:
                server.signal(SIGKILL)
                server = try redis.start()
            }
        }

        /// The playbacks that a gate knows.
        func leaks(at gate: Int) throws -> [[String: Any]] {
            let answer = try HTTPConnection("unix:\(folders[gate].file("api.sock"))").request("GET", path: "/v1/leaks")
            return try #require(answer.json["leaks"] as? [[String: Any]], "\(answer)")
        }

        var isEnded: Bool {
            get throws {
                try gates.indices.contains { gate in try leaks(at: gate).contains { $0["revoked"] as? Bool == true } }
            }
        }
    }

    /// What is killed in the middle of a leak.
    private enum Part: CaseIterable { case gate, redis }

    private static func configuration(of gate: TemporaryFolder, redis: String) throws -> String {
        """
        requestor: REF30
        trust: { keys: [{ file: signer.pem }] }
        replayStore: { deadline: 5s, redis: "unix:\(redis)" }
        keys: { pg-2026-11: { secret: "\(Film.secret)", algorithm: HS256 } }
        grants:
          subjectKey: "\(Film.secret)"
          profiles: { live: { issuer: playgate, key: pg-2026-11, scheme: http, cookie: { sameSite: Lax } } }
        leaks: { action: revoke, handover: 10s }
        catalogue:
          entries:
            - { path: /film/tnt/master.m3u8, resource: TNT, grant: live }
            - { path: /film/tnt/, resource: TNT, admits: grant, grant: live }
            - { path: /page/, protected: false }
        api: { listen: "unix:\(gate.file("api.sock"))" }
        admin: { listen: "127.0.0.1:0" }
        edge: { listen: "unix:\(gate.file("edge.sock"))", \(try EdgeProxy.tokens.get()) }
        """
    }

    /// Runs `body` with Redis, two gates, and the edges of viewer and copier.
    private static func withEdges(
        copierAt copier: EdgeProxy,
        stream: FilmStream,
        _ body: @escaping @Sendable (Edges, FilmBrowser) throws -> Void
    ) async throws {
        let chromium = try FilmBrowser.installed()
        let redis = try RedisServer()
        let server = try redis.start()
        let folders = try (0..<2).map { _ in try TemporaryFolder() }
        let gates = try folders.map { folder in
            try ServedGate(in: folder, configuration: try configuration(of: folder, redis: redis.socket))
        }
        try await onThread {
            let logged = "$upstream_cache_status';"
            let options = RunningEdge.Options(
                port: try RunningEdge.freePort(),
                replacing: [logged: "$upstream_cache_status \"$http_cookie\"';"]
            )
            let viewer = try RunningEdge(
                .nginxModule,
                in: folders[0],
                gate: folders[0].file("edge.sock"),
                options: options
            )
            viewer.origin.serve(chromium.files(with: stream)) { chromium.hear($0) }
            // The plain nginx asks the viewer's own gate.
            let home = copier == .nginx ? folders[0] : folders[1]
            let other = try RunningEdge(
                copier,
                in: copier == .nginx ? try TemporaryFolder() : home,
                gate: home.file("edge.sock"),
                options: RunningEdge.Options(port: try RunningEdge.freePort(), origin: viewer.origin)
            )
            let edges = Edges(
                viewer: viewer,
                copier: other,
                gates: gates,
                folders: folders,
                redis: (redis, server)
            )
            try body(edges, chromium)
        }
    }

    /// The last cookie that the viewer's browser has sent, from a log of its edge; `nil` while there is none.
    private static func cookie(of edge: RunningEdge) throws -> String? {
        let name = "CTA-Common-Access-Token="
        let line = try edge.logs().split(separator: "\n").last { $0.contains(name) }
        guard let line, let start = line.range(of: name)?.upperBound else { return nil }
        return String(line[start...].prefix { $0 != "\"" && $0 != ";" })
    }

    private static func token(_ viewer: String) throws -> String {
        let issuer = try GateSample.current.get().issuer
        return try issuer.issue(GateSample.claims(session: viewer), at: .now()).serialized.percentEncoded
    }

    /// Starts ffmpeg with a copy of the browser's cookie, at the edge of the copier.
    private static func copy(_ cookie: String, of stream: FilmStream, at edges: Edges, log: String) throws -> Program {
        try Program(
            try #require(Program.installed("ffmpeg")),
            arguments: [
                "-nostdin", "-v", "verbose", "-re", "-headers", "Cookie: CTA-Common-Access-Token=\(cookie)\r\n",
                "-i", "http://\(edges.copier.address)\(stream.playlist)", "-map", "0:v:0", "-f", "null", "-",
            ],
            log: log
        )
    }

    /// Plays in Chromium and, with its cookie, in ffmpeg, until the playback is ended for both.
    ///
    /// - Parameter part: What is killed as soon as the playback is suspected.
    /// - Returns: The cookie.
    private static func playUntilEnded(
        _ stream: FilmStream,
        at edges: Edges,
        in chromium: FilmBrowser,
        killing part: Part? = nil
    ) throws -> String {
        let url = "http://\(edges.viewer.address)\(stream.start)?token=\(try token("viewer"))"
        let tab = try chromium.open(url, at: edges.viewer)
        #expect(try eventually { try cookie(of: edges.viewer) != nil })
        let copied = try #require(try cookie(of: edges.viewer))
        let folder = try TemporaryFolder()
        let copier = try copy(copied, of: stream, at: edges, log: folder.file("ffmpeg.log"))
        defer { copier.signal(SIGKILL) }
        if let part {
            #expect(try eventually(within: 120) { try !edges.leaks(at: 0).isEmpty })
            try edges.restart(part)
        }
        let isEnded = try eventually(within: 150) { try edges.isEnded }
        let known = try edges.leaks(at: 0) + edges.leaks(at: 1)
        #expect(isEnded, "\(known)\n\(copier.output.suffix(2000))")
        #expect(try tab.report(within: 120).hasPrefix("403-of-seg"))
        #expect(eventually { copier.output.contains("HTTP error 403") })
        return copied
    }

    @Test(
        .needs(.nginxModule),
        .needs(.nginx),
        .needsRedis,
        .needsFFmpeg,
        .needsFilmBrowser,
        arguments: [EdgeProxy.nginxModule, .nginx]
    )
    func `is ended for both, and the viewer starts again`(copierAt: EdgeProxy) async throws {
        let stream = try FilmStream(.fragmented, segments: 120, seconds: 1)
        try await Self.withEdges(copierAt: copierAt, stream: stream) { (edges, chromium) throws in
            let copied = try Self.playUntilEnded(stream, at: edges, in: chromium)
            // The viewer has a media token, and the copier has none.
            let start = try edges.viewer.get("\(stream.start)?token=\(try Self.token("again"))")
            let cookie = try #require(start.headers["set-cookie"], "\(start)").prefix { $0 != ";" }
            let segment = stream.playlist.replacing("index.m3u8", with: "seg100.m4s")
            #expect(try edges.viewer.get(segment, headers: ["Cookie": String(cookie)]).status == 200)
            let refused = try edges.copier.get(segment, headers: ["Cookie": "CTA-Common-Access-Token=\(copied)"])
            #expect(refused.status == 403 && refused.gateCode == "playback_shared", "\(refused)")
        }
    }

    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["PLAYGATE_FILM"] != nil),
        arguments: Part.allCases
    )
    private func `is ended though a part is killed meanwhile`(part: Part) async throws {
        let stream = try FilmStream(.fragmented, segments: 240, seconds: 1)
        try await Self.withEdges(copierAt: .nginxModule, stream: stream) { (edges, chromium) throws in
            _ = try Self.playUntilEnded(stream, at: edges, in: chromium, killing: part)
        }
    }
}

extension FilmStream {
    /// The path of the playlist of the only rendition.
    fileprivate var playlist: String { start.replacing("master", with: "index") }
}
