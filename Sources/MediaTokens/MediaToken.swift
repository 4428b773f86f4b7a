// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform

/// The content of a media token with a trusted signature: the short-lived, one-time proof of one authorization.
public struct MediaToken: Sendable {
    let fields: TokenFields
    /// The SHA-256 of the signed bytes. All encodings of a token share it, so it is the token's key in the replay store.
    public let fingerprint: TokenFingerprint

    /// The programmer to which the token was issued: its audience.
    public var requestorID: String { fields.string(.requestorID) }
    /// The resource for which the token was issued, byte for byte as requested.
    public var resourceID: String { fields.string(.resourceID) }
    /// The time of issue.
    public var timeIssued: Timestamp { fields.timeIssued }
    /// The period in which the token may start a playback, in milliseconds. May be negative or too long in a refused token.
    public var timeToLiveMilliseconds: Int64 { fields.timeToLiveMilliseconds }
    /// The viewer's session, an opaque text set by the provider. Personal data: hash it before logging it.
    public var userSessionGUID: String { fields.string(.userSessionGUID) }
    /// The TV provider that authorized the viewer.
    public var mvpdID: String { fields.string(.mvpdID) }
    /// Calls `body` with the bytes of ``mvpdID``, without creating a string.
    package func withMVPDID(_ body: (Span<UInt8>) -> Void) { fields.withBytes(of: .mvpdID, body: body) }

    /// The provider behind a proxy provider, or `nil` if there is none.
    public var proxyMVPDID: String? {
        fields.isMissing(.proxyMVPDID) ? nil : fields.string(.proxyMVPDID)
    }

    /// The period in which the token may start a playback.
    public var timeToLive: Duration { .milliseconds(timeToLiveMilliseconds) }

    /// The last moment at which the token may start a playback, without the policy's leeway.
    public var expires: Timestamp { timeIssued.advanced(byMilliseconds: timeToLiveMilliseconds) }
}

extension MediaToken: Hashable {
    /// True if both tokens have the same signed bytes, by their fingerprints.
    public static func == (left: MediaToken, right: MediaToken) -> Bool { left.fingerprint == right.fingerprint }

    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
