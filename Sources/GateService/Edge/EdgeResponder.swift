// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import Metrics
internal import NIOHTTP1
internal import PlaybackGate

/// Answers the checks of edges. All that is on the way of a check that the cache of authenticated tokens knows makes no
/// copy: texts are parts of what NIO has read, and the answer is written straight into the connection's buffer.
struct EdgeResponder: HTTPService {
    let live: LiveGate
    let metrics: DecisionMetrics
    let inHand: ConcurrencyLimit
    let requests: EdgeCounters
    let clock: @Sendable () -> Timestamp

    /// Bodies mean nothing, nor do `Range`, `If-*`, `Expect`, `TE` and `Upgrade`, which edges hand on.
    var bodyLimit: Int? { nil }

    func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        output.write(answer(request))
    }

    private func answer(_ request: HTTPRequest) -> HTTPReply<EdgeAnswer> {
        let snapshot = live.current
        let now = clock()
        let found = EdgeDialect.find(request.head.uri)
        let client = PlaybackRequest.Client(
            trace: TraceID(traceparent: request.first("traceparent")),
            edge: found?.dialect.rawValue ?? "none"
        )
        // What cannot be understood is not logged either: there may be a token in it.
        var asked = PlaybackRequest(.path(found?.dialect.endpoint ?? "/"), token: nil, client: client)
        // Where a reload has taken the section away, the listener stays until a restart, and lets nobody pass.
        guard let edge = snapshot.configuration.edge, edge.peers.trusts(request.connection, snapshot: snapshot.number)
        else {
            return refuse(.peerNotTrusted, asked, snapshot.gate, at: now)
        }
        guard let (dialect, rest) = found, edge.dialects.contains(dialect),
            let target = dialect.target(request.head, rest: rest).flatMap({ OriginalTarget($0) })
        else { return refuse(.edgeRequestInvalid, asked, snapshot.gate, at: now) }
        let check = Check(edge: edge, gate: snapshot.gate, dialect: dialect, now: now)
        return answer(target, request, &asked, check)
    }

    /// A request on its way through.
    fileprivate struct Check {
        let edge: GateConfiguration.Edge
        let gate: Gate
        let dialect: EdgeDialect
        let now: Timestamp
    }

    private func answer(
        _ target: OriginalTarget,
        _ request: HTTPRequest,
        _ asked: inout PlaybackRequest,
        _ check: Check
    ) -> HTTPReply<EdgeAnswer> {
        let path = target.removingSegments(check.edge.segments).path
        asked.target = .path(path)
        let finding = check.gate.catalogue.find(path, form: check.dialect.pathForm)
        let sources = check.sources(finding)
        let shown = ShownToken(in: sources, request.head.headers, target)
        asked.token = shown.token
        guard inHand.take() else {
            metrics.countOverload()
            let refusal = Decision.refuse(Decision.Refusal(code: .overloaded, subject: .nothing))
            return .now(answer(refusal, check, asked.client.trace, shown.sources, sources))
        }
        let question = Gate.Question(asked, finding, fault: shown.isConflict ? .tokenConflict : nil)
        if let decision = check.gate.decideNow(question, at: check.now) {
            inHand.giveBack()
            return .now(answer(decision, check, asked.client.trace, shown.sources, sources))
        }
        return .later {
            let decision = await check.gate.decide(question, at: check.now)
            inHand.giveBack()
            return answer(decision, check, question.request.client.trace, shown.sources, sources)
        }
    }

    private func answer(
        _ decision: Decision,
        _ check: Check,
        _ trace: TraceID,
        _ shownIn: UInt16,
        _ sources: [TokenSource]
    ) -> EdgeAnswer {
        requests.count(check.dialect, decision)
        return EdgeAnswer(
            decision: decision,
            trace: trace,
            shownIn: shownIn,
            sources: sources,
            keeping: check.keeping(decision)
        )
    }

    /// Refuses before the catalogue is asked.
    private func refuse(
        _ code: DenyCode,
        _ request: PlaybackRequest,
        _ gate: Gate,
        at now: Timestamp
    ) -> HTTPReply<EdgeAnswer> {
        let decision = gate.refuse(code, request, at: now)
        requests.count(EdgeDialect(rawValue: request.client.edge ?? ""), decision)
        return .now(
            EdgeAnswer(decision: decision, trace: request.client.trace, shownIn: 0, sources: [], keeping: .none)
        )
    }
}

extension EdgeResponder.Check {
    /// Where the token may be for what was found.
    fileprivate func sources(_ finding: Catalogue.Finding) -> [TokenSource] {
        guard !edge.tokensOfEntries.isEmpty, case .entry(let entry) = finding else { return edge.tokens }
        return edge.tokensOfEntries[entry.key] ?? edge.tokens
    }

    /// How long the answer may be kept: not at all where something was used up, or refused, or may be another one a moment
    /// later; else not beyond the life of the token.
    fileprivate func keeping(_ decision: Decision) -> EdgeAnswer.Keeping {
        guard case .allow(let allowance) = decision else { return .none }
        switch allowance.reason {
        case .unprotected: return keeping(seconds: edge.cacheCeiling)
        case .withinTTL:
            let left = (allowance.expires?.millisecondsSince1970 ?? 0) - now.millisecondsSince1970
            return keeping(seconds: min(max(left / 1000, 0), edge.cacheCeiling))
        case .verified, .repeated, .useUnknown, .shadow: return .none
        }
    }

    private func keeping(seconds: Int64) -> EdgeAnswer.Keeping {
        EdgeAnswer.Keeping(seconds: seconds, varying: dialect.varying, tokenHeaders: edge.tokenHeaders)
    }
}

/// Counts checks by dialect and status.
struct EdgeCounters: Sendable {
    private let counters: [Counter]

    private static let statuses = [200, 401, 403]

    init(factory: any MetricsFactory) {
        counters = (EdgeDialect.allCases.map(\.rawValue) + ["none"]).flatMap { edge in
            Self.statuses.map { status in
                Counter(
                    label: "playgate_edge_requests",
                    dimensions: [("edge", edge), ("status", "\(status)")],
                    factory: factory
                )
            }
        }
    }

    func count(_ dialect: EdgeDialect?, _ decision: Decision) {
        let column = decision.isAllowed ? 0 : decision.code == .tokenMissing ? 1 : 2
        let line =
            switch dialect {
            case .nginx: 0
            case .forward: 1
            case .envoy: 2
            case .ats: 3
            case nil: 4
            }
        counters[line * Self.statuses.count + column].increment()
    }
}
