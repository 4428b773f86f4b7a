// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Policies` {
    @Test func `have careful defaults`() throws {
        let policy = try VerificationPolicy(requestor: "REF30")
        #expect(policy.requestors == ["REF30"])
        #expect(policy.earlyLeeway == .seconds(60))
        #expect(policy.lateLeeway == .zero)
        #expect(policy.maximumTimeToLive == .seconds(900))
        #expect(policy.minimumKeySize == .standard)
        #expect(policy.matchOptions == .init())
    }

    @Test(arguments: [[], [""], [" "], ["REF30", ""], ["\t\n"]])
    func `need requestors`(requestors: [String]) {
        #expect(throws: PolicyError.noRequestor) { _ = try VerificationPolicy(requestors: requestors) }
    }

    @Test(
        arguments: [
            (.zero, true), (.milliseconds(1), true), (.seconds(120), true), (.milliseconds(-1), false),
            (.milliseconds(120_001), false), (.seconds(Int64.max), false), (.seconds(Int64.min), false),
            (.seconds(120) + .nanoseconds(1), false),
        ] as [(Duration, Bool)]
    )
    func `have leeways of up to two minutes`(leeway: Duration, isAllowed: Bool) throws {
        let early = Result { () throws(PolicyError) in try VerificationPolicy(requestors: ["A"], earlyLeeway: leeway) }
        let late = Result { () throws(PolicyError) in try VerificationPolicy(requestors: ["A"], lateLeeway: leeway) }
        if isAllowed {
            #expect(try early.get().earlyLeeway == leeway)
            #expect(try late.get().lateLeeway == leeway)
        } else {
            #expect(throws: PolicyError.earlyLeewayOutOfRange) { try early.get() }
            #expect(throws: PolicyError.lateLeewayOutOfRange) { try late.get() }
        }
    }

    @Test(
        arguments: [
            (.milliseconds(1), true), (.seconds(86_400), true), (.zero, false), (.microseconds(999), false),
            (.milliseconds(86_400_001), false), (.seconds(-1), false),
        ] as [(Duration, Bool)]
    )
    func `allow lives of up to a day`(life: Duration, isAllowed: Bool) throws {
        if isAllowed {
            #expect(try VerificationPolicy(requestors: ["A"], maximumTimeToLive: life).maximumTimeToLive == life)
        } else {
            #expect(throws: PolicyError.maximumTimeToLiveOutOfRange) {
                _ = try VerificationPolicy(requestors: ["A"], maximumTimeToLive: life)
            }
        }
    }

    @Test(arguments: PolicyError.allCases)
    func `have errors with codes`(error: PolicyError) {
        #expect(error.description.hasSuffix("[\(error.rawValue)]"))
    }

    @Test func `pass on what may differ between resources`() throws {
        var options = MediaResource.MatchOptions()
        options.ignoreCase = true
        let policy = try VerificationPolicy(requestors: ["REF30"], matchOptions: options)
        let verifier = Verifier(trust: try TestSigner.main.get().trust(), policy: policy)
        let token = try Sample.token().raw
        #expect(verifier.verify(token, for: try MediaResource("tnt"), at: Sample.time).isValid)
        #expect(verifier.verify(token, for: try MediaResource("tbs"), at: Sample.time).reason == .resourceMismatch)
    }
}
