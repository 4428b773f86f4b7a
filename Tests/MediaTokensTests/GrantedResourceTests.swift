// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Resources of tokens` {
    private static func fragment(_ title: String, rest: String = "") -> String {
        """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>\(title)</title>\(rest)</channel></rss>
        """
    }

    /// Texts that are alike, of which some are other spellings of one resource, some are none, and some are not kept.
    private static let texts: [String] =
        ["TNT", "TBS", " TNT", "", " ", "<", "<rss", "<rss/>", "<other/>"]
        + ["TNT", "TNU", " TNT ", "<![CDATA[TNT]]>", "T&#78;T", "TNT\u{301}", "\u{0}"].map { fragment($0) }
        + (0..<40).map { fragment("TNT", rest: "<item><guid>\($0)</guid></item>") }
        + [16, 400, 2000].map {
            fragment("TNT", rest: "<item><guid>\(String(repeating: "1", count: $0))</guid></item>")
        }

    /// In any order and as often as they come, texts are the resources that they are when they are read by themselves.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `are the same, known or not`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<2000 {
            let text = random.pick(Self.texts)
            let (known, read) = (GrantedResources.resource(text.utf8.span), try? MediaResource(text))
            #expect(known == read, "\(text)")
            #expect(known?.text == read?.text, "\(text)")
        }
    }

    /// A known resource decides nothing: each call compares it with what is wanted, by the options of its policy.
    @Test func `are compared again on every call`() throws {
        let spelt = Self.fragment("<![CDATA[TNT]]>")
        let token = try TestSigner.main.get().issuer.issue(GateSample.claims(resource: spelt), at: Sample.time)
        let verifier = try Sample.verifier(cache: AuthenticatedTokenCache())
        let (same, other) = (try MediaResource(Self.fragment("TNT")), try MediaResource(Self.fragment("TBS")))
        for _ in 0..<3 {
            #expect(verifier.verify(token.raw, for: same, at: Sample.time).isValid)
            #expect(verifier.verify(token.raw, for: other, at: Sample.time).reason == .resourceMismatch)
        }
        var options = MediaResource.MatchOptions()
        options.exactOnly = true
        let policy = try VerificationPolicy(requestors: ["REF30"], matchOptions: options)
        let exact = Verifier(trust: try TestSigner.main.get().trust(), policy: policy)
        #expect(exact.verify(token.raw, for: same, at: Sample.time).reason == .resourceMismatch)
        #expect(exact.verify(token.raw, for: try MediaResource(spelt), at: Sample.time).isValid)
    }
}
