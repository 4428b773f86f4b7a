// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Testing

@testable import VendorTokens

/// The examples that the specification prints, byte for byte.
@Suite struct `Vendors' examples` {
    private func edgeAuth(_ change: (inout EdgeAuthRules) -> Void) throws -> EdgeAuthIssuer {
        var rules = EdgeAuthRules()
        change(&rules)
        return try EdgeAuthIssuer(try VendorSample.bytes(), rules: rules)
    }

    @Test func `of EdgeAuth`() throws {
        let folder = try Signing(VendorSample.request())
        #expect(
            try edgeAuth { $0.hasStart = true }.token(folder)
                == "st=1925000120~exp=1925000420~acl=/live/tnt/*~hmac=1c47cf9b16d6930edee447367cad855720be7118d8011aac40"
                + "060147d09b7d76"
        )
        let session = try Signing(VendorSample.request(session: "s-1"))
        let two = try edgeAuth {
            $0.patterns = ["/keys/tnt/*"]
            $0.data = "tnt live"
        }
        #expect(
            try two.token(session)
                == "exp=1925000420~acl=/live/tnt/*!/keys/tnt/*~id=s-1~data=tnt live~hmac=734e4d5a515ca1dc876e2a45534477f"
                + "c07ca0f2a8c09523f5c4c5281407bdd9c"
        )
        let escaped = try edgeAuth {
            $0.isEscaped = true
            $0.data = "tnt live"
        }
        #expect(
            try escaped.token(Signing(VendorSample.request(client: "203.0.113.9", session: "s-1")))
                == "ip=203.0.113.9~exp=1925000420~acl=/live/tnt/*~id=s-1~data=tnt+live~hmac=07a571d83587a8214e86e9e6c5de"
                + "976526f7cb7196630fba3dcb84f4b0ae7ad3"
        )
        let master = try Signing(VendorSample.request("/live/tnt/master.m3u8"))
        #expect(
            try edgeAuth { $0.salt = "pepper" }.token(master)
                == "exp=1925000420~hmac=c4c9e4b5a92e7370d4db896f81a4923eb0f4eca988178f081b1faaf8a57e6416"
        )
        #expect(
            try edgeAuth { $0.isEscaped = true }.token(master)
                == "exp=1925000420~hmac=d321cff1c8fd5ff748753d4dc8fd272e20b210020a3b30a6d391dbe2aea3977b"
        )
        let sha1 = try edgeAuth {
            $0.algorithm = .sha1
            $0.isWeak = true
        }
        #expect(
            try sha1.token(folder) == "exp=1925000420~acl=/live/tnt/*~hmac=1129cb06fff1a8848f7a466c5cb1b9915c763cb8"
        )
        #expect(sha1.warnings == [.weakAlgorithm])
    }

    @Test func `of CloudFront`() throws {
        var rules = CloudFrontRules(keyPairID: "K2JCJMDEHXQW5F")
        let canned = try CloudFrontIssuer(VendorSample.rsa.get(), rules: rules)
        let policy = try canned.policy(Signing(VendorSample.request(VendorSample.manifest)))
        #expect(
            policy
                == #"{"Statement":[{"Resource":"https://cdn.example/live/tnt/a.m3u8","Condition":{"DateLessThan":{"AWS:EpochTime":1925000420}}}]}"#
        )
        #expect(policy.utf8.count == 124)
        let first = try canned.issue(VendorSample.request(VendorSample.manifest))
        #expect(first.query?.hasPrefix("Expires=1925000420&Signature=") == true)
        #expect(first.query?.hasSuffix("&Key-Pair-Id=K2JCJMDEHXQW5F&Hash-Algorithm=SHA256") == true)
        rules.hasStart = true
        let custom = try CloudFrontIssuer(VendorSample.rsa.get(), rules: rules)
            .issue(VendorSample.request(client: "203.0.113.0/24"))
        let text =
            "eyJTdGF0ZW1lbnQiOlt7IlJlc291cmNlIjoiaHR0cHM6Ly9jZG4uZXhhbXBsZS9saXZlL3RudC8qIiwiQ29uZGl0aW9uIjp7IkRhdGVMZXNzVGhhbiI6eyJBV1M6"
            + "RXBvY2hUaW1lIjoxOTI1MDAwNDIwfSwiSXBBZGRyZXNzIjp7IkFXUzpTb3VyY2VJcCI6IjIwMy4wLjExMy4wLzI0In0sIkRhdGVHcmVhdGVyVGhhbiI6eyJBV1M6"
            + "RXBvY2hUaW1lIjoxOTI1MDAwMTIwfX19XX0_"
        #expect(custom.cookies.first == .init(name: "CloudFront-Policy", value: text, path: "/live/tnt/"))
        #expect(custom.query?.hasPrefix("Policy=\(text)&") == true)
        #expect(CloudFrontIssuer.encoded([0xFB, 0xFF, 0xBE, 0x00]) == "-~--AA__")
    }

    @Test func `of nginx's secure_link`() throws {
        var rules = SecureLinkRules(try SigningTemplate("{expires}{path}{address} {secret}"))
        rules.isWeak = true
        let issuer = try SecureLinkIssuer(SigningSecret("secret", form: .text), rules: rules)
        let delivery = try issuer.issue(VendorSample.request(VendorSample.manifest, client: "203.0.113.9"))
        #expect(delivery.query == "md5=GjKr4Oc5qI7iYMIVPDXO_g&expires=1925000420")
        #expect(issuer.warnings == [.shortSecret, .weakAlgorithm])
    }

    @Test func `of Traffic Server's access_control`() throws {
        var rules = AccessControlRules()
        rules.tokenID = "t-1"
        let issuer = try AccessControlIssuer(AccessControlKey(VendorSample.text(), id: "key1"), rules: rules)
        let delivery = try issuer.issue(VendorSample.request(session: "s-1"))
        let token = try #require(Base64.decodeURLSafe(delivery.token))
        #expect(
            String(decoding: token, as: UTF8.self)
                == "sub=s-1&exp=1925000420&iat=1925000120&tid=t-1&kid=key1&st=HMAC-SHA-256&md=e9d94bc4e3e56ea5665acfffba"
                + "71ca272ffba77fc0c4cdfcb0c99634ee55b138"
        )
    }

    @Test func `of Media CDN`() throws {
        let signed = try MediaCDNIssuer(SigningPrivateKey(seed: VendorSample.bytes()))
        #expect(
            try signed.issue(VendorSample.request()).query
                == "edge-cache-token=PathGlobs=/live/tnt/*~Expires=1925000420~Signature=vrcC2SK1L2tJ-HhYQDftUX-quDYM98pU"
                + "675GYDG_aFF1O_k_3gfkIb6kWf_WxxOjHI6HQaC--esP96cbHyqKDA"
        )
        var rules = MediaCDNRules()
        rules.folder = .prefix
        let prefix = try MediaCDNIssuer(VendorSample.bytes(), algorithm: .sha256, rules: rules)
        #expect(
            try prefix.issue(VendorSample.request(client: "203.0.113.0/24", session: "s-1")).token
                == "URLPrefix=aHR0cHM6Ly9jZG4uZXhhbXBsZS9saXZlL3RudC8~Expires=1925000420~SessionID=s-1~IPRanges=MjAzLjAu"
                + "MTEzLjAvMjQ~hmac=88674a94c6b0684477e9330960dabdbebe79ca056c0c09178165ece6cf8e415d"
        )
        rules.headers = [.init("user-agent", value: "x")]
        let path = try MediaCDNIssuer(VendorSample.bytes(), algorithm: .sha256, rules: rules)
        #expect(
            try path.issue(VendorSample.request(VendorSample.manifest)).token
                == "FullPath~Expires=1925000420~Headers=user-agent~hmac=b9d7b87b333a95145d50f74c372a9dc60324f8fc2a40550b"
                + "8cd7754f16a7ec73"
        )
    }

    @Test func `of Bunny`() throws {
        let issuer = try BunnyIssuer(VendorSample.text())
        let folder = try issuer.issue(VendorSample.request())
        #expect(folder.token == "HS256-lQ7ijgteIYuJcDTtmXanSzDpKUfCa4ZX7nx4pajQe0o")
        #expect(
            folder.path
                == "/bcdn_token=HS256-lQ7ijgteIYuJcDTtmXanSzDpKUfCa4ZX7nx4pajQe0o&token_path=%2Flive%2Ftnt%2F&expires=19"
                + "25000420/live/tnt/"
        )
        let file = try issuer.issue(VendorSample.request(VendorSample.manifest))
        #expect(file.query == "token=HS256-SiytV4PsdD7BTWAOiBZduGGIx4jfr_aNYI5Y1Mm-EJA&expires=1925000420")
        let bound = try issuer.issue(VendorSample.request(VendorSample.manifest, client: "203.0.113.9"))
        #expect(bound.token == "HS256-1-C1OWa0LFnah4RJD13WRLQgP8gjut7njmB-5q_wcjXAU")
    }

    @Test func `of Cloudflare`() throws {
        let delivery = try CloudflareIssuer(VendorSample.text()).issue(VendorSample.request(VendorSample.manifest))
        #expect(
            delivery.url
                == "https://cdn.example/live/tnt/a.m3u8?verify=1925000120-IJfj6q_5i6NQk_ycTJIFw5a8yz3gB2dfLml3EPFsZTw"
        )
    }

    @Test func `of Fastly`() throws {
        var rules = FastlyRules()
        rules.isWeak = true
        let delivery = try FastlyIssuer(VendorSample.bytes(), rules: rules).issue(
            VendorSample.request(VendorSample.manifest)
        )
        #expect(delivery.query == "token=1925000420_d8a77e1c85e65932a4ae685669b4e1080b5b3308")
    }
}
