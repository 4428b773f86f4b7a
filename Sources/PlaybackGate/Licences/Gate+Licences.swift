// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform

// Requests for licences of DRM systems. The grant of a playback allows them, or the token that started it.

extension Gate {
    /// The condition on which a playback gets a licence.
    enum LicenceCondition {
        /// The store must record each of these uses for the first time; empty if any number is permitted.
        case uses([GrantObligations.Use])
        case refused(DenyCode)
    }

    /// Returns the condition on which a playback gets a licence.
    ///
    /// - Parameters:
    ///   - use: The rule of the entry, which has a count of its own.
    ///   - session: The session of the playback; `nil` for a grant without one.
    ///   - end: The end of the session.
    ///   - keys: The content keys; `nil` if they are not known.
    func condition(
        _ use: LicenceUse,
        of entry: Catalogue.Entry,
        in session: SessionID?,
        until end: Timestamp?,
        keys: [ContentKeyID]?
    ) -> LicenceCondition {
        if use == .session { return .uses([]) }
        guard let session, let end else { return .refused(.grant(.sessionEnded)) }
        let name = entry.key.text
        func first(_ key: [UInt8]) -> GrantObligations.Use {
            let text = "licence\n\(session.hexadecimal)\n\(name.utf8.count)\n\(name)\n\(key.hexadecimal)"
            return GrantObligations.Use(key: SHA256Digest(hashing: Array(text.utf8)), until: end, isWatched: false)
        }
        guard use == .oncePerKey else { return .uses([first([])]) }
        guard let keys, !keys.isEmpty else { return .refused(.licenceKeyMissing) }
        return .uses(keys.map { first($0.bytes) })
    }

    /// Returns the condition on which a token gets a licence: that of the playback that it starts.
    func condition(
        _ use: LicenceUse,
        of entry: Catalogue.Entry,
        for token: MediaToken,
        request: PlaybackRequest,
        at now: Timestamp
    ) -> LicenceCondition {
        guard let grants, let profile = entry.grants?.profiles.first,
            let session = grants.session(
                of: token,
                playbackID: request.playbackID,
                under: profile.rules,
                isLimited: false,
                at: now
            )
        else { return .refused(.grant(.sessionEnded)) }
        if grants.revocationCache.isRevoked(session.id) { return .refused(.grant(.revoked)) }
        guard grants.areRevocationsRecent || rules.allowsUnknownUse else { return .refused(.replayStoreUnavailable) }
        return condition(use, of: entry, in: session.id, until: session.end, keys: request.player?.keys)
    }

    /// Adds the conditions of a licence to the use of a token.
    ///
    /// - Parameter conditions: The other conditions of the use.
    func conditional(
        _ use: ExaminedUse,
        of request: PlaybackRequest,
        conditions: [UseCondition],
        at now: Timestamp
    ) -> Examination {
        var conditions = conditions
        if let licence = use.entry.licence {
            switch condition(licence, of: use.entry, for: use.use.token, request: request, at: now) {
            case .refused(let code): return .decided(refusal(code, subject: use.subject))
            case .uses(let first): conditions += first.map { UseCondition(use: $0, code: .licenceAlreadyIssued) }
            }
        }
        return conditions.isEmpty ? .use(use) : .deferred(.conditional(use, conditions))
    }
}
