// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// One table of requests for all edges: the status for the client, the request to the origin, and logs without tokens.
@Suite(.serialized) struct `Every edge by one table` {
    @Test(arguments: EdgeProxy.deciding)
    func `serves what the gate allows, and nothing else`(edge: EdgeProxy) async throws {
        try await Self.expectOutcomes(of: Row.served + Row.refused + Row.malformed, behind: edge)
    }

    /// Varnish's module leaves a shadow mode to VCL, and the pages with sub-requests have none.
    @Test(arguments: EdgeProxy.installed([.nginxModule, .envoyModule, .trafficserverModule]))
    func `lets refusals pass in shadow mode, without their tokens`(edge: EdgeProxy) async throws {
        try await Self.expectOutcomes(of: Row.shadowed, behind: edge, replacing: Self.shadowMode(of: edge))
    }

    /// The replacements in a module's page that switch it to shadow mode.
    private static func shadowMode(of edge: EdgeProxy) -> [String: String] {
        switch edge {
        case .nginxModule:
            // At this level, nginx logs the refusals that pass.
            ["playgate on;": "playgate shadow;", "nginx/error.log;\n\nevents": "nginx/error.log warn;\n\nevents"]
        case .envoyModule: ["query drop\n": "query drop\n                          mode shadow\n"]
        case .trafficserverModule: ["@pparam=options=on": "@pparam=options=on @pparam=mode=shadow"]
        default: [:]
        }
    }

    /// A protected file in an unprotected folder, in addition to the entries of edges and of the film.
    private static let entries = """
            - { path: "/vod/*.m3u8", resource: TNT, admits: ttl }
            - { path: /vod/, protected: false }

        """

    /// The edges whose logs have the path of each request.
    private static let loggingPaths: [EdgeProxy] = [.nginx, .nginxModule, .haproxy, .trafficserverModule]

    /// Sends the requests of the table to an edge, and expects their outcomes.
    ///
    /// - Parameter replacing: Replacements in the edge's page.
    private static func expectOutcomes(
        of rows: [Row],
        behind edge: EdgeProxy,
        replacing: [String: String] = [:]
    ) async throws {
        try await edge.withGate(
            catalogue: "\(EdgeProxy.catalogue)\n\(Film.catalogue)\(entries)",
            more: Film.grants,
            isOnPort: true,
            replacing: replacing
        ) { (gate, proxy) throws in
            let credentials = try Credentials(of: gate)
            for row in rows where row.isSent(to: edge) {
                do { try Self.expectOutcome(of: row, with: credentials, behind: edge, at: proxy) } catch {
                    Issue.record(error, "\(edge): \(row.name)")
                }
            }
            // An empty log would have no token either. Some edges write theirs later.
            if Self.loggingPaths.contains(edge) {
                #expect(eventually { (try? proxy.logs().contains("/live/seg/")) ?? false }, "\(edge)")
            }
            proxy.stop()
            let logs = try proxy.logs()
            for secret in credentials.secrets {
                let leaks = logs.split(separator: "\n").filter { $0.contains(secret) }
                #expect(leaks.isEmpty, "\(edge): \(leaks)")
            }
            // Nothing has reached the origin after the answer either.
            let served = rows.count { $0.origin != nil }
            #expect(proxy.origin.requests == served, "\(edge)")
        }
    }

    private static func expectOutcome(
        of row: Row,
        with credentials: Credentials,
        behind edge: EdgeProxy,
        at proxy: RunningEdge
    ) throws {
        let before = proxy.origin.requests
        let answer = try HTTPConnection.unlessClosed {
            let connection = try proxy.connect()
            try connection.send(credentials.filled(into: row.head(host: proxy.address)))
            return try connection.response(hasBody: row.method != "HEAD")
        }
        let (status, expected) = (answer?.status ?? 0, row.expectedStatuses(of: edge))
        let reason = row.difference(of: edge)?.reason ?? ""
        let fields = answer?.fields ?? []
        #expect(expected.contains(status), "\(edge): \(row.name): \(status), not \(expected) \(reason) \(fields)")
        let received = proxy.origin.requests - before
        #expect(received == (row.origin == nil ? 0 : 1), "\(edge): \(row.name): the origin has \(received) requests")
        // The origin answers with the request, which only a whole body shows.
        guard row.origin != nil, row.method == "GET", status == 200, let request = answer?.body else { return }
        expectRequest(request, isCleanFor: row, without: credentials.secrets, behind: edge)
    }

    /// The client's fields that no origin receives.
    private static let hiddenFields: [Substring] = [
        "cookie", "authorization", "x-media-token", "cta-common-access-token",
    ]

    /// Expects that the origin has received the row's target, and neither tokens nor the client's word for the gate's.
    private static func expectRequest(
        _ request: String,
        isCleanFor row: Row,
        without secrets: [String],
        behind edge: EdgeProxy
    ) {
        let (lines, label) = (request.split(separator: "\n"), "\(edge): \(row.name)")
        #expect(lines.first == "GET \(row.origin ?? "")", "\(label): \(request)")
        for line in lines.dropFirst() {
            let name = line.prefix { $0 != ":" }
            #expect(!hiddenFields.contains(name), "\(label): \(line)")
            // To many origins, these spellings are the same name.
            let isOfGate = name.replacing("_", with: "-").replacing(".", with: "-").hasPrefix("x-playgate")
            #expect(!isOfGate || (edge.namesMVPD && name == "x-playgate-mvpd"), "\(label): \(line)")
        }
        for secret in secrets + [Row.forged] { #expect(!request.contains(secret), "\(label): \(request)") }
    }
}

/// The tokens and grants of the table, by the names that stand for them in its requests.
private struct Credentials: Sendable {
    private let texts: [String: String]
    /// Parts of all of them that are the same in every encoding.
    let secrets: [String]

    init(of gate: RunningGate) throws {
        let playback = try gate.play("film", token: try gate.filmToken("viewer"))
        let grants = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
        let live = grants.first { $0["profile"] as? String == "live" }
        let grant = try #require(live?["token"] as? String, "\(playback)")
        let token = try gate.token()
        texts = [
            "{token}": token, "{other}": try gate.token(GateSample.claims(session: "another")),
            "{foreign}": try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized,
            "{grant}": grant,
        ]
        // All media tokens begin in the same way, and no encoding changes letters and digits.
        let start = String(token.prefix { $0.isLetter || $0.isNumber })
        try #require(start.count >= 16)
        secrets = [start, String(grant.prefix(30)), Row.unlogged]
    }

    /// Returns a text with the tokens and grants instead of their names.
    func filled(into text: String) -> String {
        texts.reduce(text) { text, entry in text.replacing(entry.key, with: entry.value) }
    }
}

/// An edge with another status than the table has for all, or with none as the row says nothing of it; and the reason.
private struct Difference: Sendable {
    let edges: [EdgeProxy]
    let status: [Int]
    let reason: String
}

/// A request, and its outcome behind every edge.
private struct Row: Sendable {
    let name: String
    var method = "GET"
    /// The target, with `{token}`, `{other}`, `{foreign}` and `{grant}` for ``Credentials``.
    let target: String
    /// Whole lines of header fields.
    var fields: [String] = []
    /// The value of `Host`; `nil` for the edge's own address.
    var host: String?
    /// The statuses that the client may get.
    var status = [200]
    /// The target that the origin receives; `nil` for none. Paths differ, so that no cache has the answer.
    var origin: String?
    var differences: [Difference] = []

    /// The request's line and header fields.
    func head(host address: String) -> String {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: \(host ?? address)"] + fields
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    func difference(of edge: EdgeProxy) -> Difference? { differences.first { $0.edges.contains(edge) } }

    /// False if the difference is that the edge answers without the gate.
    func isSent(to edge: EdgeProxy) -> Bool { difference(of: edge)?.status.isEmpty != true }

    func expectedStatuses(of edge: EdgeProxy) -> [Int] {
        let expected = difference(of: edge)?.status ?? status
        // Some edges know the three statuses of checks only.
        return edge.hasFullStatus ? expected : expected.map { $0 == 404 ? 403 : $0 }
    }
}

// MARK: The table

extension Row {
    /// The beginning of made-up tokens, which no gate accepts.
    static let unlogged = "NotForLogs"
    /// The value of fields that only the gate may set.
    static let forged = "forged"

    private static let forgedFields = [
        "X-Playgate-Code: \(forged)", "X_Playgate_MVPD: \(forged)", "X.Playgate.Session: \(forged)",
    ]
    /// One token more than a module cuts out of a target, which is unreadable then.
    private static let manySegments = (0..<17).map { "/~cat=\(unlogged)\($0)" }.joined()
    private static let manyParameters = (0..<17).map { "token=\(unlogged)\($0)" }.joined(separator: "&")

    private static let resolving = Difference(
        edges: [.nginx, .nginxModule, .envoy, .envoyGRPC, .envoyModule],
        status: [401],
        reason: "resolves the path before the check, which then is a protected one"
    )
    private static let answeringNull = Difference(
        edges: [.nginx, .nginxModule, .envoy, .envoyGRPC, .envoyModule],
        status: [400],
        reason: "answers an encoded null itself, before the check"
    )
    private static let answeringHost = Difference(
        edges: [.trafficserverModule],
        status: [],
        reason: "answers it before the remap, with which plugins begin, and logs its URL, as the page says"
    )
    private static let limitingLine = Difference(
        edges: [.nginx, .nginxModule],
        status: [414],
        reason: "has a limit of 8 KiB for the request line"
    )
    private static let limitingField = Difference(
        edges: [.nginx, .nginxModule, .haproxy, .varnish, .varnishModule],
        status: [400],
        reason: "has a limit below 20,000 bytes for a header field, or for all of them"
    )

    /// The requests that reach the origin.
    static let served: [Row] = [
        Row(
            name: "a media token in a header field",
            target: "/live/seg/header.ts",
            fields: ["X-Media-Token: {token}"],
            origin: "/live/seg/header.ts"
        ),
        Row(
            name: "a media token in a cookie",
            target: "/live/seg/cookie.ts",
            fields: ["Cookie: a=b; media-token={token}"],
            origin: "/live/seg/cookie.ts"
        ),
        Row(
            name: "a media token in the query",
            target: "/live/seg/query.ts?a=b&token={token}",
            origin: "/live/seg/query.ts"
        ),
        Row(
            name: "a grant in a cookie",
            target: "/film/tnt/low/cookie.ts",
            fields: ["Cookie: a=b; CTA-Common-Access-Token={grant}"],
            origin: "/film/tnt/low/cookie.ts"
        ),
        Row(
            name: "a grant in a header field",
            target: "/film/tnt/low/header.ts",
            fields: ["CTA-Common-Access-Token: {grant}"],
            origin: "/film/tnt/low/header.ts"
        ),
        Row(
            name: "a grant in a path segment",
            target: "/~cat={grant}/film/tnt/low/segment.ts",
            origin: "/film/tnt/low/segment.ts"
        ),
        Row(
            name: "a grant in a path segment with an encoded tilde",
            target: "/%7Ecat={grant}/film/tnt/low/tilde.ts",
            origin: "/film/tnt/low/tilde.ts"
        ),
        Row(
            name: "an encoded slash",
            target: "/film/tnt/low/a%2Fb.ts",
            fields: ["CTA-Common-Access-Token: {grant}"],
            origin: "/film/tnt/low/a%2Fb.ts"
        ),
        Row(
            name: "a grant in the query",
            target: "/film/tnt/low/query.ts?cat={grant}",
            origin: "/film/tnt/low/query.ts"
        ),
        Row(
            name: "tokens that the file does not need",
            target: "/live/free/tokens.ts?token={token}&cat={grant}",
            fields: ["X-Media-Token: {token}"],
            origin: "/live/free/tokens.ts"
        ),
        Row(
            name: "fields of the gate that the client has forged",
            target: "/live/free/spellings.ts",
            fields: forgedFields,
            origin: "/live/free/spellings.ts"
        ),
        Row(
            name: "a range of a segment",
            target: "/live/seg/range.ts",
            fields: ["X-Media-Token: {token}", "Range: bytes=0-1"],
            status: [200, 206],
            origin: "/live/seg/range.ts"
        ),
        Row(
            name: "HEAD",
            method: "HEAD",
            target: "/live/seg/head.ts",
            fields: ["X-Media-Token: {token}"],
            origin: "/live/seg/head.ts"
        ),
    ]

    /// The requests that end at the edge, by the gate's decision or as a preflight.
    static let refused: [Row] = [
        Row(name: "no token", target: "/live/seg/none.ts", status: [401]),
        Row(name: "OPTIONS without a token", method: "OPTIONS", target: "/live/seg/options.ts", status: [204]),
        Row(name: "unknown media", target: "/live/none/a.ts?token={token}", status: [404]),
        Row(name: "a bad signature", target: "/live/seg/a.ts", fields: ["X-Media-Token: {foreign}"], status: [403]),
        Row(name: "a bad signature in the query", target: "/live/seg/b.ts?token={foreign}", status: [403]),
        Row(
            name: "two different tokens",
            target: "/live/seg/two.ts?token={token}",
            fields: ["X-Media-Token: {other}"],
            status: [403]
        ),
        Row(
            name: "a grant for other media",
            target: "/film/tbs/low/a.ts",
            fields: ["Cookie: CTA-Common-Access-Token={grant}"],
            status: [403]
        ),
        Row(
            name: "a range of what starts a playback",
            target: "/live/tnt/range.m3u8",
            fields: ["X-Media-Token: {token}", "Range: bytes=0-1"],
            status: [403]
        ),
        Row(name: "forged fields without a token", target: "/live/seg/c.ts", fields: forgedFields, status: [401]),
        // An origin that decodes before it splits would serve /vod/film.m3u8, which is protected.
        Row(name: "an encoded question mark", target: "/vod/film.m3u8%3f", status: [404]),
        Row(name: "an encoded number sign", target: "/vod/film.m3u8%23", status: [404]),
        Row(name: "dot segments", target: "/live/free/../seg/d.ts", status: [404], differences: [resolving]),
        Row(
            name: "encoded dot segments",
            target: "/live/free/%2e%2e/seg/e.ts",
            status: [404],
            differences: [resolving]
        ),
        Row(name: "an empty segment", target: "/live//seg/f.ts", status: [404], differences: [resolving]),
        Row(name: "an encoded null", target: "/live/free/%00.ts", status: [404], differences: [answeringNull]),
        Row(name: "too many token segments", target: "\(manySegments)/film/tnt/low/g.ts", status: [403]),
        Row(name: "too many token parameters", target: "/live/seg/h.ts?\(manyParameters)", status: [403]),
    ]

    /// The requests that some edges refuse before the check, and the gate refuses too.
    static let malformed: [Row] = [
        // Some edges leave the host to the gate, which refuses it by 403.
        Row(
            name: "a bad host",
            target: "/live/seg/i.ts?token={token}",
            host: "bad/host",
            status: [400, 403],
            differences: [answeringHost]
        ),
        Row(
            name: "a long request line",
            target: "/live/none/b.ts?token={token}&a=\(String(repeating: "a", count: 8192))",
            status: [404],
            differences: [limitingLine]
        ),
        Row(
            name: "a large header field",
            target: "/live/none/c.ts?token={token}",
            fields: ["X-Large: \(String(repeating: "a", count: 20_000))"],
            status: [404],
            differences: [limitingField]
        ),
    ]

    /// The requests to an edge in shadow mode: refused ones reach the origin too, without their tokens.
    static let shadowed: [Row] = [
        Row(
            name: "a good token",
            target: "/live/seg/good.ts?token={token}",
            fields: ["X-Media-Token: {token}"],
            origin: "/live/seg/good.ts"
        ),
        Row(name: "no token", target: "/live/seg/none.ts", origin: "/live/seg/none.ts"),
        Row(name: "OPTIONS without a token", method: "OPTIONS", target: "/live/seg/options.ts", status: [204]),
        Row(name: "unknown media", target: "/live/none/a.ts?a=b&token={token}", origin: "/live/none/a.ts"),
        Row(
            name: "a bad signature in a header field",
            target: "/live/seg/header.ts",
            fields: ["X-Media-Token: {foreign}"],
            origin: "/live/seg/header.ts"
        ),
        Row(name: "a bad signature in the query", target: "/live/seg/a.ts?token={foreign}", origin: "/live/seg/a.ts"),
        Row(
            name: "two different tokens",
            target: "/live/seg/two.ts?token={token}",
            fields: ["X-Media-Token: {other}", "Cookie: media-token={foreign}"],
            origin: "/live/seg/two.ts"
        ),
        Row(
            name: "a bad grant in a path segment",
            target: "/~cat=\(unlogged)/film/tnt/low/segment.ts",
            origin: "/film/tnt/low/segment.ts"
        ),
        Row(
            name: "a grant for other media",
            target: "/film/tbs/low/a.ts?cat={grant}",
            fields: ["CTA-Common-Access-Token: {grant}"],
            origin: "/film/tbs/low/a.ts"
        ),
        Row(name: "forged fields", target: "/live/seg/b.ts", fields: forgedFields, origin: "/live/seg/b.ts"),
        // An unreadable target stays closed: no token can be cut out of it.
        Row(name: "too many token segments", target: "\(manySegments)/film/tnt/low/c.ts", status: [403]),
        Row(name: "too many token parameters", target: "/live/seg/d.ts?\(manyParameters)", status: [403]),
    ]
}
