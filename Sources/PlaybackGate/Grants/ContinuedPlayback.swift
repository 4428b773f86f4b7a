// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Cryptography
package import EdgeTokens
internal import Encodings
internal import Keys
package import Platform

/// The playback of an allowed request, and the grants for the player's next requests.
///
/// The references of a rewritten manifest carry them. Each is a copy of the grant by which the request was allowed. It
/// therefore opens no more than that grant, and never outlives its session. With an HMAC key, copies of one grant with
/// one end are identical. A player that compares the URLs of two reloads then finds the same key and the same
/// initialization section.
package struct ContinuedPlayback: Sendable {
    /// The grant by which the request was allowed, or that was issued for it.
    package let token: String
    /// The profile of the grant.
    package let profile: GrantProfile
    fileprivate let grant: CATGrant
    /// The issuer of copies; `nil` for a grant of another installation, which is passed on unchanged.
    private let signer: CATIssuer?

    init(token: String, grant: CATGrant, profile: GrantProfile, signer: CATIssuer?) {
        self.token = token
        self.grant = grant
        self.profile = profile
        self.signer = grant.issuer.isOwn && grant.session != nil ? signer : nil
    }

    /// The id of the session, if the grant has one.
    package var session: SessionID? { grant.sessionID }

    /// The end of the session, if the grant has one.
    fileprivate var sessionEnd: Timestamp? { grant.sessionEnd }

    /// True if the grant is valid until the session ends, or no such copy of it can be made.
    package var lastsForSession: Bool {
        guard signer != nil, let end = grant.sessionEnd, let expires = grant.expires else { return true }
        return end <= expires
    }

    /// Returns a grant that is valid until the end of the session: for playlists that are requested repeatedly by one
    /// URL.
    ///
    /// It is the request's own grant if that is valid as long. A variant then names the others as the multivariant
    /// playlist does.
    package func tokenForSession() -> String {
        guard let end = grant.sessionEnd, !lastsForSession else { return token }
        return copy(until: end, issued: grant.issued ?? end)
    }

    /// The end of a grant that is issued at `now` for `life`, in steps of a quarter of the profile's life. It is never
    /// past the session's end. If the present grant cannot be copied, its own end.
    ///
    /// - Parameter life: The time for which the grant is needed; `nil` for the life of the profile, less up to a step.
    ///   No grant then lives longer than its profile allows.
    package func end(after life: Duration?, at now: Timestamp) -> Timestamp {
        guard signer != nil, let end = grant.sessionEnd else { return grant.expires ?? now }
        let step = max(1000, profile.rules.life.milliseconds / 4 / 1000 * 1000)
        let needed = life.map { max($0, profile.rules.life).milliseconds + step } ?? profile.rules.life.milliseconds
        let sum = now.advanced(byMilliseconds: needed).millisecondsSince1970
        return min(Timestamp(millisecondsSince1970: sum / step * step), end)
    }

    /// Returns a grant that is valid until `end`, which is a result of ``end(after:at:)`` for the life of the profile.
    package func token(until end: Timestamp) -> String {
        copy(until: end, issued: end.advanced(byMilliseconds: -profile.rules.life.milliseconds))
    }

    /// Returns a grant that is valid until `end`, later than the profile's life. Its time of issue marks it: see
    /// ``PlaybackTerms/outliveSlot(_:)``.
    package func tokenForFilm(until end: Timestamp) -> String { copy(until: end, issued: grant.issued ?? end) }

    private func copy(until end: Timestamp, issued: Timestamp) -> String {
        guard let signer else { return token }
        let name = "manifest \(end.millisecondsSince1970) ".utf8
        let identifier = Array(SHA256.digest(Array(name) + grant.payload).prefix(16))
        let time = min(issued, end.advanced(byMilliseconds: -1000))
        return (try? signer.copy(grant, until: end, at: time, identifier: identifier))?.token ?? token
    }
}

extension Decision {
    /// True if the request was allowed, and the player's next requests need a grant. A manifest without a grant must
    /// then not be the answer. No grant is needed for unprotected media, in shadow mode, without a profile, or for a
    /// probe, which starts no playback.
    package var needsGrant: Bool {
        guard case .allow(let allowance) = self, let entry = subject.entry, entry.grants != nil, !entry.isShadow else {
            return false
        }
        switch allowance.reason {
        case .unprotected, .shadow, .probe: return false
        case .verified, .repeated, .withinTTL, .granted, .renewed, .useUnknown: return true
        }
    }
}

extension Gate {
    /// Returns the playback of an allowed request; `nil` if the request had no grant and none was issued.
    ///
    /// - Parameters:
    ///   - decision: The grants that the request presented.
    ///   - name: The name of the preferred profile among those of the entry; `nil` for the first.
    package func continuedPlayback(
        after decision: Decision,
        grants presentedGrants: PresentedGrants?,
        profile name: String?,
        at now: Timestamp
    ) -> ContinuedPlayback? {
        guard case .allow(let allowance) = decision, let access = allowance.access, let grants,
            let terms = allowance.subject.entry?.grants
        else { return nil }
        switch access {
        case .issued(let issued):
            // References carry only Common Access Tokens.
            let tokens = issued.filter { $0.profile.format == .cat }
            guard let first = tokens.first(where: { $0.profile.name == name }) ?? tokens.first,
                case .authentic(.cat(let grant)) = grants.authenticate(first.token.utf8.span, at: now)
            else { return nil }
            let signer = grants.renewer(of: grant, first.profile, at: now)
            return ContinuedPlayback(token: first.token, grant: grant, profile: first.profile, signer: signer)
        case .accepted(let accepted):
            guard let grant = accepted.grant as? CATGrant else { return nil }
            let named = terms.profiles.profile(of: .cat(grant))
            let fitting = terms.profiles.filter { $0.issuer == grant.issuer.name && $0.format == .cat }
            guard let profile = named ?? fitting.first, let token = presentedGrants?.text(of: grant, grants, at: now)
            else { return nil }
            let signer = grants.renewer(of: grant, profile, at: now)
            return ContinuedPlayback(token: token, grant: grant, profile: profile, signer: signer)
        }
    }

    /// Returns true if a grant of a request is authentic, of the same session as the playback, and valid until the
    /// session ends.
    package func lasts(_ token: Substring, for playback: ContinuedPlayback, at now: Timestamp) -> Bool {
        guard let session = playback.session, let end = playback.sessionEnd,
            case .authentic(.cat(let grant)) = grants?.authenticate(token.utf8.span, at: now)
        else { return false }
        return grant.sessionID == session && end <= (grant.expires ?? end)
    }

    /// Prolongs the slot of a playback whose player gets a manifest, if its entry has a limit.
    ///
    /// - Returns: The refusal, such as `stream_limit_reached` if the playback has lost its slot to others; otherwise `nil`.
    package func prolong(_ playback: ContinuedPlayback, of decision: Decision, at now: Timestamp) async -> DenyCode? {
        guard let entry = decision.subject.entry else { return nil }
        let slot = slot(of: entry, .cat(playback.grant), isProlonged: true, at: now)
        return await acquireSlot(slot, at: now).refusal(allowsUnknown: rules.allowsUnknownUse)
    }
}

extension PresentedGrants {
    /// Returns the text of an accepted grant, as the request presented it.
    fileprivate func text(of grant: CATGrant, _ grants: GrantService, at now: Timestamp) -> String? {
        for index in 0..<count {
            guard case .authentic(.cat(let other)) = grants.authenticate(self[index].utf8.span, at: now),
                other === grant || other.payload == grant.payload && other.key.id == grant.key.id
            else { continue }
            return String(self[index])
        }
        return nil
    }
}
