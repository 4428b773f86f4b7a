// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
package import Encodings
internal import HTTPServer
internal import Keys
package import Platform
internal import PlaybackGate

// The operations on grants.

extension APIResponder {
    /// `POST /v1/grants`: exchanges a live grant for one of another profile of the same entry.
    package func exchange(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        let body = try read(GrantExchangeBody.self, from: call)
        guard let grants = call.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        guard case .entry(let entry) = call.gate.catalogue.find(body.target, host: body.host?[...]) else {
            throw APIRefusal(DenyCode.unknownMedia)
        }
        guard let profile = entry.grants?.profiles.first(where: { $0.name == body.profile }) else {
            throw APIRefusal(.invalidRequest, details: "profile: the entry has no profile \(body.profile)")
        }
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            let outcome = await gate.exchange(
                body.grant,
                of: entry,
                target: body.target,
                for: profile,
                player: body.player,
                by: grants,
                at: time
            )
            inFlight.release(1)
            return try Self.response(to: outcome, at: time, trace: trace)
        }
    }

    /// `POST /v1/grants/renew`: renews a grant for a player that cannot see response headers.
    package func renew(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        let body = try read(GrantBody.self, from: call)
        guard let grants = call.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            let outcome = await gate.renew(body.grant, by: grants, at: time)
            inFlight.release(1)
            return try Self.response(to: outcome, at: time, trace: trace)
        }
    }

    private static func response(
        to outcome: GrantService.BackendOutcome,
        at time: Timestamp,
        trace id: TraceID
    ) throws(APIRefusal) -> APIAnswer {
        let trace: JSON.Member = ("trace", .string("\(id)"))
        switch outcome {
        case .issued(let grant):
            return .json(.object([("renewed", .bool(true)), ("grant", grant.json(at: time)), trace]), trace: id)
        case .notDue(let grant):
            let members: [JSON.Member] = [
                ("renewed", .bool(false)), ("expires", .optional(grant.expires)),
                ("renewAfter", .optional(grant.renewalStart)), trace,
            ]
            return .json(.object(members), trace: id)
        case .refused(let refusal): throw APIRefusal(refusal)
        case .unknown: throw APIRefusal(DenyCode.replayStoreUnavailable)
        }
    }

    /// `POST /v1/grants/verify`: checks a grant for a described request, and explains each claim. Consumes nothing.
    package func explain(_ call: RequestContext) throws(APIRefusal) -> APIAnswer {
        let body = try read(GrantVerifyBody.self, from: call)
        guard let grants = call.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        try reserveRoom(for: 1)
        defer { inFlight.release(1) }
        let explanation = grants.explain(
            body.grant.utf8.span,
            for: body.facts,
            asOf: body.time ?? call.time,
            at: call.time
        )
        var refusal: GrantRefusal?
        if case .refused(let reason) = explanation.verdict { refusal = reason }
        let claims = explanation.claims.map { claim in
            JSON.object([
                ("claim", .string(claim.name)), ("label", claim.label.map { .number($0) } ?? .null),
                ("outcome", .string(claim.outcome.rawValue)), ("code", .optional(claim.refusal?.code.rawValue)),
                ("value", .string(claim.value)),
            ])
        }
        let members: [JSON.Member] = [
            ("valid", .bool(refusal == nil)), ("code", .optional(refusal?.code.rawValue)),
            ("claim", .optional(refusal?.claimName)),
            ("action", .string((refusal?.action ?? ClientAction.none).rawValue)),
            ("key", .optional(explanation.key?.id?.description)), ("claims", .array(claims)),
            ("trace", .string("\(call.trace)")),
        ]
        return .json(.object(members), trace: call.trace)
    }

    /// `DELETE /v1/playback/{session}`: frees the slot of a playback that has ended.
    package func free(_ text: Substring, in call: RequestContext) throws(APIRefusal) -> Outcome {
        guard let session = SessionID(hexadecimal: String(text)) else {
            throw APIRefusal(.invalidRequest, details: "session: must have 32 hexadecimal digits")
        }
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        return .later { () async throws(APIRefusal) in
            guard let isFreed = await gate.end(session, at: time) else {
                throw APIRefusal(DenyCode.replayStoreUnavailable)
            }
            let members: [JSON.Member] = [("freed", .bool(isFreed)), ("trace", .string("\(trace)"))]
            return .json(.object(members), trace: trace)
        }
    }
}

extension IssuedGrant {
    /// The grant in all shapes that its profile delivers.
    package func json(at now: Timestamp) -> JSON {
        let deliveries = profile.rules.deliveries
        var members: [JSON.Member] = [
            ("profile", .string(profile.name)), ("format", .string(profile.format.name)),
            ("token", .string(token)), ("expires", .optional(expires)), ("renewAfter", .optional(renewAfter)),
            ("sessionEnds", .optional(session.end)), ("session", .string(session.id.hexadecimal)),
            ("scope", .array([.string(scopeURL)])),
        ]
        if deliveries.contains(.cookie) {
            members.append(("setCookies", .strings(setCookies(at: now))))
        }
        if deliveries.contains(.query) { members.append(("query", .optional(query))) }
        if deliveries.contains(.segment) {
            members.append(("segment", .optional(segment)))
            members.append(("path", .optional(path)))
        }
        if deliveries.contains(.segment) || profile.format != .cat { members.append(("url", .optional(url))) }
        if deliveries.contains(.header) {
            members.append(("header", .array([.string(CATRenewal.standardName), .string(token)])))
        }
        return .object(members)
    }
}

extension JSON {
    /// A time in Unix milliseconds, or null.
    fileprivate static func optional(_ time: Timestamp?) -> JSON {
        time.map { .number($0.millisecondsSince1970) } ?? .null
    }
}
