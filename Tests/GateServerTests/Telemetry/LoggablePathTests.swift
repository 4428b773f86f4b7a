// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Telemetry
import Testing

/// What may be a token is blanked in logs, wherever it stands in a path.
@Suite struct `A path in logs` {
    private static let token = String(repeating: "aB3_", count: 40)

    @Test(arguments: [
        ("/live/tnt/seg-1.ts?cat=\(token)", "/live/tnt/seg-1.ts"), ("/~cat=\(token)/live/a.ts", "/~cat=…/live/a.ts"),
        ("/live/a.ts;URISigningPackage=\(token)", "/live/a.ts;URISigningPackage=…"),
        ("/live;v=1;t=\(token)/a.ts", "/live;v=1;t=…/a.ts"), ("/x/\(token)/a.ts", "/x/…/a.ts"),
        ("/x/\(token)", "/x/…"), ("/hdntl=exp=1~acl=/*~hmac=\(token)/a.ts", "/hdntl=exp=1~acl=/*~hmac=…/a.ts"),
        ("/bcdn_token%3D\(token)&expires=1/a", "/bcdn_token%3D…&expires=1/a"),
        ("/bcdn_token%3d\(token)/a", "/bcdn_token%3d…/a"), ("/t=short/a.ts", "/t=short/a.ts"),
        (
            "/vod/2f1c9a6b-6f0e-4e1a-9a38-0c6a1c1f9f31/seg_00001.m4s",
            "/vod/2f1c9a6b-6f0e-4e1a-9a38-0c6a1c1f9f31/seg_00001.m4s"
        ),
        ("/a/\(String(repeating: "f", count: 64)).ts", "/a/\(String(repeating: "f", count: 64)).ts"), ("/", "/"),
        ("", ""),
    ])
    func `has no token`(path: String, logged: String) {
        #expect(path[...].loggable == logged)
    }

    @Test func `has at most 2 KiB`() {
        #expect(String(repeating: "/abc", count: 2000)[...].loggable.utf8.count == 2048)
    }
}
