// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import Platform

/// The interface of the vendor's verifier library, for migrations to Playgate.
///
/// Its parameters are a requestor, a token and the trust. ``isValid(resourceID:)`` returns one of the six statuses, and
/// the accessors return the content of the token. Two things differ on purpose. The accessors are `nil` until a trusted
/// signature was verified. A check of only authenticity has its own name, ``isAuthentic()``, instead of
/// `isValid(null)`, so that a missing parameter cannot weaken a check for playback. Prefer ``Verifier`` in new code: it
/// reports the reason, and one verifier serves all tokens.
///
/// | vendor's library | here |
/// | --- | --- |
/// | `factory.getInstance(requestorID, token, cryptoData)` | `LegacyTokenVerifier(requestorID:token:trust:)` |
/// | `verifier.isValid(resourceID)` | ``isValid(resourceID:)`` |
/// | `verifier.isValid(null)` | ``isAuthentic()`` |
/// | `getResourceID()`, `getTimeIssued()`, `getTimeToLive()` | ``resourceID``, ``timeIssued``, ``timeToLive`` |
/// | `getUserSessionGUID()`, `getMvpdId()`, `getProxyMvpdId()` | ``userSessionGUID``, ``mvpdID``, ``proxyMVPDID`` |
public struct LegacyTokenVerifier: Sendable {
    /// The last status; ``VerificationStatus/errorUnknown`` before the first check.
    public private(set) var status = VerificationStatus.errorUnknown

    private let token: String
    private let verifier: Verifier?
    private let clock: @Sendable () -> Timestamp
    private var content: MediaToken?

    /// Creates a verifier for one token.
    ///
    /// - Parameters:
    ///   - requestorID: The requestor that the token must be for. If it is empty, every status is
    ///     ``VerificationStatus/invalidResourceID``.
    ///   - token: The whole token, raw or in Base64.
    ///   - trust: The trusted keys. Load them once and use them for every token.
    ///   - clock: Returns the current time; the system clock by default.
    public init(
        requestorID: String,
        token: String,
        trust: TrustStore,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.token = token
        self.clock = clock
        verifier = (try? VerificationPolicy(requestor: requestorID)).map { Verifier(trust: trust, policy: $0) }
    }

    /// Verifies the token for the playback of a resource.
    ///
    /// - Parameter resourceID: The resource to play: an identifier or a fragment. An empty one matches no token.
    public mutating func isValid(resourceID: String) -> VerificationStatus {
        // Text that is not a valid resource can still match by its bytes, the only comparison of the vendor's library.
        if let resource = (try? MediaResource(resourceID)) ?? (try? MediaResource(opaque: resourceID)) {
            return settle { $0.verify($1, for: resource, at: $2) }
        }
        // An empty or too large text matches no token. Other faults of the token are reported first.
        if isAuthentic() == .validToken { status = .invalidResourceID }
        return status
    }

    /// Verifies that the token is authentic and within its time. Never permits playback.
    public mutating func isAuthentic() -> VerificationStatus {
        settle { $0.authenticate($1, at: $2) }
    }

    /// The resource for which the token was issued, or `nil` before a trusted signature was verified.
    public var resourceID: String? { content?.resourceID }
    /// The time of issue, or `nil` before a trusted signature was verified.
    public var timeIssued: Timestamp? { content?.timeIssued }
    /// The period in which the token may start a playback, or `nil` before a trusted signature was verified.
    public var timeToLive: Duration? { content?.timeToLive }
    /// The viewer's session, or `nil` before a trusted signature was verified.
    public var userSessionGUID: String? { content?.userSessionGUID }
    /// The TV provider, or `nil` before a trusted signature was verified.
    public var mvpdID: String? { content?.mvpdID }
    /// The provider behind a proxy provider, or `nil` if there is none or no trusted signature was verified.
    public var proxyMVPDID: String? { content?.proxyMVPDID }

    private mutating func settle(
        _ verify: (Verifier, String, Timestamp) -> Verification
    ) -> VerificationStatus {
        guard let verifier else {
            status = .invalidResourceID
            return status
        }
        let answer = verify(verifier, token, clock())
        content = answer.token
        status = answer.status
        return status
    }
}
