// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import EdgeTokens
import Encodings
import Keys
import Platform
import URISigning

/// The result of a check of a grant.
struct GrantAnswer {
    /// The issuer of the keys.
    let issuer: String
    /// True if the name of the issuer is the token's own word.
    let isIssuerAssumed: Bool
    /// The reason of the refusal; `nil` if the grant allows the request.
    var refusal: GrantRefusal?
    /// The grant; `nil` if it is not authentic.
    var grant: (any PlaybackGrant)?
    /// The obligations that are left to stores; `nil` if the grant is refused.
    var obligations: GrantObligations?

    var isValid: Bool { refusal == nil && obligations != nil }

    /// A fact that only a store knows, and that a check on the command line assumes.
    enum Assumption: String, CaseIterable {
        /// The token was not used before (`catreplay` 1).
        case firstUse = "first_use"
        /// The token was not used for the URL before (`jti`).
        case firstUseOfURL = "first_use_of_url"
        /// The reuse of the token is not noticed (`catreplay` 2).
        case reuseNotWatched = "reuse_not_watched"
        /// The proof of possession was not used before (`catdpop`).
        case firstProof = "first_proof"
        /// The token is not rejected by chance (`catpor`).
        case notSampled = "not_sampled"
        /// No revocation applies to the grant.
        case notRevoked = "not_revoked"

        /// The assumption and its source, for people.
        var meaning: String {
            switch self {
            case .firstUseOfURL: "jti: this is the first use for the URL; an edge needs a replay store to tell"
            case .firstUse: "catreplay: this is the first use; an edge needs a replay store to tell"
            case .reuseNotWatched: "catreplay: reuse is allowed and watched; an edge needs a detector of reuse"
            case .firstProof: "catdpop: the proof is used for the first time; an edge needs a replay store to tell"
            case .notSampled: "catpor: chance does not strike; an edge draws, and keeps a list of rejected ids"
            case .notRevoked: "the playback is not revoked; only the gate can tell"
            }
        }
    }

    /// The assumptions of an allowance.
    var assumptions: [Assumption] {
        guard isValid, let obligations else { return [] }
        var assumptions: [Assumption] = []
        if let use = obligations.use {
            let isSignedURI = grant is URISigningGrant
            assumptions.append(isSignedURI ? .firstUseOfURL : use.isWatched ? .reuseNotWatched : .firstUse)
        }
        if obligations.proofUse != nil { assumptions.append(.firstProof) }
        if obligations.rejection != nil { assumptions.append(.notSampled) }
        if grant?.sessionID != nil { assumptions.append(.notRevoked) }
        return assumptions
    }

    // MARK: For programs

    var json: JSON { .object(members) }

    /// The members of ``json``.
    var members: [JSON.Member] {
        let verdict = JSON.grantVerdict(isValid: isValid, refusal)
        let facts: [JSON.Member] = [
            ("issuer", grant == nil ? .null : .string(issuer)), ("issuerAssumed", .bool(isIssuerAssumed)),
            ("keyID", .optional(grant?.key.id?.description)), ("algorithm", .optional(grant?.key.algorithm.rawValue)),
            ("expires", .time(grant?.expires)), ("renewAfter", .time(grant?.renewalStart)),
            ("session", .optional(grant?.sessionID?.hexadecimal)), ("sessionEnds", .time(grant?.sessionEnd)),
            ("renewalDue", .bool(obligations?.isRenewalDue ?? false)),
            ("assumed", .array(assumptions.map { .string($0.rawValue) })),
        ]
        return verdict + facts
    }

    // MARK: For people

    func report(at now: Timestamp) -> String {
        var text = refusal.map { $0.report(at: now) } ?? "\(Style.bold(Style.green("valid"))) at \(now)\n"
        func row(_ name: String, value: String) {
            text += "  \(name)\(String(repeating: " ", count: 11 - name.count))\(value)\n"
        }
        if let grant {
            let source = isIssuerAssumed ? " (the token's own word: give --issuer to demand one)" : ""
            row("issuer", value: issuer.printable(limit: 256) + source)
            row("key", value: grant.key.description)
            if let expires = grant.expires { row("expires", value: "\(expires)") }
            if let start = grant.renewalStart { row("renewable", value: "from \(start) on") }
            if let id = grant.sessionID { row("session", value: id.hexadecimal) }
            if let end = grant.sessionEnd { row("ends", value: "\(end)") }
        }
        for assumption in assumptions { row("assumed", value: Style.yellow(assumption.meaning)) }
        return text
    }
}

extension GrantRefusal {
    /// The refusal and the next step, for people.
    func report(at now: Timestamp) -> String {
        let suffix = detail.map { " (\($0.description.printable(limit: 80)))" } ?? ""
        return """
            \(Style.bold(Style.red("refused"))): \(code.rawValue)\(suffix) at \(now)
            \(code.message) \(advice)

            """
    }
}

extension JSON {
    /// The members that every verdict on a grant has.
    static func grantVerdict(isValid: Bool, _ refusal: GrantRefusal?) -> [Member] {
        [
            ("valid", .bool(isValid)), ("code", .optional(refusal?.code.rawValue)),
            ("claim", .optional(refusal?.claimName)), ("fact", .optional(refusal?.fact?.rawValue)),
        ]
    }

    /// A time in milliseconds since 1970, or null.
    static func time(_ time: Timestamp?) -> JSON { time.map { .number($0.millisecondsSince1970) } ?? .null }
}
