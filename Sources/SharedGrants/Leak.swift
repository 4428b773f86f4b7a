// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
public import Platform

/// A playback whose grant more than one seem to hold.
public struct Leak: Hashable, Sendable {
    /// The playback.
    public let session: SessionID
    /// The name of the profile of its grants.
    public let profile: String
    /// The time of the first suspicion.
    public let suspected: Timestamp
    /// The evidence that led to the suspicion, and to the proof once there is one.
    public internal(set) var evidence: Evidence
    /// The time of the last evidence.
    public internal(set) var last: Timestamp
    /// The number of generations running in which two grants were renewed.
    public internal(set) var generations = 0
    /// The time of the last challenge; `nil` without one.
    public internal(set) var challenged: Timestamp?
    /// The number of grants in use at a time since the challenge.
    public internal(set) var grants = 0
    /// The number of returns to a grant that was left.
    public internal(set) var returns = 0
    /// The time of the proof; `nil` while there is only a suspicion.
    public internal(set) var proven: Timestamp?
    /// True if the playback was revoked for it.
    public var isRevoked: Bool { end == .revoked }
    /// The requests since the challenge, the latest ones, from which the evidence comes.
    public internal(set) var uses: [Use] = []

    /// A kind of evidence.
    public enum Evidence: String, Sendable, CaseIterable {
        /// Two grants of one generation were renewed.
        case renewals
        /// Players took turns, and went forth and back between their grants after a challenge.
        case forks
    }

    /// A request for a segment in a playback that was challenged.
    public struct Use: Hashable, Sendable {
        /// The time of the request.
        public let time: Timestamp
        /// The number of the segment.
        public let index: UInt32
        /// The number of the grant among those of the playback, in the order of their first use, from 0 on.
        public let grant: Int
        /// A hash of the segment's track.
        public let track: UInt16

        /// Creates a use of its members.
        package init(time: Timestamp, index: UInt32, grant: Int, track: UInt16) {
            (self.time, self.index, self.grant, self.track) = (time, index, grant, track)
        }
    }

    /// True if another gate has suspected it first, or has proven it.
    var isAdopted = false
    var end = End.none
    let sessionEnd: Timestamp
    /// The time after which a suspicion ends by itself.
    var watchedUntil: Timestamp

    enum End: Hashable { case none, pending, revoked }

    init(session: SessionID, until sessionEnd: Timestamp, profile: String, evidence: Evidence, at time: Timestamp) {
        (self.session, self.sessionEnd, self.profile, self.evidence) = (session, sessionEnd, profile, evidence)
        (suspected, last, watchedUntil) = (time, time, time)
    }
}

extension [Leak.Use] {
    /// The uses on the track with the most, for a picture: the segments of other tracks have other numbers.
    package var onMainTrack: [Leak.Use] {
        let tracks = Dictionary(grouping: self, by: \.track)
        return tracks.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.value ?? []
    }
}

/// An observer of shared grants. Called on tasks of ``LeakWatch/run(store:clock:sleep:revoke:)``, so it must not wait for long.
public protocol LeakObserver: Sendable {
    /// Called when a playback is suspected.
    func observeSuspected(_ leak: Leak)

    /// Called when a suspected playback gets new grants to tell its holders apart.
    func observeChallenged(_ leak: Leak)

    /// Called when a playback is proven to be shared.
    func observeProven(_ leak: Leak)

    /// Called when a suspicion has ended without a proof.
    func observeUnproven(_ leak: Leak)

    /// Called when a proven playback was revoked.
    func observeRevoked(_ leak: Leak)

    /// Counts a renewal or an event that could not be recorded.
    func countDropped()
}
