// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The configuration files that users begin with, with the page of nginx as printed: ffmpeg plays a whole film.
/// `The example for compose` does the same for the files of compose.
@Suite(.needs(.nginx), .needsFFmpeg, .serialized) struct `A film behind a shipped configuration` {
    @Test(arguments: ["packaging/gate.yaml", "examples/gate.yaml"])
    func `is seen as a whole, by one token`(name: String) async throws {
        let folder = try TemporaryFolder()
        let socket = folder.file("edge.sock")
        var text = try EdgeProxy.file(name)
        for (printed, other) in [
            ("keys/signer.pem", "signer.pem"), ("/var/lib/playgate/", folder.path + "/"),
            ("/run/playgate/api.sock", folder.file("api.sock")), ("127.0.0.1:8080", "127.0.0.1:0"),
            ("unix:/run/playgate/edge.sock", "unix:\(socket)"), ("listen: 127.0.0.1:8081", "listen: unix:\(socket)"),
            ("127.0.0.1:9090", "127.0.0.1:0"), ("  anonymous: true", "  hosts: [gate, g]\n  anonymous: true"),
            ("  socketGroup: www-data\n", ""),
        ] { text = text.replacing(printed, with: other) }
        let film = try FilmStream(.hls, segments: 8, seconds: 1, in: "/live/tnt")
        try await RunningGate.with(text) { (gate) throws in
            let options = RunningEdge.Options(port: try RunningEdge.freePort())
            let proxy = try RunningEdge(.nginx, in: folder, gate: socket, options: options)
            proxy.origin.serve(film.files)
            let token = try gate.token()
            let url = "http://\(proxy.address)\(film.start)?token=\(token.percentEncoded)"
            let seen = try film.play(url)
            #expect(seen.isWhole, "\(seen)")
            #expect(try film.play(url).frames == 0, "the token is used up")
            // A segment without the grant is closed.
            let segment = try #require(film.files.keys.first { $0.hasSuffix(".ts") })
            #expect(try proxy.get(segment).status == 401)
            // The player's backend starts it by its id.
            let playback = try gate.play("tnt-live", token: try gate.token(GateSample.claims(session: "two")))
            let grant = try #require(playback.json["grant"] as? [String: Any], "\(playback)")
            #expect(playback.status == 200 && grant["scope"] as? [String] == ["/live/tnt/"], "\(playback)")
            let cookie = try #require((grant["setCookies"] as? [String])?.first).prefix { $0 != ";" }
            #expect(try proxy.get(segment, headers: ["Cookie": String(cookie)]).status == 200)
        }
    }
}
