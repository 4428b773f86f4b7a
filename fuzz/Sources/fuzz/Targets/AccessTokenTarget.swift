// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources

@testable import AccessTokens
@testable import Keys
@testable import Platform

extension Target {
    private static let now = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    private static let issuer: AccessTokenIssuer = {
        guard let entitlements = try? ClaimPath("/tv/entitlements"), let scope = try? ClaimPath("scope"),
            let plan = try? ClaimPath("/tv/plan")
        else { fatalError("no paths") }
        var issuer = AccessTokenIssuer(
            "https://id.example",
            audience: ["playgate"],
            rules: [ResourceRule(entitlements), ResourceRule(scope, prefix: "tv:")]
        )
        issuer.types = JWSTypes([], permitsNone: true)
        issuer.requiredClaims = [.init(plan, values: ["a", "1", "true"])]
        return issuer
    }()

    private static let key: TokenKey = {
        guard let key = try? TokenKey.generate(.edDSA, id: nil, binding: issuer.binding).key else {
            fatalError("no key")
        }
        return key
    }()

    /// The parts of the key once more: LeakSanitizer finds no reference among the bits of an enumeration.
    private static let parts: [any AnyObject & Sendable] = {
        guard case .signature(let verifier, let maker?) = key.mechanism else { fatalError("no key that signs") }
        return [verifier, maker]
    }()

    private static let verifier: AccessTokenVerifier = {
        guard let verifier = try? AccessTokenVerifier([issuer], keys: [key]) else { fatalError("no verifier") }
        return verifier
    }()

    /// Claims that their issuer has signed, the same as a server's answer, and texts that nobody has signed.
    static let accessToken = Target(name: "accesstoken") { input in
        guard parts.count == 2, let resource = try? MediaResource("TNT") else { return }
        if case .valid = verifier.verify(input.bytes.span, for: resource, at: now) {
            demand(false, or: "a forged token")
        }
        guard let token = try? key.signJWS(input.bytes) else { return }
        let outcome = verifier.verify(token.utf8.span, for: resource, at: now)
        let introspected = verifier.verify(
            introspection: input.bytes,
            of: token.utf8.span,
            by: issuer.identifier,
            for: resource,
            at: now
        )
        guard case .valid(let known) = outcome else {
            demand(outcome.refusal != .signatureInvalid && outcome.refusal != .keyUnknown, or: "an unknown signature")
            return
        }
        let leeway: Int64 = 30_000
        demand(1...1024 ~= known.viewer.utf8.count, or: "no viewer")
        demand(known.issued <= now.advanced(byMilliseconds: leeway), or: "a token of the future")
        demand(now <= known.expires.advanced(byMilliseconds: leeway), or: "a token of the past")
        demand(UnverifiedAccessToken(token) != nil, or: "claims that another reader refuses")
        if case .valid(let other) = introspected { demand(other.viewer == known.viewer, or: "another viewer") }
    }
}
