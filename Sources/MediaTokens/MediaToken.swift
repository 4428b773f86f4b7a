// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform

/// What a media token with a trusted signature says: the short-lived, one-time proof of one authorization.
public struct MediaToken: Sendable {
    let fields: TokenFields
    /// The SHA-256 of the signed bytes: one value for a token in all its encodings, so the key under which its use is recorded.
    public let fingerprint: TokenFingerprint

    /// The programmer that the token was issued to; the audience of the token.
    public var requestorID: String { fields.string(.requestorID) }
    /// The resource that the token is good for, byte for byte as it was asked for.
    public var resourceID: String { fields.string(.resourceID) }
    /// When the token was issued.
    public var timeIssued: Timestamp { fields.timeIssued }
    /// For how long the token may start a playback, in milliseconds. May be negative or too long where it was refused for that.
    public var timeToLiveMilliseconds: Int64 { fields.timeToLiveMilliseconds }
    /// The viewer's session, an opaque text set by the provider. Personal data: hash it before it goes to a log.
    public var userSessionGUID: String { fields.string(.userSessionGUID) }
    /// The TV provider that authorized the viewer.
    public var mvpdID: String { fields.string(.mvpdID) }
    /// The bytes of ``mvpdID``, without making a text of them.
    package func withMVPDID(_ body: (Span<UInt8>) -> Void) { fields.withBytes(.mvpdID, body) }

    /// The provider behind a proxy provider, or nil where there is none.
    public var proxyMVPDID: String? {
        fields.isMissing(.proxyMVPDID) ? nil : fields.string(.proxyMVPDID)
    }

    /// For how long the token may start a playback.
    public var timeToLive: Duration { .milliseconds(timeToLiveMilliseconds) }

    /// The last moment at which the token may start a playback.
    public var expires: Timestamp { timeIssued.advanced(byMilliseconds: timeToLiveMilliseconds) }
}

extension MediaToken: Hashable {
    /// Whether both tokens were read from the same signed bytes.
    public static func == (left: MediaToken, right: MediaToken) -> Bool { left.fingerprint == right.fingerprint }

    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
