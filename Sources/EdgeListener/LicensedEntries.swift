// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
package import Licences
package import Platform
package import PlaybackGate

/// The entries of a catalogue whose playbacks get tokens for licence servers.
package struct LicensedEntries: Sendable {
    /// The content of an entry, with the issuers of its tokens.
    package struct Content: Sendable {
        package let asset: String
        package let keys: ContentKeys
        package let issuers: [LicenceTokenIssuer]
        /// The ids of ``keys``.
        fileprivate let ids: Set<ContentKeyID>

        package init(asset: String, keys: ContentKeys, issuers: [LicenceTokenIssuer]) {
            (self.asset, self.keys, self.issuers) = (asset, keys, issuers)
            ids = Set(keys.tracks.map(\.id))
        }
    }

    private let contents: [Catalogue.Entry: Content]

    /// Creates a table by entry.
    package init(_ contents: [Catalogue.Entry: Content] = [:]) { self.contents = contents }

    /// Returns the content keys of an entry; empty if they are not known.
    package func keys(of entry: Catalogue.Entry) -> Set<ContentKeyID> { contents[entry]?.ids ?? [] }

    /// Issues the tokens of an allowed playback. One that cannot be issued is left out: its server then gives no licence.
    package func tokens(for allowance: Decision.Allowance, at now: Timestamp) -> [LicenceToken] {
        guard !contents.isEmpty, let entry = allowance.subject.entry, let content = contents[entry],
            let session = allowance.access?.playbackSession
        else { return [] }
        let order = LicenceOrder(
            asset: content.asset,
            keys: content.keys,
            session: session.id.hexadecimal,
            // That of the session at the provider: the same in all playbacks of the viewer's login.
            viewer: session.revocation.flatMap { $0.tags.count > 1 ? $0.tags[1].hexadecimal : nil },
            sessionEnd: session.end
        )
        return content.issuers.compactMap { try? $0.issue(order, at: now) }
    }
}

extension GrantedAccess {
    /// The playback session with its end; `nil` for a grant without one.
    fileprivate var playbackSession: PlaybackSession? {
        switch self {
        case .accepted(let accepted): accepted.grant.session
        case .issued(let grants): grants.first?.session
        }
    }
}
