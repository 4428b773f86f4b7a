// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import GateMetrics
internal import HTTPServer
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate

/// Answers the checks of edges, at their heads. Bodies are ignored, and so are the fields `If-*`, `Expect`, `TE` and `Upgrade`,
/// which edges forward.
///
/// A check whose token is in the cache of authenticated tokens copies its head once: texts are slices of it, and the answer is
/// written directly into the connection's buffer.
struct EdgeResponder: BodilessService {
    let live: LiveGate
    let metrics: DecisionMetrics
    let inFlight: ConcurrencyLimit
    let requests: EdgeCounters
    let clock: @Sendable () -> Timestamp

    func answer(_ request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        let found = EdgeDialect.find(request.target)
        switch answer(to: request.method, request.fields, found, request.connection) {
        case .again(let known):
            output.write(known)
            return nil
        case .first(.now(let answer)):
            output.write(answer)
            return nil
        case .first(.later(let pending)): return pending.map { $0 }
        case .first(.last(let answer)):
            output.closing.closesConnection = true
            output.write(answer)
            return nil
        }
    }

    /// An answer that was given before, or one that was not.
    enum Answer {
        case again(RepeatedEdgeAnswer)
        case first(Reply)
    }

    /// The answer to a check.
    enum Reply {
        case now(EdgeAnswer)
        /// The answer is known when the store has answered.
        case later(Awaited<EdgeAnswer>)
        /// The connection of an untrusted peer is closed after the answer, which frees its place.
        case last(EdgeAnswer)
    }

    /// Answers a check of HAProxy's offload.
    ///
    /// - Parameter fields: The client's header fields and those of the dialect.
    func answerToOffload(_ fields: HTTPFields, _ connection: HTTPConnection) -> Answer {
        answer(to: .GET, fields, (.spoe, ""), connection)
    }

    private func answer(
        to method: HTTPMethod,
        _ fields: HTTPFields,
        _ found: (dialect: EdgeDialect, rest: Substring)?,
        _ connection: HTTPConnection
    ) -> Answer {
        let snapshot = live.current
        let isTrusted = trusts(connection, snapshot)
        var miss: EdgeMemo.Miss?
        if isTrusted, let found, let known = repeated(fields, found.dialect, snapshot, &miss) { return .again(known) }
        return .first(reply(to: method, fields, found, isTrusted: isTrusted, snapshot, miss))
    }

    private func trusts(_ connection: HTTPConnection, _ snapshot: LiveGate.Snapshot) -> Bool {
        snapshot.edge?.peers.trusts(connection, snapshot: snapshot.number) ?? false
    }

    /// Returns the answer to a check that differs from an earlier one in the name of the file alone; `nil` if there is none.
    ///
    /// - Parameter miss: Receives the look-up if it has found nothing.
    private func repeated(
        _ fields: HTTPFields,
        _ dialect: EdgeDialect,
        _ snapshot: LiveGate.Snapshot,
        _ miss: inout EdgeMemo.Miss?
    ) -> RepeatedEdgeAnswer? {
        guard let memo = snapshot.memo, let rules = snapshot.edge, rules.answers(dialect),
            let key = EdgeMemo.Key(fields, dialect, rules.sources)
        else { return nil }
        let start = ContinuousClock.now
        let (revision, now) = (snapshot.gate.revision, clock())
        let found = memo.find(key, fields, at: now) { answer in
            snapshot.gate.stillOpens(answer.decision, since: answer.revision, at: now, start)
        }
        guard let known = found else {
            miss = EdgeMemo.Miss(memo: memo, key: key, revision: revision)
            return nil
        }
        let client = PlaybackRequest.Client(traceparent: key.traceparent, edge: dialect.rawValue)
        snapshot.gate.observe(known.decision, again: .path(key.path), client, at: now, since: start)
        requests.count(dialect, 200)
        return RepeatedEdgeAnswer(answer: known, trace: client.trace)
    }

    /// Decides a check, once, of a peer that has no connection of HTTP.
    ///
    /// - Parameters:
    ///   - method: The method of the check.
    ///   - fields: The client's header fields and those of the dialect.
    ///   - found: The dialect, and the target of the check after its endpoint; `nil` if there is no such endpoint.
    ///   - isTrusted: True if the peer may ask, by the rules of `snapshot`.
    ///   - miss: The look-up of an earlier answer, which found none; `nil` if the answer is not to be kept.
    func reply(
        to method: HTTPMethod,
        _ fields: HTTPFields,
        _ found: (dialect: EdgeDialect, rest: Substring)?,
        isTrusted: Bool,
        _ snapshot: LiveGate.Snapshot,
        _ miss: EdgeMemo.Miss? = nil
    ) -> Reply {
        let now = clock()
        let client = PlaybackRequest.Client(
            traceparent: fields.first("traceparent"),
            edge: found?.dialect.rawValue ?? "none"
        )
        // A target that cannot be parsed is not logged: it may contain a token.
        var asked = PlaybackRequest(.path(found?.dialect.endpoint ?? "/"), token: nil, client: client)
        // If a reload removed the section, the listener stays open until a restart and refuses every check.
        guard isTrusted, let rules = snapshot.edge else {
            return .last(refuse(.peerNotTrusted, asked, snapshot.gate, at: now))
        }
        guard let (dialect, rest) = found, rules.answers(dialect),
            let client = EdgeRequest(method, fields, rest: rest, dialect),
            let target = OriginalTarget(client.target, cutting: rules.sources.package)
        else { return .now(refuse(.edgeRequestInvalid, asked, snapshot.gate, at: now)) }
        let places = rules.sources
        let path = target.removingSegments(places.segments)
        asked.take(client, path.path)
        let finding = snapshot.gate.find(path, client, dialect)
        let (sources, trace) = (places.tokens(finding), asked.client.trace)
        let shown = PresentedToken(in: sources, fields, target)
        asked.token = shown.token
        var check = Check(rules, dialect, trace, shownIn: shown.sources, sources, isKept: client.isKeyWhole, at: now)
        if !target.packages.isEmpty { check.target = target }
        let subject = Subject(client: client, fields: fields, target: target, path: path.path)
        guard finding.hasGrants else {
            return decide(Gate.Question(asked, finding, fault: shown.fault), subject, check, snapshot, miss)
        }
        return decide(asked, finding, shown.fault, subject, check, snapshot, miss)
    }

    /// The parts of a check that grants are looked for in.
    private struct Subject {
        let client: EdgeRequest
        let fields: HTTPFields
        let target: OriginalTarget
        /// The path without its token segments.
        let path: Substring
    }

    /// Decides a check of an entry that grants open.
    private func decide(
        _ request: PlaybackRequest,
        _ finding: Catalogue.Finding,
        _ fault: DenyCode?,
        _ subject: Subject,
        _ check: Check,
        _ snapshot: LiveGate.Snapshot,
        _ miss: EdgeMemo.Miss?
    ) -> Reply {
        let (client, fields, dialect) = (subject.client, subject.fields, check.dialect)
        var asked = request
        guard asked.takePlayer(finding, client, fields, dialect),
            case .found(let grants) = PresentedGrants.find(
                client,
                fields,
                subject.target,
                path: subject.path,
                check.rules,
                dialect
            )
        else { return .now(refuse(.edgeRequestInvalid, asked, snapshot.gate, at: check.now)) }
        let question = Gate.Question(asked, finding, fault: fault, grants: grants)
        return decide(question, subject, check, snapshot, miss)
    }

    /// Decides a check, and keeps the answer if there is a miss to keep it for.
    private func decide(
        _ question: Gate.Question,
        _ subject: Subject,
        _ check: Check,
        _ snapshot: LiveGate.Snapshot,
        _ miss: EdgeMemo.Miss?
    ) -> Reply {
        let reply = decide(question, check, snapshot)
        // A path without its token segments is another one than that of the head.
        if let miss, case .now(let answer) = reply, subject.path.utf8.count == miss.key.path.utf8.count {
            keep(answer, miss, question, subject, check, snapshot.gate)
        }
        return reply
    }

    /// Keeps an answer, if it is that for all files of the folder. It is given as long as it would say the same.
    private func keep(
        _ answer: EdgeAnswer,
        _ miss: EdgeMemo.Miss,
        _ question: Gate.Question,
        _ subject: Subject,
        _ check: Check,
        _ gate: Gate
    ) {
        let seconds = answer.keeping.seconds
        guard answer.status == 200, answer.grant == nil, seconds == 0 || seconds == check.rules.cacheCeiling,
            let end = gate.goodForFolder(answer.decision, question, host: subject.client.host, at: check.now)?
                .advanced(byMilliseconds: -1000 * seconds),
            check.now <= end
        else { return }
        miss.memo.keep(miss.key, subject.fields, life: check.now...end) {
            EdgeMemo.Answer(answer, check.dialect, subject.fields, revision: miss.revision)
        }
    }

    /// Decides a check, if there is room for another one in flight.
    private func decide(_ question: Gate.Question, _ check: Check, _ snapshot: LiveGate.Snapshot) -> Reply {
        guard inFlight.take() else {
            metrics.countOverload()
            return .now(answer(.refuse(Decision.Refusal(code: .overloaded, subject: .nothing)), check))
        }
        switch snapshot.gate.begin(question, at: check.now) {
        case .decided(let decision):
            inFlight.release()
            return .now(answer(decision, check))
        case .pending(let use):
            let pending = snapshot.gate.awaited(use) { decision in
                inFlight.release()
                return answer(decision, check)
            }
            return .later(pending)
        }
    }

    /// The facts of an answer besides the decision.
    private struct Check {
        let rules: EdgeRules
        let dialect: EdgeDialect
        let trace: TraceID
        let shownIn: UInt16
        let sources: [TokenSource]
        /// True if the edge's cache key permits caching. The decision must permit it too.
        let isKept: Bool
        let now: Timestamp
        /// The target without its grants, if it had any.
        var target: OriginalTarget?

        /// Returns the target with a signed URI's token in its query; `nil` if it had no grants.
        func location(with token: String) -> String? {
            guard let target else { return nil }
            let text = target.query.map { "\(target.path)?\($0)"[...] } ?? target.path
            return (rules.sources.package ?? .standard).inQuery(token, of: text)
        }

        init(
            _ rules: EdgeRules,
            _ dialect: EdgeDialect,
            _ trace: TraceID,
            shownIn: UInt16,
            _ sources: [TokenSource],
            isKept: Bool,
            at now: Timestamp
        ) {
            self.rules = rules
            self.dialect = dialect
            self.trace = trace
            self.shownIn = shownIn
            self.sources = sources
            self.isKept = isKept
            self.now = now
        }
    }

    private func answer(_ decision: Decision, _ check: Check) -> EdgeAnswer {
        let answer = EdgeAnswer(
            decision: decision,
            trace: check.trace,
            shownIn: check.shownIn,
            sources: check.sources,
            keeping: EdgeAnswer.Keeping(
                seconds: check.isKept ? check.rules.secondsToKeep(decision, at: check.now) : 0,
                varying: check.dialect.varying,
                tokenHeaders: check.rules.sources.tokenHeaders
            ),
            session: decision.access?.session,
            grant: decision.access?.delivered.flatMap {
                DeliveredGrant($0, check.location(with: $0.token), at: check.now)
            }
        )
        requests.count(check.dialect, answer.status)
        return answer
    }

    /// Refuses a check before the catalogue look-up.
    private func refuse(
        _ code: DenyCode,
        _ request: PlaybackRequest,
        _ gate: Gate,
        at now: Timestamp
    ) -> EdgeAnswer {
        let decision = gate.refuse(code, request, at: now)
        let answer = EdgeAnswer(
            decision: decision,
            trace: request.client.trace,
            shownIn: 0,
            sources: [],
            keeping: .none
        )
        requests.count(EdgeDialect(rawValue: request.client.edge ?? ""), answer.status)
        return answer
    }
}

extension Decision {
    /// The grants of an allowed request.
    fileprivate var access: GrantedAccess? {
        if case .allow(let allowance) = self { allowance.access } else { nil }
    }
}

extension PlaybackRequest {
    /// Adds the facts about the client's request.
    fileprivate mutating func take(_ client: EdgeRequest, _ path: Substring) {
        target = .path(path)
        method = client.method
        isPartial = client.isPartial
    }

    /// Adds the facts about the player, if the entry's grants are bound to them. Returns false if a fact is malformed or
    /// repeated.
    fileprivate mutating func takePlayer(
        _ finding: Catalogue.Finding,
        _ client: EdgeRequest,
        _ fields: HTTPFields,
        _ dialect: EdgeDialect
    ) -> Bool {
        guard token != nil, case .entry(let entry) = finding, let terms = entry.grants, terms.bindsPlayers
        else { return true }
        player = Player(fields, target: client.target, dialect.factHeaders, terms.boundHeaders)
        return player != nil
    }
}

extension Catalogue.Finding {
    /// True if grants open the entry.
    fileprivate var hasGrants: Bool {
        if case .entry(let entry) = self { entry.hasGrants } else { false }
    }
}

extension DeliveredGrant {
    /// Creates a grant to deliver by cookie, or as its profile has it renewed.
    ///
    /// - Parameter location: The target of the request with the grant in its query; `nil` if it had none.
    fileprivate convenience init?(_ grant: IssuedGrant, _ location: @autoclosure () -> String?, at now: Timestamp) {
        if grant.isByRedirect {
            self.init(token: grant.token, cookie: nil, location: location())
            return
        }
        guard let delivery = GrantDelivery(grant, at: now) else { return nil }
        self.init(
            token: delivery.token,
            cookie: delivery.cookie,
            headers: delivery.isInHeader ? [.standard, .older] : []
        )
    }
}

extension Gate {
    /// Looks up the path of a check. An ambiguous path is invalid.
    fileprivate func find(
        _ path: OriginalTarget.WithoutSegments,
        _ client: EdgeRequest,
        _ dialect: EdgeDialect
    ) -> Catalogue.Finding {
        if path.isAmbiguous { return .invalidPath(.notResolved) }
        return find(path.path, host: client.host, form: dialect.pathForm)
    }
}
