// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// A film behind a gate with grants: HLS with relative references, 28 segments of two seconds.
///
/// A media token of it lives for 20 s, a grant for 10 s, and a session for 60 s.
enum Film {
    static let start = "/film/tnt/master.m3u8"
    static let variant = "/film/tnt/low/index.m3u8"
    static let life: Int64 = 20_000
    static let session: Int64 = 60
    static let count = 28

    static func segment(_ number: Int) -> String { "/film/tnt/low/seg\(number).ts" }

    static let files: [String: [UInt8]] = {
        let segments = (0..<count).map { "#EXTINF:2,\nseg\($0).ts\n" }.joined()
        var files = [
            start: "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nlow/index.m3u8\n",
            variant: "#EXTM3U\n#EXT-X-TARGETDURATION:2\n\(segments)#EXT-X-ENDLIST\n",
        ]
        for number in 0..<count { files[segment(number)] = "segment \(number)" }
        return files.mapValues { [UInt8]($0.utf8) }
    }()

    /// The entries of the catalogue: the start, which accepts the media token, and all behind it, which accept grants.
    static let entries = [
        "{ path: /film/tnt/master.m3u8, resource: TNT, admits: once, grant: live }",
        "{ path: /film/tnt/manifest.mpd, resource: TNT, admits: once, grant: live }",
        "{ path: /film/tnt/, resource: TNT, admits: grant, grant: [live, whole] }",
        "{ path: /film/tbs/, resource: TBS, admits: grant, grant: live }",
        "{ path: /page/, protected: false }",
        "{ media: film, resource: TNT, grant: [live, whole], manifest: /film/tnt/master.m3u8 }",
    ]

    static var catalogue: String { entries.map { "    - \($0)\n" }.joined() }

    /// The sections of keys and grants: a grant that is renewed in the second half of its life, and one for a path segment,
    /// which is not. `EDGE` stands for the address of the edge.
    static let grants = """
        keys: { pg-2026-11: { secret: "\(secret)", algorithm: HS256 } }
        grants:
          subjectKey: "\(secret)"
          profiles:
            live:
              issuer: playgate
              key: pg-2026-11
              life: 10s
              session: \(session)s
              scheme: http
              renew: { type: cookie, deadline: 5s }
              deliver: [cookie, segment]
              cookie: { sameSite: Lax }
            whole:
              issuer: playgate
              key: pg-2026-11
              life: \(session)s
              session: \(session)s
              scheme: http
              host: "EDGE"
              renew: { type: none }
              deliver: [segment]
              cookie: { sameSite: Lax }
        """

    static let secret = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
}

extension EdgeProxy {
    /// Runs `body` with a gate with grants, the edge's page in front of it, and the film behind it.
    func withFilm(
        edge: String = "",
        files: [String: [UInt8]] = Film.files,
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await withGate(catalogue: Film.catalogue, edge: edge, more: Film.grants, isOnPort: true) {
            (gate, proxy) throws in
            proxy.origin.serve(files)
            try body(gate, proxy)
        }
    }
}

extension RunningGate {
    /// Creates a media token of the film for a viewer, in the form for a query.
    func filmToken(_ viewer: String) throws -> String {
        try token(GateSample.claims(session: viewer, ttl: Film.life))
    }
}

/// A player as browsers are: it follows relative references (RFC 3986 §5), and sends cookies back by their paths and ages
/// (RFC 6265 §5).
final class FilmPlayer {
    private struct Cookie {
        let name: String
        let value: String
        let path: String
        let end: Timestamp?
    }

    let edge: String
    private var cookies: [Cookie] = []
    private let clock: () -> Timestamp
    /// True if a cookie is sent only up to its `Max-Age`.
    var forgets = true

    /// Creates a player without cookies.
    init(at edge: RunningEdge, clock: @escaping () -> Timestamp) {
        self.edge = edge.address
        self.clock = clock
    }

    /// Requests a target, which may be a URL at the edge, and stores the cookies of the answer.
    func get(
        _ target: String,
        method: String = "GET",
        headers: [String: String] = [:]
    ) throws -> HTTPConnection.Response {
        let target = target.replacing("http://\(edge)", with: "")
        var headers = headers
        if let cookie = cookie(for: target) { headers["Cookie"] = cookie }
        let answer = try HTTPConnection(edge).request(method, path: target, headers: headers, host: edge)
        for line in answer.values("Set-Cookie") { store(line) }
        return answer
    }

    /// The value of `Cookie` for a target; `nil` for none.
    func cookie(for target: String) -> String? {
        let (path, now) = (target.prefix { $0 != "?" }, clock())
        let sent = cookies.filter { path.hasPrefix($0.path) && (!forgets || $0.end.map { $0 > now } ?? true) }
        return sent.isEmpty ? nil : sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Stores a cookie as `Set-Cookie` has it; without a path, or with `Secure`, as the film has none, it is an error.
    func store(_ line: String) {
        let parts = line.components(separatedBy: "; ")
        let pair = parts[0].split(separator: "=", maxSplits: 1).map(String.init)
        let attribute = { (name: String) in
            parts.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        guard pair.count == 2, let path = attribute("Path"), path.hasSuffix("/"), !parts.contains("Secure") else {
            Issue.record("unexpected cookie \(line)")
            return
        }
        let age = attribute("Max-Age").flatMap { Int64($0) }
        cookies.removeAll { $0.name == pair[0] && $0.path == path }
        cookies.append(Cookie(name: pair[0], value: pair[1], path: path, end: age.map { clock().adding(seconds: $0) }))
    }

    /// The references of a playlist, resolved.
    static func references(_ playlist: HTTPConnection.Response, of target: String) -> [String] {
        let base = target.prefix { $0 != "?" }
        let folder = String(base.prefix(through: base.lastIndex(of: "/") ?? base.startIndex))
        let lines = playlist.body.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        return lines.map { $0.hasPrefix("/") || $0.contains("://") ? $0 : folder + $0 }
    }
}

extension HTTPConnection.Response {
    /// The gate's code, as the edge has passed it on.
    var gateCode: String { values("X-Playgate-Code").first ?? "" }

    /// True if the edge has served it, for one of these reasons as far as the edge names them.
    func isAllowed(_ codes: String..., by edge: EdgeProxy) -> Bool {
        status == 200 && (!edge.namesCode || codes.contains(gateCode))
    }
}
