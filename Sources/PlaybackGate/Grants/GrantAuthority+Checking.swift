// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform

extension GrantAuthority {
    /// The result of checking the grants of a request.
    enum Finding {
        /// A grant allows the request, once the store has recorded what the obligations demand.
        case accepted(Acceptance)
        /// No grant allows the request.
        case refused(GrantRefusal)
        /// The state of revocations is not known.
        case unknown(Acceptance)
    }

    /// A grant that allows a request.
    struct Acceptance: Sendable {
        let grant: CATGrant
        let obligations: GrantObligations
    }

    /// Checks the grants of a request in their order. The first one that allows it decides.
    ///
    /// If none does, the refusal is that of the last authentic one, otherwise of the first.
    func check(_ shown: ShownGrants, _ terms: Catalogue.Entry.GrantTerms, at now: Timestamp) -> Finding {
        var refusal = GrantRefusal(.missing)
        for place in 0..<shown.count {
            let token = shown[place].utf8.span
            switch authenticate(token, at: now) {
            case .refused(let fault): if place == 0 || fault.code.isOfAuthenticGrant { refusal = fault }
            case .authentic(let grant):
                switch judge(grant, shownAs: token, shown.facts, terms, at: now) {
                case .refused(let fault): refusal = fault
                case let other: return other
                }
            }
        }
        return .refused(refusal)
    }

    /// Returns an authentic grant from the cache, or checks its signature.
    func authenticate(_ token: Span<UInt8>, at now: Timestamp) -> CATVerifier.Authentication {
        guard let authentic, let forged, token.count <= AuthenticatedTokenCache.maximumTokenSize else {
            return verifier.authenticate(token, at: now)
        }
        if let known = authentic.lookUp(token, generation: generation, at: now) as? CATGrant {
            return .authentic(known)
        }
        if let known = forged.lookUp(token, generation: generation, at: now) as? ForgedGrant {
            return .refused(known.refusal)
        }
        let answer = verifier.authenticate(token, at: now)
        switch answer {
        case .authentic(let grant):
            // An expired grant never allows anything again.
            if let end = grant.expires, now < end {
                let life = Timestamp(millisecondsSince1970: .min)...end
                authentic.insert(token, grant, generation: generation, life: life)
            }
        case .refused(let refusal) where refusal.code == .signatureInvalid:
            let life = now...now.advanced(byMilliseconds: ForgedGrant.life)
            forged.insert(token, ForgedGrant(refusal), generation: generation, life: life)
        case .refused: break
        }
        return answer
    }

    private func judge(
        _ grant: CATGrant,
        shownAs token: Span<UInt8>,
        _ facts: RequestFacts,
        _ terms: Catalogue.Entry.GrantTerms,
        at now: Timestamp
    ) -> Finding {
        guard terms.accept(grant) else { return .refused(GrantRefusal(.issuerRefused, .claim(.issuer))) }
        switch verifier.judge(grant, shownAs: token, facts, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .allowed(let obligations):
            if let rejection = obligations.rejection, rejections.rejects(rejection, of: grant.issuer.name, at: now) {
                return .refused(GrantRefusal(.sampled, .claim(.rejection)))
            }
            if let refusal = revocation(of: grant) { return .refused(refusal) }
            let accepted = Acceptance(grant: grant, obligations: obligations)
            return isMirrorRecent || grant.sessionID == nil ? .accepted(accepted) : .unknown(accepted)
        }
    }

    /// Returns the refusal of a grant whose playback, token, session or MVPD was revoked.
    func revocation(of grant: CATGrant) -> GrantRefusal? {
        if let session = grant.sessionID, mirror.isRevoked(session) { return GrantRefusal(.revoked, .claim(.session)) }
        guard let issued = grant.mediaTokenIssued else { return nil }
        for place in 0..<grant.tagCount {
            guard let tag = grant.tag(place), mirror.isRevoked(tag, issued: issued) else { continue }
            return GrantRefusal(.revoked, .claim(.revocation))
        }
        return nil
    }

    /// True if the mirror knows all revocations but those of the last seconds.
    package var isMirrorRecent: Bool { mirror.age().map { $0 <= RevocationMirror.greatestAge } ?? false }
}

/// A grant that was refused for its signature.
private final class ForgedGrant: Sendable {
    let refusal: GrantRefusal

    /// The time for which it is cached, in milliseconds.
    static let life: Int64 = 5000

    init(_ refusal: GrantRefusal) { self.refusal = refusal }
}

extension Catalogue.Entry.GrantTerms {
    /// True if one of the profiles is of the grant's issuer. A path in the scope of a grant is not enough: the entry must
    /// name the issuer.
    func accept(_ grant: CATGrant) -> Bool {
        for profile in profiles where profile.issuer.utf8.span.hasSameBytes(as: grant.issuer.name.utf8.span) {
            return true
        }
        return false
    }
}

extension GrantCode {
    /// True if the code certainly follows a check of the signature.
    fileprivate var isOfAuthenticGrant: Bool {
        switch self {
        case .missing, .tooLarge, .malformed, .algorithmRefused, .keyUnknown, .signatureInvalid: false
        default: true
        }
    }
}
