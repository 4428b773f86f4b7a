// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaTokens
internal import Platform

/// Hands out media tokens.
///
/// Each is made anew and none is kept. Yet two of one viewer for one resource in one second are the same bytes: they say the
/// same, their time has no more than seconds, and the signature has nothing random. The real service does it so too, and
/// whoever checks tokens must know it.
struct MediaTokenIssuer: Sendable {
    let core: SandboxCore

    struct HandedOut: Sendable {
        /// The token as it is, and in Base64.
        let raw: String
        let serialized: String
        let issued: Timestamp
        let expires: Timestamp
    }

    /// Finds out whether a token about a resource can be at all: before the viewer is charged for it.
    ///
    /// - Throws: ``EndpointError`` where it would be too large.
    func check(_ viewer: Viewer, resource: String, at now: Timestamp) throws {
        do { _ = try issue(viewer, resource: resource, at: now) } catch IssueError.tooLarge {
            throw EndpointError.v1(
                .malformedAuthorizationRequest,
                message: "The resource is too long for a media token."
            )
        }
    }

    func issue(_ viewer: Viewer, resource: String, at now: Timestamp) throws -> HandedOut {
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
        let issued = now.advanced(byMilliseconds: switches.clockSkew)
        let issuer = Issuer(key: switches.wrongKey ?? core.keys.signer)
        let token = try issuer.issue(claims, at: issued)
        // Without its last tag, as if it were cut off on the way.
        let raw = switches.malformsTokens ? String(token.raw.dropLast("</authToken>".count)) : token.raw
        return HandedOut(
            raw: raw,
            serialized: Base64.encode([UInt8](raw.utf8)),
            issued: issued,
            expires: issued.advanced(byMilliseconds: lifetime)
        )
    }
}
