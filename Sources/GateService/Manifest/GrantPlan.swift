// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import PlaybackGate

/// The grant that the references of a manifest carry, by the kind of the manifest.
///
/// A player requests a live playlist again by the URL that it has once got, so that URL needs a grant to the end of the
/// session; what a playlist names is requested within seconds, and its grant is new at each reload.
struct GrantPlan: Sendable {
    /// The grant.
    let token: String
    /// The grant for the session by which the player is to request the manifest, by another URL; `nil` if it needs none.
    let moved: String?

    /// - Parameter margin: The time that a viewer may take longer than a finished playlist plays.
    init(_ kind: PlaylistKind, _ playback: ContinuedPlayback, margin: Duration, at now: Timestamp) {
        let life = playback.end(after: nil, at: now)
        switch kind {
        case .index: (token, moved) = (playback.tokenForSession(), nil)
        case .live(let namesItself):
            let whole = namesItself || playback.lastsForSession ? nil : playback.tokenForSession()
            // If no copy can be made, another URL would be no better.
            moved = whole == playback.token ? nil : whole
            token = playback.token(until: life)
        case .finished(let duration):
            // Without a duration, the grant is good for the session.
            let whole = playback.end(after: duration.map { $0 + margin } ?? .seconds(86_400), at: now)
            (token, moved) = (playback.tokenForFilm(until: whole), nil)
        }
    }
}
