// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite struct `Verification of tokens` {
    @Test(arguments: Scenario.all)
    func `answers with the first check that does not pass`(scenario: Scenario) throws {
        let answer = try #require(try scenario.verify().first)
        #expect(answer.reason == scenario.expected)
        #expect(answer.isValid == (scenario.expected == nil))
        #expect(answer.status == scenario.expected?.status ?? .validToken)
    }

    @Test(arguments: Scenario.all)
    func `shows the token just where the signature held`(scenario: Scenario) throws {
        let answer = try #require(try scenario.verify().first)
        switch answer.reason?.step {
        case .envelope, .signature: #expect(answer.token == nil && answer.key == nil)
        case .fields: #expect(answer.token == nil && answer.key == "signer")
        case .requestor, .time, .resource: #expect(answer.token != nil && answer.key == "signer")
        case nil: #expect(answer.isValid && answer.token != nil && answer.key == "signer")
        }
    }

    /// The two ways to write an answer in JSON.
    @Test(arguments: Scenario.all)
    func `has one form in JSON, with a tree and without`(scenario: Scenario) throws {
        let answer = try #require(try scenario.verify().first)
        #expect(Self.line(answer) == JSON.object([("line", .number(7))] + JSON.members(answer)).line)
    }

    @Test func `has one form in JSON, whatever the texts are`() throws {
        let sample = try GateSample.trusted.get()
        let verifier = Verifier(
            trust: try TrustStore([.pem(sample.keys.signerCertificate, name: "sign\"er")], at: GateSample.time),
            policy: try VerificationPolicy(requestor: "REF30")
        )
        for text in ["a", "\"", "\\", "\u{7F}", "é", "\u{202E}x", "a\tb", "<a>&amp;\u{1F600}"] {
            let claims = GateSample.claims(mvpd: text, session: "s\(text)")
            let token = try sample.issuer.issue(claims, at: GateSample.time).serialized
            let answer = verifier.verify(token, for: try MediaResource("TNT"), at: GateSample.time)
            #expect(answer.token != nil)
            #expect(Self.line(answer) == JSON.object([("line", .number(7))] + JSON.members(answer)).line, "\(text)")
        }
    }

    private static func line(_ answer: Verification) -> String {
        var line: [UInt8] = Array("{\"line\":7".utf8)
        JSON.writeMembers(answer, to: &line)
        return String(decoding: line, as: UTF8.self) + "}"
    }

    @Test(arguments: RefusalReason.allCases.filter { $0 != .internalFailure })
    func `has a row for every reason`(reason: RefusalReason) {
        #expect(Scenario.all.contains { $0.expected == reason })
    }

    @Test(arguments: VerificationStatus.allCases.filter { $0 != .errorUnknown })
    func `has a row for every status`(status: VerificationStatus) {
        #expect(Scenario.all.contains { ($0.expected?.status ?? .validToken) == status })
    }

    @Test func `calls what could not be carried out an unknown error`() {
        #expect(RefusalReason.internalFailure.status == .errorUnknown)
        #expect(RefusalReason.internalFailure.step == nil)
    }

    @Test func `says what the token says`() throws {
        var claims = Sample.claims
        claims.proxyMVPDID = "Proxied"
        let issued = try TestSigner.main.get().issuer.issue(claims, at: Sample.time)
        let answer = try Sample.verify(issued.serialized)
        let token = try #require(answer.token)
        #expect(answer.isValid)
        #expect(token.requestorID == "REF30")
        #expect(token.resourceID == "TNT")
        #expect(token.timeIssued == Sample.time)
        #expect(token.timeToLive == .seconds(420))
        #expect(token.timeToLiveMilliseconds == 420_000)
        #expect(token.expires == Sample.time.advanced(byMilliseconds: 420_000))
        #expect(token.userSessionGUID == "00112233445566778899aabbccddeeff")
        #expect(token.mvpdID == "SandboxMVPD")
        #expect(token.proxyMVPDID == "Proxied")
        #expect(try Sample.verify(issued.raw) == answer)
    }

    @Test func `accepts bytes as it accepts text`() throws {
        let bytes = [UInt8](try Sample.token().serialized.utf8)
        let (verifier, resource) = (try Sample.verifier(), try MediaResource("TNT"))
        let answer = verifier.verify(bytes.span, for: resource, at: Sample.time)
        #expect(answer.isValid)
        let none: [UInt8] = []
        let refusal = verifier.verify(none.span, for: resource, at: Sample.time)
        #expect(refusal.reason == .tokenEmpty)
    }

    @Test func `authenticates whatever the resource and nothing else`() throws {
        let verifier = try Sample.verifier()
        let other = TokenBody.plain.setting("resourceID", to: "SomethingElse")
        #expect(verifier.authenticate(try Sample.token(other), at: Sample.time).isValid)
        let late = Sample.time.advanced(byMilliseconds: 420_001)
        #expect(verifier.authenticate(try Sample.token(other), at: late).reason == .expired)
        let stranger = try Sample.token(.plain.setting("requestorID", to: "OTHER"))
        #expect(verifier.authenticate(stranger, at: Sample.time).reason == .requestorMismatch)
        #expect(verifier.authenticate("", at: Sample.time).reason == .tokenEmpty)
    }

    @Test func `finds the key among several whatever was verified before`() throws {
        let (main, other) = (try TestSigner.main.get(), try TestSigner.other.get())
        let trust = try TrustStore(
            [.pem(main.keys.signerCertificate, name: "a"), .pem(other.keys.signerCertificate, name: "b")],
            at: Sample.time
        )
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        // It shares the contexts of the store, but uses none of its keys.
        let narrow = Verifier(
            trust: trust,
            policy: try VerificationPolicy(requestors: ["REF30"], minimumKeySize: .atLeast(3072))
        )
        let resource = try MediaResource("TNT")
        for (signer, name) in [(main, "a"), (other, "b"), (other, "b"), (main, "a")] {
            let token = try signer.issuer.issue(Sample.claims, at: Sample.time).serialized
            #expect(verifier.verify(token, for: resource, at: Sample.time).key == name)
            #expect(narrow.verify(token, for: resource, at: Sample.time).reason == .noUsableKey)
        }
    }

    @Test func `has one fingerprint for all encodings of a token`() throws {
        let (first, again) = (try Sample.token(), try Sample.token())
        #expect(first == again)
        let token = try #require(try Sample.verify(first.serialized).token)
        #expect(token.fingerprint == (try Sample.verify(first.raw).token?.fingerprint))
        #expect(token.fingerprint.bytes.count == 32)
        #expect(token.fingerprint.hexadecimal.utf8.count == 64)
        let other = try #require(try Sample.verify(try Sample.token(.plain)).token)
        #expect(other != token)
    }
}
