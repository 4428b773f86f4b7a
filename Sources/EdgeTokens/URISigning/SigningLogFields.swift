// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The fields of a CDNI log for a signed URI (RFC 9246 §4.4).
public struct SigningLogFields: Hashable, Sendable {
    /// The value of `s-uri-signing`: `000` without a token, `200` for one that allows, else the number of the reason; `-` if the
    /// reason is none of RFC 9246.
    public let status: String
    /// The value of `s-uri-signing-deny-reason`: the code in quotes; `-` if the request is allowed.
    public let denyReason: String

    /// Creates the fields of an allowed request.
    public init() { (status, denyReason) = ("200", "-") }

    /// Creates the fields of a refused request.
    public init(_ code: GrantCode) {
        status = code.signingStatus.map { $0 == 0 ? "000" : String($0) } ?? "-"
        denyReason = "\"\(code.rawValue)\""
    }

    /// Creates the fields of a verdict.
    public init(_ verdict: GrantVerdict) { self = verdict.refusal.map { Self($0.code) } ?? Self() }
}
