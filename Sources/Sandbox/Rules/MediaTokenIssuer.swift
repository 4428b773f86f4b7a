// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaTokens
internal import Platform

/// Issues media tokens.
///
/// Each token is signed anew, and none is stored. Two tokens of one viewer for one resource in one second are still
/// byte-identical: their time has a resolution of one second, and the signature is deterministic. The real service behaves
/// in the same way, and verifiers must allow for it.
struct MediaTokenIssuer: Sendable {
    let core: SandboxCore

    /// Checks that a token for a resource can be issued, before the viewer is charged for it.
    ///
    /// - Throws: ``EndpointError`` if the token would be too large.
    func check(_ viewer: Viewer, resource: String, at now: Timestamp) throws {
        do { _ = try issue(viewer, resource: resource, at: now) } catch IssueError.tooLarge {
            throw EndpointError.v1(
                .malformedAuthorizationRequest,
                message: "The resource is too long for a media token."
            )
        }
    }

    func issue(_ viewer: Viewer, resource: String, at now: Timestamp) throws -> AuthorizedToken {
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
        // The closing tag is dropped, as in a truncated token.
        let raw = switches.malformsTokens ? String(token.raw.dropLast("</authToken>".count)) : token.raw
        return AuthorizedToken(
            requestor: viewer.requestor.id,
            mvpd: viewer.provider.id,
            resource: resource,
            userID: viewer.guid,
            issued: issued,
            notBefore: issued,
            expires: issued.advanced(byMilliseconds: lifetime),
            serializedToken: Base64.encode([UInt8](raw.utf8))
        )
    }
}
