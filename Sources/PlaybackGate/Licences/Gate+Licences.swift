// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform
internal import ReplayStores

// Requests for licences of DRM systems. The grant of a playback allows them. A token does so only where an entry admits tokens
// until they expire, and any number of licences.

extension Gate {
    /// The condition on which a playback gets a licence.
    enum LicenceCondition {
        /// The store must record each of these uses for the first time; empty if any number is permitted.
        case uses([GrantObligations.Use])
        case refused(DenyCode)
    }

    /// Returns the condition on which a grant gets a licence.
    ///
    /// - Parameters:
    ///   - use: The rule of the entry, whose path has a count of its own.
    ///   - keys: The content keys; `nil` if they are not known.
    func condition(
        _ use: LicenceUse,
        of entry: Catalogue.Entry,
        for grant: any PlaybackGrant,
        keys: [ContentKeyID]?,
        at now: Timestamp
    ) -> LicenceCondition {
        if use == .session { return .uses([]) }
        guard let session = grant.sessionID, let end = grant.sessionEnd else { return .refused(.grant(.sessionEnded)) }
        // A grant of another profile of the playback may live for longer.
        let longest = entry.grants?.profiles.map(\.rules.session).max() ?? .zero
        let until = max(end, now.advanced(byMilliseconds: longest.milliseconds))
        let name = entry.key.text
        func first(_ key: [UInt8]) -> GrantObligations.Use {
            let text = "licence\n\(session.hexadecimal)\n\(name.utf8.count)\n\(name)\n\(key.hexadecimal)"
            return GrantObligations.Use(key: SHA256Digest(hashing: Array(text.utf8)), until: until, isWatched: false)
        }
        guard use == .oncePerKey else { return .uses([first([])]) }
        guard let keys, !keys.isEmpty else { return .refused(.licenceKeyMissing) }
        return .uses(keys.map { first($0.bytes) })
    }

    /// Returns the refusal of a token at a path of a licence server; `nil` if its playback is not revoked.
    func licenceRefusal(of use: ExaminedUse, request: PlaybackRequest) -> DenyCode? {
        // A count needs a playback that was started, which only a grant proves.
        guard use.entry.licence == .session, let grants,
            let session = grants.subjectKey.sessionID(
                fingerprint: use.use.token.fingerprint,
                playbackID: request.playbackID
            )
        else { return .grant(.missing) }
        if let code = grants.revocation(of: session) { return .grant(code) }
        return grants.areRevocationsRecent || rules.allowsUnknownUse ? nil : .replayStoreUnavailable
    }

    /// Records the uses of a licence. Returns the refusal if one is not the first, or nobody can tell.
    func record(licence uses: [GrantObligations.Use], at now: Timestamp) async -> DenyCode? {
        for use in uses {
            switch await insertion(of: use, at: now) {
            case .first: continue
            case .replayed: return .licenceAlreadyIssued
            case .full: return .replayStoreFull
            default: return .replayStoreUnavailable
            }
        }
        return nil
    }
}
