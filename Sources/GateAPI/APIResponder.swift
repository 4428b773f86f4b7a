// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
package import EdgeListener
internal import Encodings
package import GateConfiguration
package import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import Metrics
internal import NIOCore
package import NIOHTTP1
package import Platform
package import PlaybackGate
package import ReplayStores
package import SharedGrants
package import Telemetry

/// The API for player backends.
///
/// The paths are few and fixed, so a `switch` replaces a router. A wrong method is answered with 405 and the permitted
/// methods.
package final class APIResponder: HTTPService {
    package let live: CurrentGate
    package let metrics: DecisionMetrics
    package let inFlight: ConcurrencyLimit
    package let requests: StatusCounters
    package let clock: @Sendable () -> Timestamp
    /// The revocations in the form for grants; `nil` if there is no key for their tags.
    package let revocationCache: RevocationCache?
    package let journal: RevocationJournal
    /// The watch for shared grants.
    let leaks: LeakWatch
    /// The edges that check by themselves.
    package let edges: CheckingEdges
    /// The policies for them.
    package let policies: PolicyPublisher
    package let bodyLimit: Int
    private let helpURL: String
    /// The table of all codes, in JSON.
    private let codes: ByteBuffer
    private static let document = ByteBuffer(bytes: PackageResources.openapi_yaml)

    package init(
        _ configuration: GateConfiguration.API,
        helpURL: String,
        live: CurrentGate,
        metrics: DecisionMetrics,
        inFlight: ConcurrencyLimit,
        requests: StatusCounters,
        revocationCache: RevocationCache?,
        journal: RevocationJournal,
        leaks: LeakWatch,
        edges: CheckingEdges,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.metrics = metrics
        self.inFlight = inFlight
        self.requests = requests
        self.revocationCache = revocationCache
        self.journal = journal
        self.leaks = leaks
        self.edges = edges
        policies = PolicyPublisher(live, revocationCache: revocationCache)
        self.clock = clock
        bodyLimit = configuration.listener.limits.bodyBytes
        self.helpURL = helpURL
        codes = ByteBuffer(string: CodeTable.json(helpURL: helpURL).line + "\n")
    }

    /// A request in the course of an operation.
    package struct RequestContext {
        package let request: HTTPRequest
        /// The trace of the request, without its caller.
        private let client: PlaybackRequest.Client
        package let time: Timestamp
        package let snapshot: CurrentGate.Snapshot

        package init(_ request: HTTPRequest, at time: Timestamp, snapshot: CurrentGate.Snapshot) {
            self.request = request
            client = PlaybackRequest.Client(traceparent: request.first("traceparent")?[...])
            self.time = time
            self.snapshot = snapshot
        }

        package var gate: Gate { snapshot.gate }

        /// The trace id of the request, as in its response.
        package var trace: TraceID { client.trace }

        /// Returns the facts about the caller, for the log.
        package func client(_ caller: String?) -> PlaybackRequest.Client {
            var client = client
            client.caller = caller
            return client
        }
    }

    /// Admits a body if the path names an operation that accepts one and the caller may send it. A refused request is
    /// answered before its body is read.
    package func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception {
        let request = HTTPRequest(head: head, connection: connection)
        guard let operation = APIOperation(request.path), let limit = operation.largestBody, head.method == .POST,
            operation.accepts(request.first("content-type"))
        else { return .answer }
        let snapshot = live.current
        do throws(APIRefusal) {
            let caller = try Self.authenticate(request, for: operation, in: snapshot)
            let admission = HTTPAdmission(snapshot: snapshot.number, caller: caller)
            // A batch of reports has the size that its edge was built with.
            if case .reports = operation { return .body(limit: limit, admission) }
            return .body(limit: min(bodyLimit, limit), admission)
        } catch { return .answer }
    }

    package func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        output.write(reply(to: request))
    }

    private func reply(to request: HTTPRequest) -> Reply<APIAnswer> {
        let call = RequestContext(request, at: clock(), snapshot: live.current)
        let trace = call.trace
        do throws(APIRefusal) {
            switch try operate(call) {
            case .now(let answer): return .now(counted(answer))
            case .later(let find):
                let shape = RefusalShape(request)
                return .later(.task { [self] in counted(await finish(shape: shape, trace: trace, find: find)) })
            case .use(let use, let decided):
                let shape = RefusalShape(request)
                let pending: Awaited<APIAnswer> = call.gate.awaitedAnswer(after: use) { [self] decision in
                    counted(finish(shape: shape, trace: trace) { () throws(APIRefusal) in try decided(decision) })
                }
                return .later(pending)
            }
        } catch { return .now(counted(.refusal(error, shape: RefusalShape(request), helpURL: helpURL, trace: trace))) }
    }

    private func counted(_ answer: APIAnswer) -> APIAnswer {
        requests.count(answer.status)
        return answer
    }

    private func finish(
        shape: RefusalShape,
        trace: TraceID,
        find: () async throws(APIRefusal) -> APIAnswer
    ) async -> APIAnswer {
        do throws(APIRefusal) { return try await find() } catch {
            return .refusal(error, shape: shape, helpURL: helpURL, trace: trace)
        }
    }

    private func finish(
        shape: RefusalShape,
        trace: TraceID,
        answer: () throws(APIRefusal) -> APIAnswer
    ) -> APIAnswer {
        do throws(APIRefusal) { return try answer() } catch {
            return .refusal(error, shape: shape, helpURL: helpURL, trace: trace)
        }
    }

    /// The result of an operation: at once, or after the store has answered.
    package enum Outcome {
        case now(APIAnswer)
        case later(@Sendable () async throws(APIRefusal) -> APIAnswer)
        /// Returns the answer that follows from the decision, after the store has answered about a use.
        case use(Gate.PendingUse, @Sendable (Decision) throws(APIRefusal) -> APIAnswer)
    }

    // MARK: Operations

    private func operate(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        guard let operation = APIOperation(call.request.path) else { throw APIRefusal(.operationUnknown) }
        try operation.check(call.request.head.method)
        let caller = try Self.authenticate(call.request, for: operation, in: call.snapshot)
        switch operation {
        case .playback: return try playback(call, by: caller)
        case .batch: return try batch(call, by: caller)
        case .licence: return try licence(call, by: caller)
        case .verify: return .now(try verify(call))
        case .revoke:
            return call.request.head.method == .POST ? try revoke(call, by: caller) : try listRevocations(call)
        case .lift: return try lift(call, by: caller)
        case .liftByID(let id): return try lift(id, in: call, by: caller)
        case .exchange: return try exchange(call)
        case .renew: return try renew(call)
        case .explain: return .now(try explain(call))
        case .redirect: return try redirect(call)
        case .rewrite: return try rewrite(call)
        case .sign: return try sign(call, by: caller)
        case .hostedValidate: return .now(try validate(call, by: caller))
        case .hostedSign: return try signHosted(call, by: caller)
        case .end(let session): return try free(session, in: call)
        case .revocations: return .now(try export(call))
        case .leaks: return .now(listLeaks(call))
        case .leak(let session): return .now(try leak(session, in: call))
        case .policy:
            edges.note(caller, isReport: false, at: call.time)
            return try policy(call)
        case .reports: return .now(try recordReports(call, by: caller))
        case .codes: return .now(APIAnswer(shared: codes, type: "application/json", trace: call.trace))
        case .code(let code):
            guard let entry = CodeTable.entry(code, helpURL: helpURL) else { throw APIRefusal(.codeUnknown) }
            return .now(.json(entry, trace: call.trace))
        case .catalogue(let media): return .now(try lookUp(media, in: call))
        case .document:
            return .now(APIAnswer(shared: Self.document, type: "application/yaml", trace: call.trace))
        case .keys(let notation):
            guard let keys = call.snapshot.publishedKeys else { throw APIRefusal(.grantsNotConfigured) }
            return .now(keys.response(to: call.request, in: notation, at: call.time, trace: call.trace))
        }
    }

    /// `POST /v1/playback`: decides, and consumes the token.
    private func playback(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let request = playbackRequest(from: try read(PlaybackBody.self, from: call), by: caller, in: call)
        return try decide(call) { call.gate.begin(request, at: call.time) }
    }

    /// Makes one decision, and answers with it, after the store if it must.
    func decide(_ call: RequestContext, begin: () -> Gate.Step) throws(APIRefusal) -> Outcome {
        let (licensed, time, trace) = (call.snapshot.licensed, call.time, call.trace)
        try reserveRoom(for: 1)
        switch begin() {
        case .decided(let decision):
            inFlight.release(1)
            return .now(try Self.response(to: decision, licensed: licensed, at: time, trace: trace))
        case .pending(let use):
            return .use(use) { [self] decision throws(APIRefusal) in
                inFlight.release(1)
                return try Self.response(to: decision, licensed: licensed, at: time, trace: trace)
            }
        }
    }

    private static func response(
        to decision: Decision,
        licensed: LicensedEntries,
        at now: Timestamp,
        trace: TraceID
    ) throws(APIRefusal) -> APIAnswer {
        switch decision {
        case .allow(let allowance):
            return .json(.object(Decision.members(allowance, licensed: licensed, at: now, trace: trace)), trace: trace)
        case .refuse(let refusal): throw APIRefusal(refusal.code)
        }
    }

    /// `POST /v1/playback/batch`: decides up to 100 playbacks independently.
    private func batch(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let requests = try read(BatchBody.self, from: call).playbacks.map {
            playbackRequest(from: $0, by: caller, in: call)
        }
        let (gate, licensed, time, trace) = (call.gate, call.snapshot.licensed, call.time, call.trace)
        try reserveRoom(for: requests.count)
        return .later { [self] () async throws(APIRefusal) in
            let decisions = await Self.decide(requests, by: gate, at: time)
            inFlight.release(requests.count)
            let results = decisions.map { decision -> JSON in
                switch decision {
                case .allow(let allowance):
                    return .object(Decision.members(allowance, licensed: licensed, at: time, trace: trace))
                case .refuse(let refusal):
                    let members = APIRefusal(refusal.code).members(helpURL: helpURL, trace: trace)
                    return .object([("allowed", .bool(false))] + members)
                }
            }
            return .json(.object([("results", .array(results)), ("trace", .string("\(trace)"))]), trace: trace)
        }
    }

    /// Decides about each in a task of its own, so that other connections are served in between.
    private static func decide(_ requests: [PlaybackRequest], by gate: Gate, at time: Timestamp) async -> [Decision] {
        await withTaskGroup(of: (Int, Decision).self) { group in
            for (number, request) in requests.enumerated() {
                group.addTask { (number, await gate.decide(request, at: time)) }
            }
            var decisions: [(Int, Decision)] = []
            for await decision in group { decisions.append(decision) }
            return decisions.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func playbackRequest(
        from body: PlaybackBody,
        by caller: String?,
        in call: RequestContext
    ) -> PlaybackRequest {
        let target: PlaybackRequest.Target = body.media.map { .media($0) } ?? .path(body.path ?? "")
        return PlaybackRequest(
            target,
            host: body.host,
            token: body.token,
            playbackID: body.playbackID,
            player: body.player,
            client: call.client(caller)
        )
    }

    /// `POST /v1/verify`: verifies a token and consumes nothing.
    private func verify(_ call: RequestContext) throws(APIRefusal) -> APIAnswer {
        let body = try read(VerifyBody.self, from: call)
        try reserveRoom(for: 1)
        defer { inFlight.release(1) }
        let answer: Verification
        if let text = body.resource {
            let resource: MediaResource
            do throws(ResourceError) { resource = try MediaResource(text) } catch {
                throw APIRefusal(.invalidRequest, details: "resource: \(error)")
            }
            answer = call.gate.verifier.verify(body.token, for: resource, requestor: body.requestor, at: call.time)
        } else {
            answer = call.gate.verifier.authenticate(body.token, at: call.time)
        }
        switch answer {
        case .valid:
            let members: [JSON.Member] = [
                ("authenticityOnly", .bool(body.isAuthenticityOnly)), ("trace", .string("\(call.trace)")),
            ]
            return .json(.object(JSON.members(answer) + members), trace: call.trace)
        case .refused(let refusal): throw APIRefusal(DenyCode.token(refusal.reason))
        }
    }

    /// `GET /v1/catalogue/{media}`: looks up an entry.
    private func lookUp(_ encoded: Substring, in call: RequestContext) throws(APIRefusal) -> APIAnswer {
        guard let media = encoded.percentDecoded, let entry = call.gate.catalogue.entry(media: media) else {
            throw APIRefusal(DenyCode.unknownMedia)
        }
        let origin: JSON =
            switch entry.origin {
            case .list: .string("list")
            case .feed(let name, let line): .string("\(name):\(line)")
            }
        let members: [JSON.Member] = [
            ("media", .string(media)), ("protected", .bool(entry.protection != .none)),
            ("resource", .optional(entry.protection.resource?.text)),
            ("requestor", .optional(entry.protection.requestor)), ("shadow", .bool(entry.isShadow)),
            ("playable", .bool(entry.protection != .ambiguous)), ("admits", .string(entry.use.rawValue)),
            ("origin", origin),
            ("trace", .string("\(call.trace)")),
        ]
        return .json(.object(members), trace: call.trace)
    }

    // MARK: Parts of operations

    /// Returns the name of a caller that may call `operation`; `nil` if every caller may.
    private static func authenticate(
        _ request: HTTPRequest,
        for operation: APIOperation,
        in snapshot: CurrentGate.Snapshot
    ) throws(APIRefusal) -> String? {
        guard let scope = operation.scope else { return nil }
        // The caller was authenticated at the head of the request, unless the configuration was reloaded since.
        if let admission = request.admission, admission.snapshot == snapshot.number { return admission.caller }
        let api = snapshot.configuration.api
        return try CallerAuthentication(callers: api.callers, hosts: api.hosts).authenticate(request, for: scope)
    }

    package func read<Body: StrictBody>(_: Body.Type, from call: RequestContext) throws(APIRefusal) -> Body {
        guard APIOperation.verify.accepts(call.request.first("content-type")) else {
            throw APIRefusal(.unsupportedMediaType)
        }
        let limit = min(bodyLimit, Body.largestBody)
        let body = call.request.body ?? ByteBuffer()
        guard !call.request.isTooLarge, body.readableBytes <= limit else {
            throw APIRefusal(.bodyTooLarge, details: "at most \(limit) bytes")
        }
        do throws(JSONObjectFault) { return try Body.read(body) } catch {
            throw APIRefusal(.invalidRequest, details: error.message)
        }
    }

    /// Reserves room for `count` more decisions, and refuses at once if there is not enough.
    func reserveRoom(for count: Int) throws(APIRefusal) {
        guard inFlight.acquire(count) else {
            metrics.countOverload()
            throw APIRefusal(DenyCode.overloaded)
        }
    }
}
