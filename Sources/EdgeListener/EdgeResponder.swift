// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import GateConfiguration
package import HTTPServer
package import NIOHTTP1
package import Platform
internal import PlaybackGate
internal import RequestTargets
internal import SharedGrants
package import Telemetry

/// Answers the checks of edges, at their heads. Bodies are ignored, and so are the fields `If-*`, `Expect`, `TE` and `Upgrade`,
/// which edges forward.
///
/// A check whose token is in the cache of authenticated tokens copies its head once. Texts are slices of it, and the
/// answer is written directly into the connection's buffer.
package struct EdgeResponder: BodilessService {
    package let live: CurrentGate
    package let metrics: DecisionMetrics
    package let inFlight: ConcurrencyLimit
    package let requests: EdgeCounters
    package let clock: @Sendable () -> Timestamp

    /// Creates a value of its members.
    package init(
        live: CurrentGate,
        metrics: DecisionMetrics,
        inFlight: ConcurrencyLimit,
        requests: EdgeCounters,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.metrics = metrics
        self.inFlight = inFlight
        self.requests = requests
        self.clock = clock
    }

    package func respond(to request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        let found = EdgeDialect.find(request.target)
        switch response(to: request.method, fields: request.fields, found: found, on: request.connection) {
        case .again(let known):
            output.write(known)
            return nil
        case .first(let reply): return output.write(reply)
        }
    }

    /// A repeated answer, or a new one.
    package enum Answer {
        case again(RepeatedEdgeAnswer)
        /// Later if the store has to answer first; the last one for an untrusted peer, which frees its slot.
        case first(Reply<EdgeAnswer>)
    }

    /// Answers a check of HAProxy's offload.
    ///
    /// - Parameter fields: The client's header fields and those of the dialect.
    func answerToOffload(_ fields: HTTPFields, on connection: HTTPConnection) -> Answer {
        response(to: .GET, fields: fields, found: (.spoe, ""), on: connection)
    }

    private func response(
        to method: HTTPMethod,
        fields: HTTPFields,
        found: (dialect: EdgeDialect, rest: Substring)?,
        on connection: HTTPConnection
    ) -> Answer {
        let snapshot = live.current
        return response(
            to: method,
            fields: fields,
            found: found,
            isTrusted: trusts(connection, in: snapshot),
            in: snapshot
        )
    }

    /// Answers a check by an earlier answer, or decides it. The parameters are those of ``reply(to:fields:found:isTrusted:in:miss:)``.
    package func response(
        to method: HTTPMethod,
        fields: HTTPFields,
        found: (dialect: EdgeDialect, rest: Substring)?,
        isTrusted: Bool,
        in snapshot: CurrentGate.Snapshot
    ) -> Answer {
        var miss: EdgeAnswerCache.Miss?
        if isTrusted, let found,
            let known = repeatedAnswer(to: fields, dialect: found.dialect, in: snapshot, noting: &miss)
        {
            return .again(known)
        }
        return .first(reply(to: method, fields: fields, found: found, isTrusted: isTrusted, in: snapshot, miss: miss))
    }

    private func trusts(_ connection: HTTPConnection, in snapshot: CurrentGate.Snapshot) -> Bool {
        snapshot.edge?.peers.trusts(connection, snapshot: snapshot.number) ?? false
    }

    /// Returns the answer to an earlier check that differs only in the name of the file; `nil` if there is none.
    ///
    /// - Parameter miss: Receives the look-up if it has no result.
    private func repeatedAnswer(
        to fields: HTTPFields,
        dialect: EdgeDialect,
        in snapshot: CurrentGate.Snapshot,
        noting miss: inout EdgeAnswerCache.Miss?
    ) -> RepeatedEdgeAnswer? {
        guard let answers = snapshot.answers, let rules = snapshot.edge, rules.answers(dialect),
            let key = EdgeAnswerCache.Key(fields, dialect: dialect, sources: rules.sources)
        else { return nil }
        let start = ContinuousClock.now
        let (revision, now) = (snapshot.gate.revision, clock())
        let found = answers.find(for: key, fields: fields, at: now) { answer in
            snapshot.gate.stillOpens(answer.decision, since: answer.revision, at: now, instant: start)
                && !demandsFreshGrant(for: answer, path: key.path, by: snapshot.gate, at: now)
        }
        guard let known = found else {
            miss = EdgeAnswerCache.Miss(cache: answers, key: key, revision: revision)
            return nil
        }
        let client = PlaybackRequest.Client(traceparent: key.traceparent, edge: dialect.rawValue)
        snapshot.gate.observe(known.decision, again: .path(key.path), client: client, at: now, since: start)
        requests.count(dialect, status: 200)
        return RepeatedEdgeAnswer(answer: known, trace: client.trace)
    }

    /// Counts a request with a cached answer. Returns true if its holder is to get a new grant now, so that it is decided once more.
    private func demandsFreshGrant(
        for answer: EdgeAnswerCache.Answer,
        path: Substring,
        by gate: Gate,
        at now: Timestamp
    ) -> Bool {
        guard let holder = answer.holder else { return false }
        let edge = answer.observer
        return gate.leaks?.count(path, isPartial: answer.isPartial, by: holder, countedBy: edge, at: now) ?? false
    }

    /// Decides a check, once, of a peer that has no connection of HTTP.
    ///
    /// - Parameters:
    ///   - method: The method of the check.
    ///   - fields: The client's header fields and those of the dialect.
    ///   - found: The dialect, and the target of the check after its endpoint; `nil` if there is no such endpoint.
    ///   - isTrusted: True if the peer may send checks, by the rules of `snapshot`.
    ///   - miss: The look-up of an earlier answer, which found none; `nil` if the answer must not be cached.
    package func reply(
        to method: HTTPMethod,
        fields: HTTPFields,
        found: (dialect: EdgeDialect, rest: Substring)?,
        isTrusted: Bool,
        in snapshot: CurrentGate.Snapshot,
        miss: EdgeAnswerCache.Miss? = nil
    ) -> Reply<EdgeAnswer> {
        let now = clock()
        var client = PlaybackRequest.Client(
            traceparent: fields.first("traceparent"),
            edge: found?.dialect.rawValue ?? "none"
        )
        if snapshot.gate.leaks?.hasReporters ?? false { client.observer = fields.observer }
        // A target that cannot be parsed is not logged: it may contain a token.
        func unread() -> PlaybackRequest {
            PlaybackRequest(.path(found?.dialect.endpoint ?? "/"), token: nil, client: client)
        }
        // If a reload removed the section, the listener stays open until a restart and refuses every check.
        guard isTrusted, let rules = snapshot.edge else {
            return .last(refuse(.peerNotTrusted, request: unread(), by: snapshot.gate, at: now))
        }
        guard let (dialect, rest) = found, rules.answers(dialect),
            let request = EdgeRequest(method: method, fields: fields, rest: rest, dialect: dialect, rules: rules)
        else { return .now(refuse(.edgeRequestInvalid, request: unread(), by: snapshot.gate, at: now)) }
        let check = Check(rules: rules, dialect: dialect, request: request, client: client, now: now)
        guard inFlight.acquire() else {
            metrics.countOverload()
            let refusal = Decision.Refusal(code: .overloaded, subject: .nothing)
            return .now(response(with: .refuse(refusal), in: nil, to: check, by: snapshot.gate))
        }
        return decide(check, fields: fields, in: snapshot, miss: miss)
    }

    /// Decides a check in flight, and caches the answer if the look-up has missed.
    private func decide(
        _ check: Check,
        fields: HTTPFields,
        in snapshot: CurrentGate.Snapshot,
        miss: EdgeAnswerCache.Miss?
    ) -> Reply<EdgeAnswer> {
        let (gate, target) = (snapshot.gate, check.request.check.target)
        var context = EdgeCheckContext()
        let step = EdgeChecker(gate).check(
            check.request.check,
            from: check.client,
            at: check.now,
            mediaToken: { check.request.report.mediaToken(for: $0) },
            report: { check.request.report },
            noting: &context
        )
        switch step {
        case .decided(let decision):
            inFlight.release()
            let answer = response(with: decision, in: context, to: check, by: gate)
            // A path without its token segments is another one than that of the head.
            if let miss, target.path.utf8.count == miss.key.path.utf8.count {
                store(answer, for: miss, in: context, check: check, fields: fields, by: gate)
            }
            return .now(answer)
        case .pending(let use):
            let pending = gate.awaitedAnswer(after: use) { [context] decision in
                inFlight.release()
                return response(with: decision, in: context, to: check, by: gate)
            }
            return .later(pending)
        }
    }

    /// Caches an answer, if it is valid for all files of the folder. It is used for as long as a new decision would be
    /// the same.
    private func store(
        _ answer: EdgeAnswer,
        for miss: EdgeAnswerCache.Miss,
        in context: EdgeCheckContext,
        check: Check,
        fields: HTTPFields,
        by gate: Gate
    ) {
        let seconds = answer.keeping.seconds
        guard answer.status == 200, answer.grant == nil, seconds == 0 || seconds == check.rules.maxCacheAge,
            answer.decision.isRepeatable,
            let reuse = AnswerReuse.of(answer.decision, hasGrants: context.grants != nil, by: gate, at: check.now),
            AnswerReuse.scope(of: answer.decision, request: check.request.check, in: context, by: gate) == .folder
        else { return }
        let end = reuse.last.advanced(byMilliseconds: -1000 * seconds)
        let isCounted = gate.isCounted(answer.decision) && check.request.check.method == .get
        let holder = isCounted ? answer.decision.acceptedGrant.flatMap { GrantHolder($0) } : nil
        // Requests are counted by the path in normal form, and by that of the head if the answer is repeated.
        let isCountable = holder == nil || context.grants?.facts.uri.path == miss.key.path
        guard check.now <= end, isCountable else { return }
        miss.cache.store(for: miss.key, fields: fields, life: check.now...end) {
            EdgeAnswerCache.Answer(
                answer,
                dialect: check.dialect,
                fields: fields,
                revision: miss.revision,
                holder: holder,
                observer: check.client.observer,
                isPartial: check.request.check.isPartial
            )
        }
    }

    /// A check in the course of its answer.
    private struct Check {
        let rules: EdgeRules
        let dialect: EdgeDialect
        let request: EdgeRequest
        let client: PlaybackRequest.Client
        let now: Timestamp

        /// Returns the target with a signed URI's token in its query; `nil` if it had no grants.
        func location(with token: String) -> String? {
            let target = request.check.target
            guard !target.packages.isEmpty else { return nil }
            let text = target.query.map { "\(target.sentPath)?\($0)"[...] } ?? target.sentPath
            return (rules.sources.targetNames.package ?? .standard).inQuery(token, of: text)
        }
    }

    /// Returns the answer to a check.
    ///
    /// - Parameter context: The facts that are known about the request; `nil` if it was not examined.
    private func response(
        with decision: Decision,
        in context: EdgeCheckContext?,
        to check: Check,
        by gate: Gate
    ) -> EdgeAnswer {
        let (isReusable, hasGrants) = (check.request.isKeyWhole && !gate.isCounted(decision), context?.grants != nil)
        let reuse = isReusable ? AnswerReuse.of(decision, hasGrants: hasGrants, by: gate, at: check.now) : nil
        let answer = EdgeAnswer(
            decision: decision,
            trace: check.client.trace,
            tokenSources: context?.tokenSources ?? 0,
            sources: check.rules.sources.tokens(for: decision.subject.entry),
            keeping: EdgeAnswer.Keeping(
                seconds: reuse?.seconds(from: check.now, atMost: check.rules.maxCacheAge) ?? 0,
                varying: check.dialect.row.varying,
                tokenHeaders: check.rules.sources.tokenHeaders
            ),
            session: decision.access?.session,
            grant: decision.access?.delivered.flatMap {
                DeliveredGrant(
                    $0,
                    location: check.location(with: $0.token),
                    fields: check.dialect.row.grantFields,
                    at: check.now
                )
            }
        )
        requests.count(check.dialect, status: answer.status)
        return answer
    }

    /// Refuses a check before the catalogue look-up.
    private func refuse(
        _ code: DenyCode,
        request: PlaybackRequest,
        by gate: Gate,
        at now: Timestamp
    ) -> EdgeAnswer {
        let decision = gate.refuse(code, for: request, at: now)
        let answer = EdgeAnswer(
            decision: decision,
            trace: request.client.trace,
            tokenSources: 0,
            sources: [],
            keeping: .none
        )
        requests.count(EdgeDialect(rawValue: request.client.edge ?? ""), status: answer.status)
        return answer
    }
}

extension HTTPFields {
    /// The number of the edge that counts the request by itself, which no client knows; `nil` without one.
    fileprivate var observer: UInt64? { first("x-original-observer").flatMap { UInt64($0, radix: 16) } }
}

extension Gate {
    /// True if the requests of the grant that allowed a request are counted, so that no edge may repeat the answer by itself.
    fileprivate func isCounted(_ decision: Decision) -> Bool {
        leaks?.isActive ?? false && decision.acceptedGrant?.isCounted ?? false
    }
}

extension Decision {
    /// The grants of an allowed request.
    fileprivate var access: GrantedAccess? {
        if case .allow(let allowance) = self { allowance.access } else { nil }
    }

    /// True if the answer can be repeated: by a grant, or by a media token within its life.
    fileprivate var isRepeatable: Bool {
        guard case .allow(let allowance) = self else { return false }
        return allowance.reason == .granted || allowance.reason == .withinTTL
    }
}

extension DeliveredGrant {
    /// Creates a grant to deliver by cookie, or as its profile has it renewed.
    ///
    /// - Parameters:
    ///   - location: The target of the request with the grant in its query; `nil` if it had none.
    ///   - fields: The fields that the edge uses.
    fileprivate convenience init?(
        _ grant: IssuedGrant,
        location: @autoclosure () -> String?,
        fields: Fields,
        at now: Timestamp
    ) {
        if grant.isByRedirect {
            self.init(token: grant.token, cookie: nil, fields: fields, location: location())
            return
        }
        guard let delivery = GrantDelivery(grant, at: now) else { return nil }
        self.init(
            token: delivery.token,
            cookie: delivery.cookie,
            headers: delivery.isInHeader ? [.standard, .older] : [],
            fields: fields
        )
    }
}
