// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens

/// The fields of a CDNI log for a signed URI (RFC 9246 §4.4).
public struct SigningLogFields: Hashable, Sendable {
    /// The value of `s-uri-signing`: `000` without a token, `200` for one that allows, else the number of the reason.
    /// It is `-` for a reason that RFC 9246 does not have.
    public let status: String
    /// The value of `s-uri-signing-deny-reason`: the code in quotes; `-` if the request is allowed.
    public let denyReason: String

    /// Creates the fields of an allowed request.
    public init() { self.init(status: "200") }

    /// The fields of a request that presented no signed URI, and was allowed for another reason.
    public static let notPerformed = Self(status: "000")

    /// The fields of a signed URI whose verdict is not known, because a store did not answer.
    public static let unknown = Self(status: "-")

    private init(status: String) { (self.status, denyReason) = (status, "-") }

    /// Creates the fields of a refused request.
    public init(_ code: GrantCode) {
        status = code.signingStatus.map { $0 == 0 ? "000" : String($0) } ?? "-"
        denyReason = "\"\(code.rawValue)\""
    }

    /// Creates the fields of a verdict.
    public init(_ verdict: GrantVerdict) { self = verdict.refusal.map { Self($0.code) } ?? Self() }
}
