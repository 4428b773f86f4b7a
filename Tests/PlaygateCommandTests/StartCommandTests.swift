// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// `playgate verify --starts`: an access token by the section `starts` of a configuration.
@Suite struct `The verify command, with starts` {
    private let folder: TemporaryFolder
    private let made: GeneratedKey
    private static let issuer = "tv-backend"

    init() throws {
        folder = try TemporaryFolder()
        made = try TokenKey.generate(
            .es256,
            id: KeyID("key-1"),
            binding: AccessTokenIssuer(Self.issuer, audience: [], rules: []).binding
        )
        try folder.write("keys.json", contents: try KeySet([made.key]).publishedJWKSet)
        try folder.write(
            "gate.yaml",
            contents: """
                requestor: tv
                starts: [{ issuer: tv-backend, source: keys.json, audience: playgate, allow: [{ claim: resource }] }]
                streams: [{ folder: /live/tnt/, resource: TNT }]
                api: { listen: "unix:\(folder.path)/api.sock" }
                """
        )
    }

    private func token(_ resource: String = "TNT", life: Int64 = 300) throws -> String {
        let now = Timestamp.now().millisecondsSince1970 / 1000
        let header = #"{"alg":"ES256","kid":"key-1","typ":"at+jwt"}"#
        let claims =
            #"{"iss":"tv-backend","aud":"playgate","sub":"v-1","iat":\#(now),"exp":\#(now + life),"resource":"\#(resource)"}"#
        return try made.key.signedJWS(
            [header, claims].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        )
    }

    private func verify(_ token: String, _ more: [String] = []) throws -> CommandRun {
        try CommandRun(["verify", "--starts", folder.file("gate.yaml"), "--resource", "TNT"] + more, input: token)
    }

    @Test func `says who may start, or the code and what to look at`() throws {
        let good = try verify(try token())
        #expect(good.status == 0 && good.output == "valid: viewer v-1 of tv-backend\n", "\(good)")
        let json = try verify(try token(), ["--json"])
        #expect(
            json.output.hasPrefix("{\"valid\":true,\"code\":null,\"provider\":\"tv-backend\",\"viewer\":\"v-1\""),
            "\(json)"
        )
        let other = try verify(try token("CNN"))
        #expect(other.status == 1 && other.output.hasPrefix("refused (access_token_resource_refused): "), "\(other)")
        let old = try verify(try token(life: -60), ["--json"])
        #expect(old.status == 1 && old.output.contains("\"code\":\"access_token_expired\""), "\(old)")
    }

    @Test func `refuses wrong usage, and configurations without starts`() throws {
        let file = folder.file("gate.yaml")
        for arguments in [
            ["--starts", file], ["--starts", file, "--resource", "TNT", "--requestor", "R"],
            ["--starts", file, "--resource", "TNT", "--trust", "a"], ["--starts", file, "--authenticity-only"],
            ["--starts", file, "--resource", "TNT", "--batch", "-"], ["--resource", "TNT", "--trust", "a"],
        ] { #expect(try CommandRun(["verify"] + arguments, input: "a.b.c").status == 64, "\(arguments)") }
        try folder.write("other.yaml", contents: "requestor: tv\n")
        let faulty = try CommandRun(
            ["verify", "--starts", folder.file("other.yaml"), "--resource", "TNT"],
            input: "a.b.c"
        )
        #expect(faulty.status == 2, "\(faulty)")
    }
}
