// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Keys
import VendorTokens

extension Formats {
    /// Returns the works with vendors' formats: issued, and verified where an edge of one's own does.
    static func vendors(_ material: Material) throws -> [Work] {
        let secret = try SigningSecret(bytes: material.secret)
        let settings: [(row: String, format: VendorFormat, settings: [String: String])] = [
            ("edgeauth", .edgeAuth, [:]), ("cloudfront", .cloudFront, ["key-pair-id": "K2JCJMDEHXQW5F"]),
            ("secure-link", .secureLink, ["weak": "true", "template": "{expires}{path} {secret}"]),
            ("url-sig", .urlSig, ["weak": "true"]),
            ("access-control", .accessControl, ["kid": "key1", "subject": "s"]),
        ]
        let key = VendorKey.privateKey(try SigningPrivateKey(pem: Array(material.rsa.utf8)))
        let request = request(material)
        var works = bare(material)
        for (row, format, settings) in settings {
            let issuer = try format.issuer(with: format == .cloudFront ? key : .secret(secret), settings: settings)
            works.append(
                Work("issue-\(row)", contender: "playgate") { n in
                    for _ in 0..<n { precondition((try? issuer.issue(request)) != nil) }
                }
            )
            guard let verifier = try format.verifier(with: .secret(secret), settings: settings) else { continue }
            let token = try issuer.issue(request).token
            let presented = SignedRequest(path: request.path)
            works.append(
                Work(row, contender: "playgate") { n in
                    for _ in 0..<n { precondition(verifier.verify(token, for: presented, at: .now()).grant != nil) }
                }
            )
        }
        return works
    }

    /// The wish that `bench/peers/formats.py` has too.
    private static func request(_ material: Material) -> SigningRequest {
        var request = SigningRequest(
            path: "/live/tnt/a.m3u8",
            issued: material.now,
            expires: tomorrow(material)
        )
        request.host = "cdn.example"
        return request
    }

    /// Returns the bare primitives over texts of the formats' sizes.
    private static func bare(_ material: Material) -> [Work] {
        let secret = material.secret
        func code(_ row: String, of text: String) -> Work {
            let text = Array(text.utf8)
            return Work(row, contender: "bare") { n in
                precondition(limits_hmac(secret, secret.count, text, text.count, Int32(n)) == Int32(n))
            }
        }
        let edgeAuth = "exp=1925000420~url=/live/tnt/a.m3u8"
        let access = "sub=s&exp=1925000420&iat=1925000120&kid=key1&st=HMAC-SHA-256&md="
        let link = Array("1925000420/live/tnt/a.m3u8 playgate-benchmark-secret-32-byt".utf8)
        let sig = Array("cdn.example/live/tnt/a.m3u8?E=1925000420&A=1&K=0&P=1&S=".utf8)
        let policy = Array(
            #"{"Statement":[{"Resource":"https://cdn.example/live/tnt/a.m3u8","Condition":{"DateLessThan":{"AWS:EpochTime":1925000420}}}]}"#
                .utf8
        )
        guard let signer = limits_signer_new(material.rsa) else { fatalError("no key") }
        let digest = { (n: Int) in precondition(limits_md5(link, link.count, Int32(n)) == Int32(n)) }
        return [
            code("edgeauth", of: edgeAuth), code("issue-edgeauth", of: edgeAuth), code("access-control", of: access),
            code("issue-access-control", of: access), Work("secure-link", contender: "bare", body: digest),
            Work("issue-secure-link", contender: "bare", body: digest),
            Work("issue-url-sig", contender: "bare") { n in
                precondition(limits_hmac_sha1(secret, secret.count, sig, sig.count, Int32(n)) == Int32(n))
            },
            Work("issue-cloudfront", contender: "bare") { n in
                precondition(limits_signer_sign(signer, policy, policy.count, Int32(n)) == Int32(n))
            },
        ]
    }
}
