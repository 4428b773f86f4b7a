// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CPlaygate
internal import EdgeChecks
internal import Encodings
internal import PlaybackGate

/// The numbers of codes. A number is never used for another code, and a list only grows at its end.
enum Codes {
    /// The names of codes by their numbers, the first one with the number `start`.
    struct Block: Sendable {
        let start: Int32
        let names: [StaticString]
    }

    static let allowed = Block(
        start: 1,
        names: [
            "unprotected", "verified", "repeated", "within_ttl", "probe", "granted", "renewed", "use_unknown",
        ]
    )
    static let ofGate = Block(
        start: 100,
        names: [
            "peer_not_trusted", "edge_request_invalid", "invalid_path", "host_missing", "unknown_media",
            "method_not_permitted", "token_conflict", "media_token_missing", "range_not_permitted", "mvpd_not_allowed",
            "rating_not_allowed", "token_revoked", "session_revoked", "mvpd_revoked", "token_already_used",
            "replay_store_full", "replay_store_unavailable", "gate_overloaded", "licence_already_issued",
            "licence_key_missing",
        ]
    )
    static let ofTokens = Block(
        start: 200,
        names: [
            "token_empty", "token_too_large", "invalid_base64", "invalid_envelope",
            "invalid_signature_encoding", "unsupported_root", "malformed_body", "missing_field",
            "repeated_field", "empty_field", "invalid_ttl", "invalid_issue_time", "no_usable_key",
            "signature_length", "untrusted_signature", "key_out_of_scope", "requestor_mismatch",
            "ttl_not_positive", "ttl_too_long", "issued_in_future", "expired", "resource_mismatch",
            "internal_failure", "blanks_for_plus",
        ]
    )
    static let ofGrants = Block(
        start: 300,
        names: [
            "grant_missing", "grant_too_large", "grant_malformed", "grant_algorithm_refused", "grant_key_unknown",
            "grant_signature_invalid", "grant_issuer_refused", "grant_subject_invalid", "grant_audience_mismatch",
            "grant_expired", "grant_not_yet_valid", "grant_renewal_invalid", "grant_replayed",
            "grant_version_unsupported", "grant_claim_unsupported", "grant_address_mismatch", "grant_uri_mismatch",
            "grant_method_refused", "grant_header_mismatch", "grant_tls_mismatch", "grant_location_mismatch",
            "grant_proof_missing", "grant_proof_invalid", "grant_context_missing", "grant_rejected_by_probability",
            "grant_revoked",
            "session_ended", "stream_limit_reached", "grant_resource_mismatch", "playback_shared",
        ]
    )
    static let ofAccessTokens = Block(
        start: 400,
        names: [
            "access_token_too_large", "access_token_malformed", "access_token_encrypted",
            "access_token_header_unsupported", "access_token_type_refused", "access_token_algorithm_refused",
            "access_token_key_unknown", "access_token_key_awaited", "access_token_signature_invalid",
            "access_token_inactive", "access_token_introspection_unavailable", "access_token_issuer_refused",
            "access_token_audience_mismatch", "access_token_claim_missing", "access_token_claim_refused",
            "access_token_not_yet_valid", "access_token_expired", "access_token_too_old",
            "access_token_confirmation_unsupported", "access_token_proof_missing", "access_token_proof_invalid",
            "access_token_proof_replayed", "access_token_resource_refused", "access_token_internal_failure",
        ]
    )
    static let undecided = Block(
        start: 900,
        names: ["ask_use", "ask_start", "ask_grant_use", "ask_stream", "ask_policy_stale"]
    )

    static let all = [allowed, ofGate, ofTokens, ofGrants, ofAccessTokens, undecided]

    /// The name of a number; `nil` if there is none.
    static func name(_ code: Int32) -> StaticString? {
        for block in all {
            let index = Int(code) - Int(block.start)
            if block.names.indices.contains(index) { return block.names[index] }
        }
        return nil
    }

    /// The number of a name; 0 if there is none.
    static func number(_ name: Span<UInt8>) -> Int32 {
        for block in all {
            for (index, own) in block.names.enumerated() {
                guard own.utf8CodeUnitCount == name.count, name.starts(with: own, at: 0) else { continue }
                return block.start + Int32(index)
            }
        }
        return 0
    }

    private static func table<Key: Hashable>(of keys: [Key], name: (Key) -> String) -> [Key: Int32] {
        var table: [Key: Int32] = [:]
        for key in keys { table[key] = number(name(key).utf8.span) }
        return table
    }

    private static let refusals = table(of: DenyCode.allCases) { $0.rawValue }

    /// The number of a refusal; that of `internal_failure` for one without a number.
    static func number(_ code: DenyCode) -> Int32 { refusals[code] ?? internalFailure }

    /// The number of a reason to allow; that of the refusal in shadow mode.
    static func number(_ reason: Decision.Allowance.Reason) -> Int32 {
        switch reason {
        case .unprotected: 1
        case .verified: 2
        case .repeated: 3
        case .withinTTL: 4
        case .probe: 5
        case .granted: 6
        case .renewed: 7
        case .useUnknown: 8
        case .shadow(let code): number(code)
        }
    }

    /// The number of a reason for ASK.
    static func number(_ reason: EmbeddedCheck.Reason) -> Int32 { undecided.start + Int32(reason.rawValue) }

    static let internalFailure = number("internal_failure".utf8.span)
    static let invalidRequest = number("edge_request_invalid".utf8.span)
}

/// See `playgate.h`.
@c @implementation
public func playgate_code_name(_ code: Int32) -> UnsafePointer<CChar>? {
    // The texts of the compiler are terminated.
    unsafe Codes.name(code).map { unsafe UnsafeRawPointer($0.utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// See `playgate.h`.
@c @implementation
public func playgate_code_number(_ name: playgate_slice) -> Int32 {
    guard let bytes = unsafe name.buffer(limit: 64) else { return 0 }
    return unsafe Codes.number(bytes.span)
}

/// See `playgate.h`.
@c @implementation
public func playgate_codes(_ codes: UnsafeMutablePointer<Int32>?, _ capacity: Int) -> Int {
    var count = 0
    for block in Codes.all {
        for index in block.names.indices {
            if let codes = unsafe codes, count < capacity { unsafe codes[count] = block.start + Int32(index) }
            count += 1
        }
    }
    return count
}
