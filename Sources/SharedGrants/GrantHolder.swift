// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Platform

/// The facts about a grant by which its holders are distinguished.
package struct GrantHolder: Sendable {
    /// A hash of the playback and the chain of its renewals: separate starts of a playback are separate ones here.
    package let playback: UInt64
    /// The grant: a hash of its identity, which is random.
    package let grant: UInt32
    /// The time of issue, in whole seconds.
    package let issued: Timestamp
    /// The playback.
    package let session: SessionID
    /// The end of the playback.
    package let sessionEnd: Timestamp
    /// The name of the profile.
    package let profile: String

    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
    /// The number that undoes a multiplication by the other one, modulo 2^64.
    private static let inverse: UInt64 = 0xF1DE_83E1_9937_733D

    /// The number of a grant by its identity.
    static func number(of identifier: some Sequence<UInt8>) -> UInt32 {
        let hash = identifier.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    /// True if a number is that of a playback of this session, with any chain of renewals.
    static func isPlayback(_ number: UInt64, of session: SessionID) -> Bool {
        (session.low ^ number) &* inverse <= UInt64(UInt32.max)
    }

    /// Creates a value of its members.
    ///
    /// - Parameters:
    ///   - chain: The chain of renewals.
    ///   - identifier: The identity of the grant.
    package init(
        session: SessionID,
        until sessionEnd: Timestamp,
        chain: UInt32,
        identifier: some Sequence<UInt8>,
        issued: Timestamp,
        profile: String
    ) {
        let playback = session.low ^ UInt64(chain) &* Self.multiplier
        self.playback = playback == 0 ? 1 : playback
        grant = Self.number(of: identifier)
        self.issued = issued
        self.session = session
        self.sessionEnd = sessionEnd
        self.profile = profile
    }
}
