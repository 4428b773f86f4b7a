// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import MediaResources

@testable import MediaTokens

extension Scenario {
    static let all = valid + format + signature + judgement + time + order

    private static let valid = [
        Scenario("a plain token", expected: nil),
        Scenario("a raw token", expected: nil).token { try Sample.token().raw },
        Scenario("the root of the documents", expected: nil).body(.plain.rooted("shortAuthorizationToken")),
        Scenario("fields in another order", expected: nil).body(.plain.reversed()),
        Scenario("a fragment for its channel", expected: nil).body(
            .plain.setting("resourceID", to: "<![CDATA[<rss><channel><title>TNT</title></channel></rss>]]>")
        ),
        Scenario("one requestor of two", expected: nil).policy {
            try VerificationPolicy(requestors: ["OTHER", "REF30"])
        },
        Scenario("the one requestor that the call wants", expected: nil).requestor("REF30"),
        Scenario("a key with 1024 bits by opt-in", expected: nil)
            .token { try TestSigner.small.get().issuer.issue(Sample.claims, at: Sample.time).serialized }
            .trust { try TestSigner.small.get().trust(minimumKeySize: .legacy1024) }
            .policy { try VerificationPolicy(requestors: ["REF30"], minimumKeySize: .legacy1024) },
    ]

    private static let format = [
        Scenario("no token", expected: .tokenEmpty).token { "" },
        Scenario("16 KiB and a byte", expected: .tokenTooLarge).token { String(repeating: "A", count: 16 * 1024 + 1) },
        Scenario("not Base64", expected: .invalidBase64).token { "PHNpZ25hdHVyZUluZm8!" },
        Scenario("Base64 of something else", expected: .invalidEnvelope).token { Base64.encode([UInt8]("hello".utf8)) },
        Scenario("a signature that is not Base64", expected: .invalidSignatureEncoding).token {
            "<signatureInfo>!!!!<signatureInfo>" + TokenBody.plain.text
        },
        Scenario("blanks for plus signs in the signature", expected: .blanksForPlus).token {
            "<signatureInfo>AAA AA/ AA==<signatureInfo>" + TokenBody.plain.text
        },
        Scenario("blanks for plus signs in Base64", expected: .blanksForPlus).token { "PHNpZ25hdHVyZUluZm8 AAAA" },
        Scenario("an authorization token", expected: .unsupportedRoot).body(.plain.rooted("simpleAuthorizationToken")),
        Scenario("a stray end tag", expected: .malformedBody).body(.plain.appending("</ttl>")),
        Scenario("no provider", expected: .missingField).body(.plain.replacing("mvpdId", with: "")),
        Scenario("two providers", expected: .repeatedField).body(.plain.appending("<mvpdId>A</mvpdId>")),
        Scenario("an empty provider", expected: .emptyField).body(.plain.setting("mvpdId", to: "")),
        Scenario("a life in words", expected: .invalidTTL).body(.plain.setting("ttl", to: "7m")),
        Scenario("a time without offset", expected: .invalidIssueTime).body(
            .plain.setting("issueTime", to: "2031-01-02 03:04:05")
        ),
    ]

    private static let signature = [
        Scenario("another key", expected: .untrustedSignature).token {
            try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        },
        Scenario("a shorter key", expected: .signatureLength).token {
            try TestSigner.small.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        },
        Scenario("a key of another requestor", expected: .noUsableKey).trust {
            try TestSigner.main.get().trust(requestors: .only(["OTHER"]))
        },
        Scenario("a key below the policy's size", expected: .noUsableKey).policy {
            try VerificationPolicy(requestors: ["REF30"], minimumKeySize: .atLeast(3072))
        },
        Scenario("a certificate that has expired since", expected: .noUsableKey).later(400 * 86_400_000),
        Scenario("a key of the policy's other requestor", expected: .keyOutOfScope)
            .trust { try TestSigner.main.get().trust(requestors: .only(["OTHER"])) }
            .policy { try VerificationPolicy(requestors: ["OTHER", "REF30"]) },
    ]

    private static let judgement = [
        Scenario("another requestor", expected: .requestorMismatch).body(.plain.setting("requestorID", to: "OTHER")),
        Scenario("a requestor in lower case", expected: .requestorMismatch).body(
            .plain.setting("requestorID", to: "ref30")
        ),
        Scenario("a requestor with a space", expected: .requestorMismatch).body(
            .plain.setting("requestorID", to: "REF30 ")
        ),
        Scenario("the policy's other requestor than the call wants", expected: .requestorMismatch)
            .policy { try VerificationPolicy(requestors: ["OTHER", "REF30"]) }.requestor("OTHER"),
        Scenario("a requestor that is not of the policy", expected: .requestorMismatch)
            .body(.plain.setting("requestorID", to: "OTHER")).requestor("OTHER"),
        Scenario("another resource", expected: .resourceMismatch).resource("TBS"),
        Scenario("a resource in lower case", expected: .resourceMismatch).resource("tnt"),
    ]

    private static let time = [
        Scenario("the last millisecond", expected: nil).later(420_000),
        Scenario("a millisecond too late", expected: .expired).later(420_001),
        Scenario("the last millisecond of the late leeway", expected: nil).policy(lenient).later(450_000),
        Scenario("a millisecond behind the late leeway", expected: .expired).policy(lenient).later(450_001),
        Scenario("the first millisecond of the early leeway", expected: nil).later(-60_000),
        Scenario("a millisecond before the early leeway", expected: .issuedInFuture).later(-60_001),
        Scenario("no early leeway", expected: .issuedInFuture).policy(strict).later(-1),
        Scenario("no early leeway needed", expected: nil).policy(strict),
        Scenario("a life of one millisecond", expected: nil).body(.plain.setting("ttl", to: "1")),
        Scenario("no life", expected: .ttlNotPositive).body(.plain.setting("ttl", to: "0")),
        Scenario("a negative life", expected: .ttlNotPositive).body(.plain.setting("ttl", to: "-420000")),
        Scenario("the longest life", expected: nil).body(.plain.setting("ttl", to: "900000")),
        Scenario("a millisecond too long a life", expected: .ttlTooLong).body(.plain.setting("ttl", to: "900001")),
        Scenario("the longest number", expected: .ttlTooLong).body(.plain.setting("ttl", to: "999999999999999999")),
        Scenario("the most negative number", expected: .ttlNotPositive).body(
            .plain.setting("ttl", to: "-999999999999999999")
        ),
        Scenario("the first moment of the clock", expected: .issuedInFuture).trust(timeless).at(.earliest),
        Scenario("the last moment of the clock", expected: .expired).trust(timeless).at(.latest),
        Scenario("the first moment, with leeways", expected: .issuedInFuture).trust(timeless).policy(lenient).at(
            .earliest
        ),
        Scenario("the last moment, with leeways", expected: .expired).trust(timeless).policy(lenient).at(.latest),
        Scenario("the last moment of a certificate's clock", expected: .noUsableKey).at(.latest),
    ]

    private static let order = [
        Scenario("an unsupported root before a bad signature", expected: .unsupportedRoot).token {
            try TestSigner.other.get().issuer.sign(body: TokenBody.plain.rooted("simpleAuthorizationToken").bytes)
                .serialized
        },
        Scenario("a bad encoding before no key", expected: .invalidSignatureEncoding)
            .token { "<signatureInfo>A<signatureInfo>" + TokenBody.plain.text }
            .trust { try TestSigner.main.get().trust(requestors: .only(["OTHER"])) },
        Scenario("a bad signature before a bad body", expected: .untrustedSignature).token {
            try TestSigner.other.get().issuer.sign(body: TokenBody.plain.appending("<").bytes).serialized
        },
        Scenario("a bad body before another requestor", expected: .malformedBody)
            .body(.plain.setting("requestorID", to: "OTHER").appending("&")),
        Scenario("a missing field before an empty one", expected: .missingField)
            .body(.plain.replacing("mvpdId", with: "").setting("sessionGUID", to: "")),
        Scenario("an empty field before a bad life", expected: .emptyField)
            .body(.plain.setting("ttl", to: "x").setting("mvpdId", to: "")),
        Scenario("a bad life before a bad time", expected: .invalidTTL)
            .body(.plain.setting("ttl", to: "x").setting("issueTime", to: "x")),
        Scenario("another requestor before a time that is over", expected: .requestorMismatch)
            .body(.plain.setting("requestorID", to: "OTHER")).later(900_000),
        Scenario("a key out of scope before a time that is over", expected: .keyOutOfScope)
            .trust { try TestSigner.main.get().trust(requestors: .only(["OTHER"])) }
            .policy { try VerificationPolicy(requestors: ["OTHER", "REF30"]) }
            .later(900_000),
        Scenario("no life before the future", expected: .ttlNotPositive).body(.plain.setting("ttl", to: "0")).later(
            -90_000
        ),
        Scenario("too long a life before its end", expected: .ttlTooLong)
            .body(.plain.setting("ttl", to: "900001")).later(1_000_000),
        Scenario("a time that is over before another resource", expected: .expired).resource("TBS").later(420_001),
        Scenario("a time to come before another resource", expected: .issuedInFuture).resource("TBS").later(-60_001),
    ]

    @Sendable private static func lenient() throws -> VerificationPolicy {
        try VerificationPolicy(requestors: ["REF30"], lateLeeway: .seconds(30))
    }

    @Sendable private static func strict() throws -> VerificationPolicy {
        try VerificationPolicy(requestors: ["REF30"], earlyLeeway: .zero)
    }

    @Sendable private static func timeless() throws -> TrustStore {
        try TrustStore([.pem(try TestSigner.main.get().publicKey(), name: "signer")], at: Sample.time)
    }
}
