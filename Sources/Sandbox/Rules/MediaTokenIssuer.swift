// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaTokens
internal import Platform
internal import Synchronization

/// Issues media tokens, none of which is stored.
///
/// Every token has an issue time of its own, to the millisecond. The session GUID cannot distinguish tokens: it is
/// documented as the same for one viewer, at all times and on all devices. Without a difference, two tokens of one
/// viewer for one resource would be the same bytes, because the signature is deterministic, and a gate would refuse the
/// second as used.
final class MediaTokenIssuer: Sendable {
    private let latest = Mutex(Timestamp(millisecondsSince1970: .min))

    /// The time by which issue times may run ahead of the clock, in milliseconds. A clock that goes back further is followed.
    private static let lead: Int64 = 1000

    /// Returns the time of the next token: `now`, or the next millisecond that no token has.
    private func issueTime(_ now: Timestamp) -> Timestamp {
        latest.withLock { latest in
            let next = latest.advanced(byMilliseconds: 1)
            let isAhead = next > now && next <= now.advanced(byMilliseconds: Self.lead)
            latest = isAhead ? next : now
            return latest
        }
    }

    /// Issues a token as the switches are set.
    ///
    /// - Throws: ``IssueError`` if the token would be too large.
    func issue(in core: SandboxCore, for viewer: Viewer, resource: String, at now: Timestamp) throws -> AuthorizedToken
    {
        let switches = core.control.switches
        let lifetime = core.configuration.mediaTokenLifetime
        let claims = TokenClaims(
            requestorID: viewer.requestor.id,
            resourceID: resource,
            mvpdID: viewer.provider.id,
            proxyMVPDID: viewer.provider.proxy,
            userSessionGUID: viewer.guid,
            timeToLiveMilliseconds: lifetime
        )
        let issued = issueTime(now).advanced(byMilliseconds: switches.clockSkew)
        let issuer = Issuer(key: switches.wrongKey ?? core.keys.signer, writesMilliseconds: true)
        let token = try issuer.issue(claims, at: issued)
        // The closing tag is dropped, as in a truncated token.
        let raw = switches.malformsTokens ? String(token.raw.dropLast("</authToken>".count)) : token.raw
        return AuthorizedToken(
            requestor: viewer.requestor.id,
            mvpd: viewer.provider.id,
            resource: resource,
            userID: viewer.reportedID,
            issued: issued,
            notBefore: issued,
            expires: issued.advanced(byMilliseconds: lifetime),
            serializedToken: Base64.encode([UInt8](raw.utf8))
        )
    }
}
