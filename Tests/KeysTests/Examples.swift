// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import Platform

/// Tokens with their keys, which two independent COSE libraries agree about.
enum Example {
    static let now = Timestamp(secondsSince1970: 1_925_000_200)
    static let binding = KeyBinding(issuer: "playgate", format: .cat)

    /// E1, renewed E1 and E3: HS256.
    static let macTokens = [
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWJCpAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZ"
            + "ATiiAaEAa2Nkbi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDpAABARkBLAIYeAWDb1BhdGg9L2xpdmUvdG50"
            + "L2ZTZWN1cmVoSHR0cE9ubHlYIHAJw0km1vP6XEUvzYc-ovSBR-iIk6ZEivk6Y2zQPESf",
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWJCpAWhwbGF5Z2F0ZQQacr0tygUacr0ruAYacr0sngdQChssPU5fYHGCk6S1xtfo-RkBNgEZ"
            + "ATiiAaEAa2Nkbi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDpAABARkBLAIYeAWDb1BhdGg9L2xpdmUvdG50"
            + "L2ZTZWN1cmVoSHR0cE9ubHlYIAbG_33UAwT7u_HJm98Sj10d2MlUMYxEnYf8DkJW8SVR",
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWM2sAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZ"
            + "ATiiAaEAa2Nkbi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDowABARkBLAIYeDoAAQAAUOaIBFxgTV7MJyz3"
            + "2DsA7BY6AAEAARpyvdRuOgABAAJYOAAAAcAy8p-wnNwa1gXZ3ECqBBNXdjT8Q4JmkumNffYY30K_M-qror8SNGfU5MXJU_pbzfz1"
            + "uWkZWCAuiQ4wUGx15pnnLR3aqIed52VFavNzSyWVKjYxcJrjHA",
    ]
    /// E2: ES256, with the higher s.
    static let signedToken =
        "2D3ShEyiASYER3BnLWVzLTGgWH2oAWhwbGF5Z2F0ZQOCZmVkZ2UtMWZlZGdlLTIEGnK9OVAHUAARIjNEVWZ3iJmqu8zd7v8ZATYB"
        + "GQE3g9g0ghgYQ8sAcdg2ghgwRiABDbgAARn79BkBOKMAoQBlaHR0cHMDoQFqL3ZvZC8xMjM0LwihAGNtNHMZATmBY0dFVFhAgjwk"
        + "t7Qcc3z0lfpAXZ-5LiAXFhV7kyTqHivvShxNdw3nXpuB63Wu-NEKmmE7ISo6iSEQw1q66VCrvCFa5FJMXA"

    static var tokens: [String] { macTokens + [signedToken] }

    static let secret = [UInt8](0..<32)
    static let coseKeySet = [UInt8](
        hex:
            "81a70102024770672d65732d3103260481022001215820b0fd95cd35bf48ffa5b75461597727f1926d98fdd4281d4e19cac9ff6197aa9c"
            + "225820af985e28c26d845e55cffb65a1fb8bcb505600268bfacff379f133ae5820e2e5"
    )
    static let jwkSet = """
        {"keys":[{"kty":"EC","crv":"P-256","kid":"pg-es-1","use":"sig","alg":"ES256",\
        "x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw","y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"}]}
        """

    static func macKey(leniency: KeyLeniency = []) throws -> TokenKey {
        var binding = binding
        binding.leniency = leniency
        return try TokenKey(secret: secret, id: KeyID("pg-2026-11"), binding: binding)
    }

    /// The keys of all examples.
    static func keys() throws -> KeySet {
        try KeySet([macKey()] + KeySetReading(coseKeySet: coseKeySet, source: .published, binding: binding).keys)
    }

    static func bytes(_ token: String) throws -> [UInt8] {
        let text = [UInt8](token.utf8)
        var buffer = [UInt8](repeating: 0, count: COSEText.bufferSize)
        var output = buffer.mutableSpan
        let count = try COSEText.decode(text.span, into: &output).get()
        return Array(buffer.prefix(count))
    }
}

extension KeySet {
    /// Verifies an envelope, and returns its payload.
    func payload(_ envelope: [UInt8], at now: Timestamp = Example.now) throws(COSERefusal) -> [UInt8] {
        switch verify(cose: envelope.span, at: now) {
        case .verified(_, let payload): return Array(envelope[payload])
        case .refused(let refusal): throw refusal
        }
    }
}
