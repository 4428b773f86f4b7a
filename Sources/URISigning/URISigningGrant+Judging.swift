// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
package import EdgeTokens
internal import Encodings
internal import RequestTargets

extension URISigningGrant {
    /// Evaluates the token for a request, in the order of RFC 9246 §2 as this package fixes it.
    package func verdict(for facts: RequestFacts, under policy: URISigningPolicy, now: Int64) -> GrantVerdict {
        for claim in Self.restrictions {
            if let refusal = refusal(by: claim, for: facts, under: policy, now: now) { return .refused(refusal) }
        }
        var obligations = GrantObligations()
        if let identifier {
            guard policy.hasReplayStore, let expires = claims.expires, let uri = facts.uri.absolute,
                let key = Self.useKey(issuer: string(claims.issuer) ?? "", identifier: identifier, uri: uri)
            else { return .refused(GrantRefusal(.replayed, member: .identifier)) }
            obligations.use = .init(
                key: key,
                until: Timestamp(millisecondsSince1970: expires),
                isWatched: false
            )
        }
        obligations.isRenewalDue = isRenewalDue(facts, now: now)
        return .allowed(obligations)
    }

    /// The claims that restrict a request, in the order of their evaluation.
    package static let restrictions: [URISigningClaim] = [
        .audience, .expiration, .notBefore, .transport, .container, .address, .subject,
    ]

    /// Returns the refusal by a claim or its absence; `nil` if it holds or restricts nothing.
    package func refusal(
        by claim: URISigningClaim,
        for facts: RequestFacts,
        under policy: URISigningPolicy,
        now: Int64
    ) -> GrantRefusal? {
        switch claim {
        case .audience:
            return isAddressed(to: policy.audience) ? nil : GrantRefusal(.audienceMismatch, member: claim)
        case .expiration: return expirationRefusal(now: now)
        case .notBefore: return now >= claims.notBefore ?? .min ? nil : GrantRefusal(.notYetValid, member: claim)
        case .life, .transport:
            guard case .malformed = claims.renewal else { return nil }
            return GrantRefusal(.renewalInvalid, member: claims.transport == nil ? .life : .transport)
        case .container: return containerRefusal(facts.uri)
        case .address:
            if case .absent = network { return nil }
            return network.contains(facts.clientAddress) ? nil : GrantRefusal(.addressMismatch, member: claim)
        case .subject: return isSubjectAcceptable ? nil : GrantRefusal(.subjectInvalid, member: claim)
        case .identifier:
            let isKept = policy.hasReplayStore && claims.expires != nil
            return claims.identifier == nil || isKept ? nil : GrantRefusal(.replayed, member: claim)
        case .issuer, .issuedAt, .version, .critical, .depth, .session, .sessionEnd, .revocation, .protection, .profile:
            return nil
        }
    }

    /// True if the token is for one of `names`, or for any recipient.
    private func isAddressed(to names: [String]) -> Bool {
        let payload = payload
        return switch claims.audience {
        case nil: true
        case .one(let text): names.contains { text.isSame(as: $0, in: payload.span) }
        case .several(let texts): texts.contains { text in names.contains { $0.hasSameBytes(as: text) } }
        }
    }

    private func expirationRefusal(now: Int64) -> GrantRefusal? {
        guard let expires = claims.expires else {
            return profile.issuer.requiresExpiration ? GrantRefusal(.malformed, member: .expiration) : nil
        }
        guard now >= expires else { return nil }
        // The last token of a session expires with it, and no other can follow.
        let isEnded = claims.sessionEnd.map { now >= $0 * 1000 } ?? false
        return isEnded
            ? GrantRefusal(.sessionEnded, member: .sessionEnd) : GrantRefusal(.expired, member: .expiration)
    }

    private func containerRefusal(_ uri: RequestURI) -> GrantRefusal? {
        switch container {
        case .absent:
            return profile.issuer.requiresContainer ? GrantRefusal(.uriMismatch, member: .container) : nil
        case .refused(let code): return GrantRefusal(code, member: .container)
        case .present(let container):
            guard uri.scheme != nil else {
                return GrantRefusal(.contextMissing, detail: .memberFact(.scheme, for: .container))
            }
            guard uri.host != nil else {
                return GrantRefusal(.contextMissing, detail: .memberFact(.host, for: .container))
            }
            return container.holds(uri) ? nil : GrantRefusal(.uriMismatch, member: .container)
        }
    }

    /// Returns the key of a token's use for a URI: SHA-256 of issuer, identifier and URI. Issuer and identifier follow
    /// their lengths in two bytes, so that no two inputs have the same bytes.
    private static func useKey(issuer: String, identifier: String, uri: String) -> SHA256Digest? {
        var message: [UInt8] = []
        for text in [issuer, identifier] {
            let count = text.utf8.count
            message += [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            message += text.utf8
        }
        return SHA256.fingerprint(message + [UInt8](uri.utf8))
    }

    /// True if the request may get a renewed token: it is in the window, its method reads, and it has the cookie's
    /// path. The session must also continue.
    private func isRenewalDue(_ facts: RequestFacts, now: Int64) -> Bool {
        guard let renewal, let start = renewalStart, let expires = claims.expires,
            start.millisecondsSince1970 <= now, facts.method == "GET" || facts.method == "HEAD",
            renewal.transport == .query || renewal.cookiePath(for: facts.uri) != nil
        else { return false }
        guard now / 1000 + Int64(renewal.life) > expires / 1000 else { return false }
        if let end = claims.sessionEnd { return end * 1000 > expires }
        return profile.issuer.maximumSession != nil
    }
}
