// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import HTTPServer
internal import Metrics
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
        let snapshot = live.current
        let now = clock()
        let found = EdgeDialect.find(request.target)
        let client = PlaybackRequest.Client(
            trace: TraceID(traceparent: request.fields.first("traceparent")),
            edge: found?.dialect.rawValue ?? "none"
        )
        // A target that cannot be parsed is not logged: it may contain a token.
        var asked = PlaybackRequest(.path(found?.dialect.endpoint ?? "/"), token: nil, client: client)
        // If a reload removed the section, the listener stays open until a restart and refuses every check.
        guard let rules = snapshot.edge, rules.peers.trusts(request.connection, snapshot: snapshot.number) else {
            // The connection of an untrusted peer is closed, which frees its place.
            output.closing.closesConnection = true
            return refuse(.peerNotTrusted, asked, snapshot.gate, at: now, into: &output)
        }
        guard let (dialect, rest) = found, rules.answers(dialect),
            let client = EdgeRequest(request, rest: rest, dialect),
            let target = OriginalTarget(client.target, cutting: rules.sources.package)
        else {
            return refuse(.edgeRequestInvalid, asked, snapshot.gate, at: now, into: &output)
        }
        let places = rules.sources
        let path = target.removingSegments(places.segments)
        asked.take(client, path.path)
        let finding = snapshot.gate.catalogue.find(path, client, dialect)
        let (sources, trace) = (places.tokens(finding), asked.client.trace)
        let shown = PresentedToken(in: sources, request.fields, target)
        asked.token = shown.token
        let check = Check(rules, dialect, trace, shownIn: shown.sources, sources, isKept: client.isKeyWhole, at: now)
        let fault: DenyCode? = shown.isConflict ? .tokenConflict : nil
        guard finding.hasGrants else {
            return decide(Gate.Question(asked, finding, fault: fault), check, snapshot, into: &output)
        }
        let fields = request.fields
        guard asked.takePlayer(finding, client, fields, dialect),
            case .found(let grants) = PresentedGrants.find(client, fields, target, path: path.path, places, dialect)
        else { return refuse(.edgeRequestInvalid, asked, snapshot.gate, at: now, into: &output) }
        return decide(Gate.Question(asked, finding, fault: fault, grants: grants), check, snapshot, into: &output)
    }

    /// Decides a check, if there is room for another one in flight.
    private func decide(
        _ question: Gate.Question,
        _ check: Check,
        _ snapshot: LiveGate.Snapshot,
        into output: inout HTTPOutput
    ) -> PendingAnswer? {
        guard inFlight.take() else {
            metrics.countOverload()
            output.write(answer(.refuse(Decision.Refusal(code: .overloaded, subject: .nothing)), check))
            return nil
        }
        switch snapshot.gate.begin(question, at: check.now) {
        case .decided(let decision):
            inFlight.release()
            output.write(answer(decision, check))
            return nil
        case .pending(let use):
            return {
                let decision = await snapshot.gate.complete(use)
                inFlight.release()
                return answer(decision, check)
            }
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
        requests.count(check.dialect, decision)
        return EdgeAnswer(
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
            grant: decision.access?.delivered.flatMap { DeliveredGrant($0, at: check.now) }
        )
    }

    /// Refuses a check before the catalogue look-up.
    private func refuse(
        _ code: DenyCode,
        _ request: PlaybackRequest,
        _ gate: Gate,
        at now: Timestamp,
        into output: inout HTTPOutput
    ) -> PendingAnswer? {
        let decision = gate.refuse(code, request, at: now)
        requests.count(EdgeDialect(rawValue: request.client.edge ?? ""), decision)
        output.write(
            EdgeAnswer(decision: decision, trace: request.client.trace, shownIn: 0, sources: [], keeping: .none)
        )
        return nil
    }
}

extension Decision {
    /// The grants of an allowed request.
    fileprivate var access: GrantedAccess? {
        if case .allow(let allowance) = self { allowance.access } else { nil }
    }
}

extension GrantedAccess {
    /// The grant that this edge hands to the player: of those that the gate checks, a Common Access Token first.
    fileprivate var delivered: IssuedGrant? {
        issued.first { $0.profile.format == .cat } ?? issued.first { $0.profile.format == .uriSigning }
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
        if case .entry(let entry) = self { entry.grants != nil } else { false }
    }
}

extension DeliveredGrant {
    /// Creates a grant to deliver by cookie, or as its profile has it renewed.
    fileprivate convenience init?(_ grant: IssuedGrant, at now: Timestamp) {
        let rules = grant.profile.rules
        let isInHeader = rules.renewal?.way == .header || rules.deliveries.contains(.header)
        let hasCookie = rules.renewal?.way != .header || rules.deliveries.contains(.cookie)
        self.init(
            token: grant.token,
            cookie: hasCookie ? grant.setCookies(at: now).first : nil,
            headers: isInHeader ? [.standard, .older] : []
        )
    }
}

extension Catalogue {
    /// Looks up the path of a check. An ambiguous path is invalid.
    fileprivate func find(
        _ path: OriginalTarget.WithoutSegments,
        _ client: EdgeRequest,
        _ dialect: EdgeDialect
    ) -> Finding {
        if path.isAmbiguous { return .invalidPath(.notResolved) }
        return find(path.path, host: client.host, form: dialect.pathForm)
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
        let column = decision.isAllowed ? 0 : decision.code?.isMissing ?? false ? 1 : 2
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
