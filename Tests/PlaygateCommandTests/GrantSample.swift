// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateTestSupport
import Keys
import Platform
import Testing

@testable import playgate

/// The keys and tokens of the specification's examples, and checks of them by the command line in this process.
struct GrantSample: Sendable {
    let folder: TemporaryFolder
    /// The paths of E1's and E2's keys: a JWK Set, and a COSE key set with only E2's.
    let keys: String
    let coseKeys: String

    static let shared = Result { try GrantSample() }

    private init() throws {
        folder = try TemporaryFolder()
        keys = try folder.write(
            "keys.json",
            contents: """
                {"keys":[{"kty":"oct","kid":"pg-2026-11","alg":"HS256","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"},\
                {"kty":"EC","crv":"P-256","kid":"pg-es-1","use":"sig","alg":"ES256",\
                "x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw","y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"}]}
                """
        )
        coseKeys = try folder.write("keys.cose", contents: Self.bytes(Self.coseKeySet))
    }

    static let coseKeySet =
        "81a70102024770672d65732d3103260481022001215820b0fd95cd35bf48ffa5b75461597727f1926d98fdd4281d4e19cac9ff6197aa9c"
        + "225820af985e28c26d845e55cffb65a1fb8bcb505600268bfacff379f133ae5820e2e5"

    /// The time of issue of E1, in seconds.
    static let issued: Int64 = 1_925_000_120

    static let e1 =
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWJCpAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZATiiAaEAa2Nk"
        + "bi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDpAABARkBLAIYeAWDb1BhdGg9L2xpdmUvdG50L2ZTZWN1cmVoSHR0cE9u"
        + "bHlYIHAJw0km1vP6XEUvzYc-ovSBR-iIk6ZEivk6Y2zQPESf"
    static let e2 =
        "2D3ShEyiASYER3BnLWVzLTGgWH2oAWhwbGF5Z2F0ZQOCZmVkZ2UtMWZlZGdlLTIEGnK9OVAHUAARIjNEVWZ3iJmqu8zd7v8ZATYBGQE3g9g0ghgY"
        + "Q8sAcdg2ghgwRiABDbgAARn79BkBOKMAoQBlaHR0cHMDoQFqL3ZvZC8xMjM0LwihAGNtNHMZATmBY0dFVFhAgjwkt7Qcc3z0lfpAXZ-5LiAX"
        + "FhV7kyTqHivvShxNdw3nXpuB63Wu-NEKmmE7ISo6iSEQw1q66VCrvCFa5FJMXA"
    static let e3 =
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWM2sAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZATiiAaEAa2Nk"
        + "bi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDowABARkBLAIYeDoAAQAAUOaIBFxgTV7MJyz32DsA7BY6AAEAARpyvdRu"
        + "OgABAAJYOAAAAcAy8p-wnNwa1gXZ3ECqBBNXdjT8Q4JmkumNffYY30K_M-qror8SNGfU5MXJU_pbzfz1uWkZWCAuiQ4wUGx15pnnLR3aqIed"
        + "52VFavNzSyWVKjYxcJrjHA"

    /// A request that E1 and E3 allow, and one that E2 does.
    static let live = ["--url", "https://cdn.example/live/tnt/seg1.m4s"]
    static let vod = [
        "--url", "https://cdn.example/vod/1234/seg1.m4s", "--audience", "edge-1", "--client", "203.0.113.9",
    ]

    /// Verifies a token with the examples' keys, one second after the issue of E1 unless `options` have a time.
    func verify(_ token: String, options: [String] = live) throws -> GrantAnswer {
        let time = options.contains("--at") ? [] : ["--at", String(Self.issued + 1)]
        let keys = options.contains("--keys") ? [] : ["--keys", keys]
        let command = try GrantCommand.Verify.parse(keys + time + options)
        return try command.check(token, at: try #require(command.at).time)
    }

    // MARK: Changed tokens

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.compactMap(\.hexadecimalDigit)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The bytes of a token.
    static func envelope(_ token: String) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: COSEText.bufferSize)
        var output = buffer.mutableSpan
        let count = try COSEText.decode(token.utf8.span, into: &output).get()
        return Array(buffer[..<count])
    }

    /// The payload of a token.
    static func payload(_ token: String) throws -> [UInt8] {
        let envelope = try envelope(token)
        return Array(envelope[try COSEMessage.parse(envelope.span).get().payload])
    }

    /// Returns a token whose envelope is E1's with a change.
    static func changedToken(_ token: String = e1, change: (inout [UInt8]) -> Void) throws -> String {
        var bytes = try envelope(token)
        change(&bytes)
        return COSEText.encode(bytes)
    }

    /// Returns a token that is signed again with E1's key, and whose payload is E1's with a change.
    static func signedToken(
        form: COSEForm = COSEForm(),
        change: (inout [UInt8]) -> Void = { _ in }
    ) throws -> String {
        var bytes = try payload(e1)
        change(&bytes)
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-2026-11"), binding: binding)
        return COSEText.encode(try key.signCOSE(bytes, form: form))
    }

    /// Returns a token with E1's claims and another one, a map of one entry in hexadecimal CBOR.
    static func adding(_ fragment: String) throws -> String {
        try signedToken { payload in
            payload[0] += 1
            payload += bytes(fragment).dropFirst()
        }
    }

    /// Returns a token with E1's claims, and another `catu`, in hexadecimal CBOR.
    static func withURI(_ value: String) throws -> String {
        let own = bytes("190138a201a1006b63646e2e6578616d706c6503a1016a2f6c6976652f746e742f")
        return try signedToken { payload in
            guard let range = payload.firstRange(of: own) else { return payload = [] }
            payload.replaceSubrange(range, with: bytes("190138" + value))
        }
    }
}
