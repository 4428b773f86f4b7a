// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens

/// The closed list of codes.
@Suite struct `Codes of grants` {
    static let rows: [(String, Int?, ClientAction)] = [
        ("grant_missing", 0, .authorization), ("grant_too_large", 500, .none), ("grant_malformed", 500, .authorization),
        ("grant_algorithm_refused", 400, .configuration), ("grant_key_unknown", 400, .configuration),
        ("grant_signature_invalid", 400, .authorization), ("grant_issuer_refused", 401, .configuration),
        ("grant_subject_invalid", 402, .none), ("grant_audience_mismatch", 403, .configuration),
        ("grant_expired", 404, .authorization), ("grant_not_yet_valid", 405, .retry),
        ("grant_renewal_invalid", 406, .none),
        ("grant_replayed", 407, .authorization), ("grant_version_unsupported", 408, .configuration),
        ("grant_claim_unsupported", 409, .configuration), ("grant_resource_mismatch", nil, .authorization),
        ("grant_address_mismatch", 410, .authorization),
        ("grant_uri_mismatch", 411, .none), ("grant_method_refused", nil, .none), ("grant_header_mismatch", nil, .none),
        ("grant_tls_mismatch", nil, .none), ("grant_location_mismatch", nil, .none),
        ("grant_proof_missing", nil, .none),
        ("grant_proof_invalid", nil, .none), ("grant_context_missing", nil, .configuration),
        ("grant_rejected_by_probability", nil, .authorization), ("grant_revoked", nil, .authorization),
        ("playback_shared", nil, .authorization),
        ("session_ended", nil, .authorization), ("stream_limit_reached", nil, .retry),
    ]

    @Test func `are those of the specification, in its order`() {
        #expect(GrantCode.allCases.map(\.rawValue) == Self.rows.map(\.0))
        for (code, row) in zip(GrantCode.allCases, Self.rows) {
            #expect(code.signingStatus == row.1, "\(code.rawValue)")
            #expect(code.action == row.2, "\(code.rawValue)")
            #expect(code.edgeStatus == (code == .missing ? 401 : 403))
            #expect(code.message.hasSuffix(".") && code.operatorHint.hasSuffix("."))
        }
    }

    @Test func `name claims and facts`() {
        #expect(ClaimLabel.known.map(\.description).allSatisfy { !$0.isEmpty })
        #expect(Set(ClaimLabel.known).count == ClaimLabel.known.count)
        #expect(ClaimLabel(312).description == "catu")
        #expect(ClaimLabel(9999).description == "9999")
        for claim in CATClaim.allCases {
            #expect(claim.label.flatMap { CATClaim($0.rawValue) } == (claim.label == nil ? nil : claim))
        }
    }
}
