// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The playback session of a grant, as its private claims carry it, so that no session is stored.
public struct PlaybackSession: Hashable, Sendable {
    /// The id of the session.
    public let id: SessionID
    /// The end of the session, in whole seconds. No renewal exceeds it.
    public let end: Timestamp
    /// The facts by which the grant can be revoked; `nil` if it cannot.
    public let revocation: Revocability?

    /// The facts by which a grant can be revoked.
    public struct Revocability: Hashable, Sendable {
        /// The issue time of the media token. Revocations apply to tokens that were issued before a time.
        public let issued: Timestamp
        /// The tags of token, session GUID and MVPD, and of the proxy MVPD if there is one.
        public let tags: [SubjectTag]

        /// Creates facts for revocation; `nil` if there are not three or four tags.
        public init?(issued: Timestamp, tags: [SubjectTag]) {
            guard 3...4 ~= tags.count else { return nil }
            self.issued = issued
            self.tags = tags
        }
    }

    /// Creates a session. Its end is rounded down to a second.
    public init(id: SessionID, end: Timestamp, revocation: Revocability?) {
        self.id = id
        self.end = Timestamp(secondsSince1970: end.millisecondsSince1970 / 1000)
        self.revocation = revocation
    }
}
