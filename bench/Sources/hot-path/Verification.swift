// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import MediaResources
import MediaTokens

extension HotPath {
    /// Measures a whole verification.
    static func verification(_ options: Options) throws -> [String] {
        let issued = try SignedToken()
        let (token, raw, now) = (issued.token, issued.raw, SignedToken.time)
        let resource = try MediaResource("TNT")
        let verifier = try issued.verifier()
        let caching = try issued.verifier(cache: AuthenticatedTokenCache())
        guard caching.verify(token.span, for: resource, at: now).isValid else {
            fatalError("the token does not verify")
        }
        let table = Table(
            "RSA-2048, \(token.count) characters of Base64, \(issued.body.count) signed bytes",
            options: options
        )
        issued.addLimits(to: table)
        table.measure("whole verification", count: 300) { n in
            for _ in 0..<n { precondition(verifier.verify(token.span, for: resource, at: now).isValid) }
        }
        table.measure("whole verification, raw token", count: 300) { n in
            for _ in 0..<n { precondition(verifier.verify(raw.span, for: resource, at: now).isValid) }
        }
        table.measure("cache hit", count: 3000) { n in
            for _ in 0..<n { precondition(caching.verify(token.span, for: resource, at: now).isValid) }
        }
        table.run()
        let (limit, whole, hit) = (table["SHA-256"], table["whole verification"], table["cache hit"])
        return table.faults([
            ("a verification beyond OpenSSL's", whole - limit, 1), ("a cache hit", hit, 0),
        ])
    }

    /// Measures the part of a verification outside OpenSSL, with texts that are refused at later and later steps. The
    /// remainder is the time for the fields.
    static func steps(_ options: Options) throws {
        let issued = try SignedToken()
        let (verifier, resource) = (try issued.verifier(), try MediaResource("TNT"))
        // All texts have the same length, so that each does the work of the one before it and more.
        func filled(_ signature: Int) -> String {
            let head = "<signatureInfo>" + String(repeating: "A", count: signature) + "<signatureInfo>"
            let (start, end) = ("<authToken>", "</authToken>")
            let size = issued.token.count / 4 * 3 - head.utf8.count - start.utf8.count - end.utf8.count
            return SignedToken.encodeBase64(head + start + String(repeating: "x", count: size) + end)
        }
        let rows: [(String, String, RefusalReason)] = [
            ("its characters", String(repeating: "A", count: issued.token.count), .invalidEnvelope),
            ("and its envelope", filled(0), .invalidSignatureEncoding),
            ("and its signature's characters, and the digest", filled(340), .signatureLength),
        ]
        let table = Table(
            "Reading a token of \(issued.token.count) characters, without its signature",
            options: options
        )
        table.measure("memcpy of the token", count: 30_000) { n in
            limits_copy(issued.token, issued.token.count, Int32(n))
        }
        for (name, text, reason) in rows {
            let bytes = [UInt8](text.utf8)
            let found = verifier.verify(bytes.span, for: resource, at: SignedToken.time).reason
            guard found == reason else { fatalError("\(name): \(String(describing: found))") }
            table.measure(name, count: 3000) { n in
                for _ in 0..<n {
                    precondition(!verifier.verify(bytes.span, for: resource, at: SignedToken.time).isValid)
                }
            }
        }
        table.run()
    }

    static func keySizes(_ options: Options) throws {
        for bits in [1024, 2048, 3072, 4096] {
            let issued = try SignedToken(bits: bits)
            let (verifier, resource) = (try issued.verifier(), try MediaResource("TNT"))
            let table = Table("RSA-\(bits)", options: options)
            issued.addLimits(to: table, 200)
            table.measure("whole verification", count: 200) { n in
                for _ in 0..<n {
                    precondition(verifier.verify(issued.token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
            table.run()
        }
    }

    /// Measures several trusted keys. Those that have signed tokens of the same requestor and MVPD are tried first, the most
    /// frequent first. If tokens of two keys alternate, that is the wrong key half of the time; with a requestor for each, never.
    static func numbersOfKeys(_ options: Options) throws {
        let (first, other, last) = (try SignedToken(), try SignedToken(requestor: "REF31"), try SignedToken())
        let others = try (0..<6).map { _ in try DevelopmentKeys(at: SignedToken.time).signerCertificate }
        let resource = try MediaResource("TNT")
        let table = Table("Numbers of trusted keys", options: options)
        last.addLimits(to: table)
        for count in [1, 2, 4, 8] {
            let before = count == 1 ? [] : [first.certificate] + others.prefix(count - 2)
            let verifier = try last.verifier(behind: before)
            table.measure("\(count) trusted, tokens of the last", count: 100) { n in
                for _ in 0..<n {
                    precondition(verifier.verify(last.token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
            guard count > 1 else { continue }
            let distinct = try last.verifier(behind: [other.certificate] + others.prefix(count - 2))
            table.measure("\(count) trusted, of two requestors in turn", count: 100) { n in
                for number in 0..<n {
                    let issued = number.isMultiple(of: 2) ? other : last
                    precondition(distinct.verify(issued.token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
            table.measure("\(count) trusted, of the first and the last in turn", count: 100) { n in
                for number in 0..<n {
                    let issued = number.isMultiple(of: 2) ? first : last
                    precondition(verifier.verify(issued.token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
        }
        table.run()
    }

    static func caches(_ options: Options) throws {
        let issued = try SignedToken()
        let resource = try MediaResource("TNT")
        let plain = try issued.verifier()
        // The small cache evicts every entry before its token comes again. The large cache has room for all tokens.
        let small = try issued.verifier(cache: AuthenticatedTokenCache(capacity: 64))
        let large = try issued.verifier(cache: AuthenticatedTokenCache())
        let tokens = try issued.tokens(1024)
        let table = Table("Cache of authenticated tokens, \(tokens.count) tokens in turn", options: options)
        issued.addLimits(to: table)
        for (name, verifier, count) in [
            ("without a cache", plain, 300), ("a miss, and another entry leaves", small, 300), ("a hit", large, 3072),
        ] {
            var next = 0
            table.measure(name, count: count) { n in
                for _ in 0..<n {
                    let token = tokens[next]
                    precondition(verifier.verify(token.span, for: resource, at: SignedToken.time).isValid)
                    next = (next + 1) % tokens.count
                }
            }
        }
        table.measure("a miss, with room for more", count: 1000) { n in
            guard let fresh = try? issued.verifier(cache: AuthenticatedTokenCache()) else { fatalError("no verifier") }
            for token in tokens[..<n] {
                precondition(fresh.verify(token.span, for: resource, at: SignedToken.time).isValid)
            }
        }
        table.run()
    }

    static func kindsOfTokens(_ options: Options) throws {
        let fragment = sampleFragment
        let spelt = fragment.replacing(" xmlns:media", with: "  xmlns:media")
        let cdata = fragment.replacing("<title>TNT</title>", with: "<title><![CDATA[TNT]]></title>")
        let rows = [
            ("a plain resource", "TNT", "TNT"), ("Media RSS, the same bytes", fragment, fragment),
            ("Media RSS, another spelling", spelt, fragment), ("Media RSS, CDATA", cdata, fragment),
        ]
        let table = Table("Kinds of resources in a token", options: options)
        try SignedToken().addLimits(to: table)
        for (name, granted, wanted) in rows {
            let issued = try SignedToken(resource: granted)
            let (verifier, resource) = (try issued.verifier(), try MediaResource(wanted))
            table.measure(name, count: 200) { n in
                for _ in 0..<n {
                    precondition(verifier.verify(issued.token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
        }
        table.run()
    }

    /// Measures refusals, which must not cost more than accepted tokens.
    static func refusals(_ options: Options) throws {
        let (issued, foreign) = (try SignedToken(), try SignedToken())
        let resource = try MediaResource("TNT")
        let (verifier, caching) = (try issued.verifier(), try issued.verifier(cache: AuthenticatedTokenCache()))
        var forged = issued.raw
        // The resource of a signed token is replaced.
        forged.replaceSubrange(try range(of: "TNT", in: forged), with: Array("TBS".utf8))
        let requestor = try issued.issuer.issue(SignedToken.claims("TNT", requestor: "OTHER"), at: SignedToken.time)
        let late = Timestamp(millisecondsSince1970: SignedToken.time.millisecondsSince1970 + 3_600_000)
        let rows: [(String, Verifier, [UInt8], Timestamp, RefusalReason)] = [
            ("malformed: not Base64", verifier, Array("%".utf8) + issued.token, SignedToken.time, .invalidBase64),
            (
                "malformed: no envelope", verifier, Array(repeating: UInt8(ascii: "A"), count: 812), SignedToken.time,
                .invalidEnvelope
            ),
            ("forged", verifier, forged, SignedToken.time, .untrustedSignature),
            ("forged, seen before (cache)", caching, forged, SignedToken.time, .untrustedSignature),
            ("of a foreign key", verifier, foreign.token, SignedToken.time, .untrustedSignature),
            ("expired", verifier, issued.token, late, .expired),
            ("of another requestor", verifier, Array(requestor.serialized.utf8), SignedToken.time, .requestorMismatch),
        ]
        let table = Table("Refusals", options: options)
        issued.addLimits(to: table)
        for (name, verifier, token, time, reason) in rows {
            let found = verifier.verify(token.span, for: resource, at: time).reason
            guard found == reason else { fatalError("\(name): \(String(describing: found))") }
            table.measure(name, count: 200) { n in
                for _ in 0..<n { precondition(!verifier.verify(token.span, for: resource, at: time).isValid) }
            }
        }
        table.run()
    }

    private static func range(of text: String, in bytes: [UInt8]) throws -> Range<Int> {
        let text = Array(text.utf8)
        let start = bytes.indices.dropLast(text.count).first { Array(bytes[$0..<($0 + text.count)]) == text }
        guard let start else { fatalError("no \(text)") }
        return start..<(start + text.count)
    }
}
