// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A grant as a player's jar holds it.
struct HeldGrant: Equatable {
    var id: UInt64
    /// The time of issue in seconds.
    var issued: Double
    var generation: UInt32
}

/// A request for one segment, as an edge sees it.
struct SegmentRequest {
    var time: Double
    var edge: Int
    /// The path of the segment, for example `/live/tnt/v720/seg_000123.m4s`.
    var path: String
    var grant: HeldGrant
    /// Less than half of the segment was sent.
    var isAborted: Bool
}

/// What the product under test does with a playback's requests. A request is served in order of time.
protocol Installation {
    /// Serves a request. Returns the new grant that the answer delivers; nil for none.
    mutating func serve(_ request: SegmentRequest) -> HeldGrant?

    /// The time at which the playback was proven to be shared; nil while it is not.
    var proven: Double? { get }

    /// The number of times that the playback was challenged.
    var challenges: Int { get }

    /// The playback was suspected at least once.
    var isSuspected: Bool { get }
}
