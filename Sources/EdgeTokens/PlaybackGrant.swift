// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Keys

/// An authentic token of any format that belongs to a playback, with the facts for its issue, renewal and revocation.
public protocol PlaybackGrant: AnyObject, Sendable {
    /// The key that made the token. Its validity is checked on every call.
    var key: TokenKey { get }
    /// The name of the issuer.
    var issuerName: String { get }
    /// The claims as they were signed.
    var payload: [UInt8] { get }
    /// The time from which on the token is expired, if it expires.
    var expires: Timestamp? { get }
    /// The first time at which the token is valid, if it has one.
    var notBefore: Timestamp? { get }
    /// The time of issue, if the token has one.
    var issued: Timestamp? { get }
    /// The time from which on the token is renewed; `nil` if it is not renewable.
    var renewalStart: Timestamp? { get }
    /// True if the token is valid for one use only.
    var isForOneUse: Bool { get }
    /// True if the answer depends on more than time, method, host, path and query of a request, such as the client's
    /// address. An answer for one request must then not be reused for another.
    var isBoundToClient: Bool { get }
    /// The id of the playback session, if the token has one.
    var sessionID: SessionID? { get }
    /// The end of the playback session, if the token has one.
    var sessionEnd: Timestamp? { get }
    /// The number of tags by which the token can be revoked.
    var tagCount: Int { get }
    /// The issue time of the media token, for comparison with revocations; `nil` if the token cannot be revoked.
    var mediaTokenIssued: Timestamp? { get }
    /// The tag of the resource and the requestor of the token; `nil` if it has none.
    var protection: ProtectionTag? { get }
    /// The name of the profile by which the token was issued; `nil` if it names none.
    var profileName: String? { get }
    /// True if the renewals of the grant are counted, so that a second holder is found.
    var isCounted: Bool { get }

    /// Returns a tag by which the token can be revoked: of the media token, the session GUID, the MVPD and the proxy MVPD.
    ///
    /// - Parameter index: A number below ``tagCount``.
    func tag(_ index: Int) -> SubjectTag?
}

extension PlaybackGrant {
    /// False: few formats have a claim for the count.
    public var isCounted: Bool { false }

    /// The playback session, if the token has one.
    public var session: PlaybackSession? {
        guard let id = sessionID, let end = sessionEnd else { return nil }
        let tags = (0..<tagCount).compactMap { tag($0) }
        let revocation = mediaTokenIssued.flatMap { PlaybackSession.Revocability(issued: $0, tags: tags) }
        return PlaybackSession(id: id, end: end, revocation: revocation)
    }

    /// Returns the refusal of a token that is not within its times at `now`, or whose session has ended; `nil` otherwise.
    package func timeRefusal(at now: Timestamp) -> GrantRefusal? {
        if let end = sessionEnd, end <= now { return GrantRefusal(.sessionEnded, detail: .claim(.sessionEnd)) }
        if let end = expires, end <= now { return GrantRefusal(.expired, detail: .claim(.expiration)) }
        if let start = notBefore, now < start { return GrantRefusal(.notYetValid, detail: .claim(.notBefore)) }
        return nil
    }
}
