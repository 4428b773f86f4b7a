// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import Platform

/// The contract of the vendor's verifier library, as a help for moving to Playgate.
///
/// Requestor, token and trust go in; ``isValid(resourceID:)`` gives one of the six statuses; the accessors say what the
/// token says. Two things differ, on purpose: the accessors are nil until a trusted signature was found, and there is no
/// `isValid(null)`: checking authenticity alone has its own name, so that no missing parameter can turn a check for
/// playback into one. New code is better off with ``Verifier``, which says why and does not have to be made anew for
/// every token.
///
/// | vendor's library | here |
/// | --- | --- |
/// | `factory.getInstance(requestorID, token, cryptoData)` | `LegacyTokenVerifier(requestorID:token:trust:)` |
/// | `verifier.isValid(resourceID)` | ``isValid(resourceID:)`` |
/// | `verifier.isValid(null)` | ``isAuthentic()`` |
/// | `getResourceID()`, `getTimeIssued()`, `getTimeToLive()` | ``resourceID``, ``timeIssued``, ``timeToLive`` |
/// | `getUserSessionGUID()`, `getMvpdId()`, `getProxyMvpdId()` | ``userSessionGUID``, ``mvpdID``, ``proxyMVPDID`` |
public struct LegacyTokenVerifier: Sendable {
    /// The last answer; ``VerificationStatus/errorUnknown`` before the first.
    public private(set) var status = VerificationStatus.errorUnknown

    private let token: String
    private let verifier: Verifier?
    private let clock: @Sendable () -> Timestamp
    private var content: MediaToken?

    /// Makes a verifier for one token.
    ///
    /// - Parameters:
    ///   - requestorID: The requestor that the token must be for. With an empty one every answer is
    ///     ``VerificationStatus/invalidResourceID``.
    ///   - token: The whole token, raw or in Base64.
    ///   - trust: The trusted keys. Load them once and use them for every token.
    ///   - clock: What tells the time; the system's clock by default.
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

    /// Judges the token for the playback of a resource.
    ///
    /// - Parameter resourceID: What is to be played: an identifier or a fragment. An empty one matches no token.
    public mutating func isValid(resourceID: String) -> VerificationStatus {
        // What is no resource can still be the same bytes, which is all that the vendor's library compares.
        if let resource = (try? MediaResource(resourceID)) ?? (try? MediaResource(opaque: resourceID)) {
            return settle { $0.verify($1, for: resource, at: $2) }
        }
        // Nothing matches this; what is wrong with the token otherwise comes first all the same.
        if isAuthentic() == .validToken { status = .invalidResourceID }
        return status
    }

    /// Judges whether the token is authentic and within its time. Never a reason to play.
    public mutating func isAuthentic() -> VerificationStatus {
        settle { $0.authenticate($1, at: $2) }
    }

    /// The resource that the token is good for, or nil before a trusted signature was found.
    public var resourceID: String? { content?.resourceID }
    /// When the token was issued, or nil before a trusted signature was found.
    public var timeIssued: Timestamp? { content?.timeIssued }
    /// For how long the token may start a playback, or nil before a trusted signature was found.
    public var timeToLive: Duration? { content?.timeToLive }
    /// The viewer's session, or nil before a trusted signature was found.
    public var userSessionGUID: String? { content?.userSessionGUID }
    /// The TV provider, or nil before a trusted signature was found.
    public var mvpdID: String? { content?.mvpdID }
    /// The provider behind a proxy provider, or nil where there is none or no trusted signature was found.
    public var proxyMVPDID: String? { content?.proxyMVPDID }

    private mutating func settle(
        _ judge: (Verifier, String, Timestamp) -> Verification
    ) -> VerificationStatus {
        guard let verifier else {
            status = .invalidResourceID
            return status
        }
        let answer = judge(verifier, token, clock())
        content = answer.token
        status = answer.status
        return status
    }
}
