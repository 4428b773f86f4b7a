// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform
internal import ReplayStores
internal import URISigning

extension GrantService {
    /// The result of checking the grants of a request.
    enum Finding {
        /// A grant allows the request, after the store has recorded its obligations.
        case accepted(Acceptance)
        /// No grant allows the request. Of the signed URIs among them, the second refusal is that of the decisive one; `nil`
        /// without any.
        case refused(GrantRefusal, signedURI: GrantCode? = nil)
        /// The state of revocations is not known.
        case unknown(Acceptance)
    }

    /// A grant that allows a request.
    struct Acceptance: Sendable {
        let grant: AuthenticGrant
        let obligations: GrantObligations
        /// The index among the grants that the request presents.
        let index: Int
    }

    /// Checks the grants of a request in their order. The first one that allows it decides.
    ///
    /// If none does, the refusal is that of the last authentic one, otherwise of the first.
    func check(_ presentedGrants: PresentedGrants, of entry: Catalogue.Entry, at now: Timestamp) -> Finding {
        var refusal = GrantRefusal(.missing)
        var signedURI: GrantCode?
        for index in 0..<presentedGrants.count {
            let token = presentedGrants[index].utf8.span
            let isSignedURI = isSignedURI(token)
            switch authenticate(token, at: now) {
            case .refused(let fault):
                if index == 0 || fault.code.isOfAuthenticGrant { refusal = fault }
                if isSignedURI, signedURI == nil || fault.code.isOfAuthenticGrant { signedURI = fault.code }
            case .authentic(let grant):
                let finding = judge(
                    grant,
                    index: index,
                    presentedAs: token,
                    for: presentedGrants.facts,
                    of: entry,
                    at: now
                )
                guard case .refused(let fault, _) = finding else { return finding }
                refusal = fault
                if isSignedURI { signedURI = fault.code }
            }
        }
        return .refused(refusal, signedURI: signedURI)
    }

    /// True if a token is presented as a signed URI: no other format has full stops.
    func isSignedURI(_ token: Span<UInt8>) -> Bool {
        signedURIs != nil && token.firstIndex(of: UInt8(ascii: "."), from: 0) != nil
    }

    /// Returns an authentic grant from the cache, or checks its signature.
    func authenticate(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        guard let authentic, let forged, token.count <= AuthenticatedTokenCache.maximumTokenSize else {
            return authenticateUncached(token, at: now)
        }
        if let known = authentic.lookUp(token, generation: generation, at: now).flatMap({ AuthenticGrant($0) }) {
            return .authentic(known)
        }
        if let known = forged.lookUp(token, generation: generation, at: now) as? ForgedGrant {
            return .refused(known.refusal)
        }
        let answer = authenticateUncached(token, at: now)
        switch answer {
        case .authentic(let grant):
            // An expired grant never allows anything again.
            if let end = grant.base.expires, now < end {
                let life = Timestamp(millisecondsSince1970: .min)...end
                authentic.insert(token, value: grant.base, generation: generation, life: life)
            }
        case .refused(let refusal) where refusal.code == .signatureInvalid:
            let life = now...now.advanced(byMilliseconds: ForgedGrant.life)
            forged.insert(token, value: ForgedGrant(refusal), generation: generation, life: life)
        case .refused: break
        }
        return answer
    }

    /// The result of checking the signature of a grant.
    enum Authentication {
        case authentic(AuthenticGrant)
        case refused(GrantRefusal)
    }

    /// Checks the signature of a grant, and requests its key if the verifier does not have it.
    private func authenticateUncached(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        switch isSignedURI(token) ? checkSignedURI(token, at: now) : checkCAT(token, at: now) {
        case .authentic(let grant): .authentic(grant)
        case .refused(let refusal): .refused(awaited(refusal, of: token, at: now))
        }
    }

    /// Requests the key of a token if it is refused because the key is not known.
    ///
    /// - Returns: The refusal, with ``GrantRefusal/Detail/keySetAwaited`` if a key set is being fetched that may bring the key.
    func awaited(_ refusal: GrantRefusal, of token: Span<UInt8>, at now: Timestamp) -> GrantRefusal {
        guard refusal.code == .keyUnknown,
            let id = isSignedURI(token) ? try? UnverifiedSignedURI(token).keyID : try? UnverifiedCAT(token).keyID,
            askForKey(id, now)
        else { return refusal }
        return GrantRefusal(.keyUnknown, detail: .keySetAwaited)
    }

    private func checkCAT(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        switch verifier.authenticate(token, at: now) {
        case .authentic(let grant): .authentic(.cat(grant))
        case .refused(let refusal): .refused(refusal)
        }
    }

    private func checkSignedURI(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        switch signedURIs?.authenticate(token, at: now) {
        case .authentic(let grant): .authentic(.signedURI(grant))
        case .refused(let refusal): .refused(refusal)
        case nil: .refused(GrantRefusal(.keyUnknown))
        }
    }

    /// Evaluates the restrictions of a grant.
    private func verdict(
        on grant: AuthenticGrant,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts,
        at now: Timestamp
    ) -> GrantVerdict {
        switch grant {
        case .cat(let grant): verifier.judge(grant, presentedAs: token, for: facts, at: now)
        case .signedURI(let grant):
            signedURIs?.judge(grant, for: facts, at: now) ?? .refused(GrantRefusal(.keyUnknown))
        }
    }

    private func judge(
        _ grant: AuthenticGrant,
        index: Int,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts,
        of entry: Catalogue.Entry,
        at now: Timestamp
    ) -> Finding {
        if let refusal = mismatch(of: grant, at: entry) { return .refused(refusal) }
        switch verdict(on: grant, presentedAs: token, for: facts, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .allowed(let obligations):
            if let rejection = obligations.rejection, rejections.rejects(rejection, of: grant.base.issuerName, at: now)
            {
                return .refused(GrantRefusal(.sampled, detail: .claim(.rejection)))
            }
            if let refusal = revocation(of: grant.base) { return .refused(refusal) }
            let accepted = Acceptance(grant: grant, obligations: obligations, index: index)
            return areRevocationsRecent || grant.base.sessionID == nil ? .accepted(accepted) : .unknown(accepted)
        }
    }

    /// Returns the refusal of a grant whose playback, token, session or MVPD was revoked.
    func revocation(of grant: any PlaybackGrant) -> GrantRefusal? {
        if let session = grant.sessionID, let code = revocation(of: session) {
            return GrantRefusal(code, detail: .claim(.session))
        }
        guard let issued = grant.mediaTokenIssued else { return nil }
        for index in 0..<grant.tagCount {
            guard let tag = grant.tag(index), revocationCache.isRevoked(tag, issued: issued) else { continue }
            return GrantRefusal(.revoked, detail: .claim(.revocation))
        }
        return nil
    }

    /// Returns why a playback session is revoked; `nil` if it is not.
    func revocation(of session: SessionID) -> GrantCode? {
        guard revocationCache.isRevoked(session) else { return nil }
        return revocationCache.isShared(session) ? .shared : .revoked
    }

    /// True if the cache knows all revocations but those of the last seconds.
    package var areRevocationsRecent: Bool { revocationCache.isRecent() }
}

/// A grant that was refused for its signature.
private final class ForgedGrant: Sendable {
    let refusal: GrantRefusal

    /// The time for which it is cached, in milliseconds.
    static let life: Int64 = 5000

    init(_ refusal: GrantRefusal) { self.refusal = refusal }
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

// A grant is for a resource of a requestor, not for all that lies under its paths. Every way in which a grant is accepted asks
// here: edge check, renewal, lease, exchange, redirect, manifests, and processes that check by themselves.

extension GrantService {
    /// Returns the refusal of a grant that was not issued for the resource of an entry; `nil` if it may open the entry.
    ///
    /// The entry must have a profile of the grant's issuer and format. A grant of this installation must have the tag
    /// of the entry's resource and requestor. Grants of other issuers have no tag: only their paths define their scope.
    func mismatch(of grant: AuthenticGrant, at entry: Catalogue.Entry) -> GrantRefusal? {
        guard entry.hasProfile(of: grant.base.issuerName, format: grant.format) else {
            return GrantRefusal(.issuerRefused, detail: grant.detail(claim: .issuer, member: .issuer))
        }
        // Nearly all grants have the tag.
        if let given = grant.protection, given == entry.tag(by: subjectKey) { return nil }
        return grant.isOwn
            ? GrantRefusal(.resourceMismatch, detail: grant.detail(claim: .protection, member: .protection)) : nil
    }
}

extension AuthenticGrant {
    /// The tag of the grant's resource; `nil` if it has none.
    fileprivate var protection: ProtectionTag? {
        switch self {
        case .cat(let grant): grant.protection
        case .signedURI(let grant): grant.protection
        }
    }

    /// The claim of the grant's format.
    fileprivate func detail(claim label: ClaimLabel, member: URISigningClaim) -> GrantRefusal.Detail {
        switch self {
        case .cat: .claim(label)
        case .signedURI: .member(member)
        }
    }
}

extension Collection<GrantProfile> {
    /// Returns the profile of a grant; `nil` if none of these matches.
    ///
    /// A grant of this installation names its profile, because several profiles may share issuer and key. For a grant
    /// of another issuer, it is the first profile of its issuer and format, preferably one with its key.
    func profile(of grant: AuthenticGrant) -> GrantProfile? {
        let issuer = grant.base.issuerName
        let name = grant.isOwn ? grant.base.profileName ?? "" : nil
        var found: GrantProfile?
        for profile in self where profile.issuer.utf8.span.hasSameBytes(as: issuer.utf8.span) {
            guard profile.format == grant.format else { continue }
            if let name {
                if profile.name.hasSameBytes(as: name) { return profile }
                continue
            }
            if found == nil { found = profile }
            // Of several, the one by whose key it was made: a network may have only that key.
            guard count > 1 else { break }
            if let id = grant.base.key.id, profile.keys.contains(id) { return profile }
        }
        return found
    }
}
