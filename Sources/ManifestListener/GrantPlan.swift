// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateConfiguration
internal import Platform
internal import PlaybackGate

/// The grants in the references of a manifest, by the time of the next request for the manifest.
///
/// A reference that a player stores gets a grant for the session. A reference that the next reload names again gets a
/// short one. The end of the playback ends both, at the edges that call the gate.
///
/// | manifest | reference | grant | why |
/// | --- | --- | --- | --- |
/// | multivariant playlist | all | session | a player reloads a variant by one URL for hours |
/// | live playlist, in queries | segments, parts, hints | `life`, and at least three target durations | named again at each reload |
/// | live playlist, in segments | segments, parts, hints | session | hls.js 1.6 ends a playback if a segment's path changes |
/// | live playlist | keys, sections, reports, date ranges | session | kept or compared: see `PlaylistTag.isKept` |
/// | live playlist with delta updates | all | session | an update leaves out what was named before |
/// | dynamic MPD | all | session | players build their streams once, and ask again after minutes or never |
/// | finished playlist, static MPD | all | its duration and `vodMargin` | read once |
/// | finished playlist that may have been live, in segments | all | session, if its URL has that | its last reload |
struct GrantPlan: Sendable {
    /// The grant of references that the next reload names again.
    let token: String
    /// The grant of references that players store.
    let lasting: String
    /// The grant for the session in the URL of the player's next request for the manifest; `nil` if it needs none.
    let moved: String?

    /// - Parameter settings: The source of grants, and the time by which a viewer may exceed the duration of a finished
    ///   playlist.
    init(
        for kind: PlaylistKind,
        playback: ContinuedPlayback,
        settings: GateConfiguration.Manifest,
        at now: Timestamp
    ) {
        switch kind {
        case .index:
            token = playback.tokenForSession()
            (lasting, moved) = (token, nil)
        case .live(let reload, let isDelta):
            lasting = playback.tokenForSession()
            let areKept = isDelta || settings.mode == .segment
            token = areKept ? lasting : playback.token(outliving: reload, at: now)
            moved = playback.token(toMoveTo: lasting)
        case .dynamic(let namesItself):
            token = playback.tokenForSession()
            (lasting, moved) = (token, namesItself ? nil : playback.token(toMoveTo: token))
        case .finished(_, mayHaveBeenLive: true) where settings.mode == .segment && playback.lastsForSession:
            // The last reload of a live playlist.
            (token, lasting, moved) = (playback.token, playback.token, nil)
        case .finished(let duration, _):
            // Without a duration, the grant is valid for the session.
            let whole = playback.end(after: duration.map { $0 + settings.margin } ?? .seconds(86_400), at: now)
            token = playback.tokenForFilm(until: whole)
            (lasting, moved) = (token, nil)
        }
    }
}

extension ContinuedPlayback {
    /// Returns the grant of references that are read again within `reload`, or within the life of the profile.
    fileprivate func token(outliving reload: Duration?, at now: Timestamp) -> String {
        guard let reload, reload > profile.rules.life else { return token(until: end(after: nil, at: now)) }
        return tokenForFilm(until: end(after: reload, at: now))
    }

    /// Returns the grant for the URL of a player's next request. `nil` if its own is valid as long, or if no copy can
    /// be made: then ``tokenForSession()`` is its own.
    fileprivate func token(toMoveTo lasting: String) -> String? { lasting == token ? nil : lasting }
}
