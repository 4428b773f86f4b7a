// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import Platform
internal import ReplayStores

/// The playbacks that a catalogue knows, by the tags of their resources.
///
/// A grant names no entry, only a resource. Entries of one resource and requestor share their playbacks. A playback
/// that starts by a media id continues at the paths, so the smallest limit of all their profiles counts at each entry.
struct PlaybackIndex: Sendable {
    private var terms: [ProtectionTag: PlaybackTerms] = [:]
    /// True if the number of concurrent playbacks is limited anywhere.
    private(set) var hasLimits = false

    /// Creates an index without playbacks.
    init() {}

    /// Reads a catalogue.
    ///
    /// - Parameter key: The key that makes the tags.
    init(_ catalogue: Catalogue, key: SubjectKey) {
        for entry in catalogue.unorderedEntries where entry.hasGrants {
            guard let own = PlaybackTerms(entry), let tag = entry.tag(by: key) else { continue }
            if own.streamLimit != nil { hasLimits = true }
            terms[tag] = terms[tag]?.merging(own) ?? own
        }
    }

    /// Returns the terms of the playbacks of a grant with this tag; `nil` if the catalogue has none.
    subscript(tag: ProtectionTag?) -> PlaybackTerms? { tag.flatMap { terms[$0] } }
}

/// The terms of the playbacks of one resource and requestor.
struct PlaybackTerms: Sendable {
    /// The profiles by which they get grants.
    private(set) var profiles: [GrantProfile]
    /// The requestor whose media tokens start them.
    let requestor: String

    /// Creates the terms of an entry; `nil` if it has no grants, or no requestor.
    init?(_ entry: Catalogue.Entry) {
        guard let profiles = entry.grants?.profiles, let requestor = entry.protection.requestor else { return nil }
        self.profiles = profiles
        self.requestor = requestor
    }

    /// Returns the terms with the profiles of others.
    func merging(_ other: Self) -> Self {
        let others = other.profiles.filter { profile in !profiles.contains { $0 === profile } }
        guard !others.isEmpty else { return self }
        var merged = self
        merged.profiles += others
        return merged
    }

    /// The largest number of concurrent playbacks of a viewer: the smallest of the profiles; `nil` for any number.
    var streamLimit: Int? {
        let limit = profiles.lazy.compactMap(\.rules.streamLimit).min()
        return limit.map { min($0, ownLimit) }
    }

    /// The limit of the viewer, which lowers that of the profiles.
    private var ownLimit = Int.max

    /// Lowers the limit to that of a viewer, at least 1.
    mutating func lowerLimit(to limit: Int) { ownLimit = max(1, limit) }

    /// The longest life of a grant, in milliseconds.
    private var life: Int64 { profiles.lazy.map(\.rules.life.milliseconds).max() ?? 0 }

    /// The time in milliseconds for which a slot is held after the end of the longest grant.
    private static let margin: Int64 = 10_000

    /// Returns the slot of a playback; `nil` if there is no limit.
    ///
    /// It ends ten seconds after the longest-lived grant that is issued at `now`. No grant outlives it except those of
    /// ``outliveSlot(_:)``.
    ///
    /// - Parameters:
    ///   - session: The playback.
    ///   - revocability: Its tags, which name the viewer.
    func slot(of session: SessionID, revocability: PlaybackSession.Revocability, at now: Timestamp) -> StreamLease? {
        guard let streamLimit else { return nil }
        let key = LeaseKey(requestor: requestor, mvpd: revocability.tags[2], viewer: revocability.tags[1])
        let end = now.advanced(byMilliseconds: life + Self.margin)
        return StreamLease(key, session: session, limit: streamLimit, expires: end)
    }

    /// True if a grant may be valid after the slot that was acquired at its issue, such as one in the references of a
    /// manifest. The gate checks the slot of its playback when a request presents it.
    func outliveSlot(_ grant: any PlaybackGrant) -> Bool {
        guard let issued = grant.issued, let expires = grant.expires else { return true }
        return expires > issued.advanced(byMilliseconds: life + Self.margin)
    }

    /// The time for which a slot is known to be held after it was acquired, in milliseconds: half of a grant's life. It
    /// is prolonged by the first request after that, long before it ends.
    var slotTrust: Int64 { life / 2 }
}
