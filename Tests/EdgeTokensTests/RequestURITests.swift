// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import EdgeTokens

@Suite struct `Request URIs` {
    @Test func `a target in normal form is not copied`() throws {
        let uri = try #require(RequestURI("/live/tnt/a.m3u8?x=1", scheme: .https, authority: "CDN.example.:443"))
        #expect(uri.host == "cdn.example")
        #expect(uri.path == "/live/tnt/a.m3u8")
        #expect(uri.query == "x=1")
        #expect(uri.hasDefaultPort)
        #expect(uri.withoutQuery == "https://cdn.example/live/tnt/a.m3u8")
    }
}
