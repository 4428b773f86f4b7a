// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Platform
import SharedGrants

/// The playbacks of the tests of shared grants.
enum LeakSample {
    static func time(_ seconds: Double) -> Timestamp { Timestamp(millisecondsSince1970: Int64(seconds * 1000)) }

    static func holder(_ playback: UInt64 = 1, grant: UInt8 = 0, issued: Double = 0) -> GrantHolder {
        GrantHolder(
            session: SessionID(high: playback, low: playback),
            until: time(100_000),
            chain: 1,
            identifier: [grant],
            issued: time(issued),
            profile: "live"
        )
    }

    /// The challenge of the first playback.
    static func challenge(at seconds: Double) -> LeakChallenge {
        LeakChallenge(
            playback: holder().playback,
            session: holder().session,
            sessionEnd: time(100_000),
            profile: "live",
            time: time(seconds)
        )
    }
}
