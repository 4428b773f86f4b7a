// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// dash.js in Chromium plays an encrypted film with Clear Key, behind nginx as its page prints it.
@Suite(.needsFFmpeg, .needsFilmBrowser, .needsPackager, .serialized) struct `An encrypted film in a browser` {
    private static let sections = """
        keys: { pg-1: { secret: "\(Film.secret)", algorithm: HS256 } }
        grants:
          subjectKey: "\(Film.secret)"
          profiles:
            live:
              issuer: playgate
              key: pg-1
              life: 10s
              scheme: http
              methods: [GET, HEAD, POST]
              renew: { type: cookie, deadline: 5s }
              cookie: { sameSite: Lax }
        streams:
          - { folder: /film/tnt/, resource: TNT, manifest: [manifest.mpd, live.mpd], licences: [licence], grant: live }
        """

    /// Returns the lines that docs/how-to/protect-licences.md adds to the page of nginx, for this film and its origin.
    private static func location() throws -> [String: String] {
        let page = try String(contentsOfFile: "\(repository)/docs/how-to/protect-licences.md", encoding: .utf8)
        let block = try #require(page.components(separatedBy: "```nginx-licence\n").last).components(
            separatedBy: "```"
        )[0]
        let after = "        location = /_gate {"
        let moved = block.replacing("/vod/film/licence", with: ProtectedFilm.licence)
            .replacing("127.0.0.1:8090/licence", with: "127.0.0.1:8089\(ProtectedFilm.licence)")
        try #require(moved != block)
        return [after: moved + after]
    }

    private static func with(
        _ edge: EdgeProxy,
        replacing: [String: String] = [:],
        body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await edge.withGate(
            catalogue: "    - { path: /page/, protected: false }",
            more: sections,
            isOnPort: true,
            replacing: replacing,
            body
        )
    }

    @Test(arguments: [(EdgeProxy.nginx, false), (.nginx, true), (.nginxModule, false)].filter(\.0.isInstalled))
    private func `plays while its playback lives, with a licence for each key and renewed grants`(
        edge: EdgeProxy,
        hasLocation: Bool
    ) async throws {
        let (browser, film) = (try FilmBrowser.installed(), try ProtectedFilm())
        try await Self.with(edge, replacing: hasLocation ? try Self.location() : [:]) { (gate, proxy) throws in
            // Each segment that the origin delivers takes two seconds of the gate's time: grants live for ten.
            film.serve(by: proxy, to: browser) { path in
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 2) }
                browser.hear(path)
            }
            let url = "http://\(proxy.address)\(ProtectedFilm.start)?token=\(try gate.token().percentEncoded)"
            let tab = try browser.open(url, in: .dash, at: proxy, speed: 2)
            #expect(try tab.report(within: 90) == "whole-14")
            #expect(Set(film.licences).count == 2, "\(film.licences)")
            if edge == .nginx {
                let codes = try proxy.codes()
                #expect(codes.contains("renewed") && !codes.contains { $0.hasPrefix("grant_") }, "\(codes)")
            }
        }
    }

    @Test private func `gets the licence of a key that comes in the course of a live film`() async throws {
        let (browser, film) = (try FilmBrowser.installed(), try ProtectedFilm())
        try await Self.with(.nginx) { (gate, proxy) throws in
            film.serve(by: proxy, to: browser) { browser.hear($0) }
            let url = "http://\(proxy.address)\(ProtectedFilm.live)?token=\(try gate.token().percentEncoded)"
            let tab = try browser.open(url, in: .dash, at: proxy, lasting: 2 * ProtectedFilm.secondsOfPeriod)
            // A live film is joined where it is live, and seen to its end.
            try gate.inRealTime {
                let report = try tab.report(within: 60)
                #expect(report == "whole-14" || report.hasPrefix("part-1-14-"), "\(report)")
            }
            #expect(Set(film.licences).count == 2, "\(film.licences)")
        }
    }

    @Test private func `gets no licence after its playback was revoked`() async throws {
        let (browser, film) = (try FilmBrowser.installed(), try ProtectedFilm())
        try await Self.with(.nginx) { (gate, proxy) throws in
            let isRevoked = Mutex(false)
            film.serve(by: proxy, to: browser) { path in
                browser.hear(path)
                // The operator revokes the provider before the player has the manifest.
                guard path.hasPrefix(ProtectedFilm.start),
                    isRevoked.withLock({ old in
                        defer { old = true }
                        return !old
                    })
                else { return }
                let answer = try? gate.post("/v1/revocations", body: "{\"mvpd\":\"SandboxMVPD\"}")
                #expect(answer?.status == 201)
            }
            let url = "http://\(proxy.address)\(ProtectedFilm.start)?token=\(try gate.token().percentEncoded)"
            let report = try browser.open(url, in: .dash, at: proxy).report(within: 60)
            #expect(report.hasPrefix("403-of-"), "\(report)")
            #expect(film.licences.isEmpty)
        }
    }
}
