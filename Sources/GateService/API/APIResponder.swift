// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import MediaResources
internal import MediaTokens
internal import Metrics
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate
internal import StrictJSON

/// The API for player backends.
///
/// A handful of fixed paths: a `switch` says more clearly than a router what there is, and answers a wrong method with
/// 405 and the right one.
struct APIResponder: HTTPService {
    let live: LiveGate
    let metrics: DecisionMetrics
    let inHand: ConcurrencyLimit
    let requests: StatusCounters
    let clock: @Sendable () -> Timestamp
    let bodyLimit: Int?
    private let helpURL: String

    init(
        _ configuration: GateConfiguration.API,
        live: LiveGate,
        metrics: DecisionMetrics,
        inHand: ConcurrencyLimit,
        requests: StatusCounters,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.metrics = metrics
        self.inHand = inHand
        self.requests = requests
        self.clock = clock
        bodyLimit = configuration.listener.limits.bodyBytes
        helpURL = configuration.helpURL
    }

    /// A request on its way through an operation.
    struct Call {
        let request: HTTPRequest
        let trace: TraceID
        let time: Timestamp
        let snapshot: LiveGate.Snapshot

        var gate: Gate { snapshot.gate }
    }

    func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        output.write(answer(request))
    }

    private func answer(_ request: HTTPRequest) -> HTTPReply<APIAnswer> {
        let trace = TraceID(traceparent: request.first("traceparent"))
        let call = Call(request: request, trace: trace, time: clock(), snapshot: live.current)
        let format = { AnswerFormat(accept: request.first("accept")) }
        do throws(APIRefusal) {
            switch try operate(call) {
            case .now(let answer): return .now(counted(answer))
            case .later(let find):
                let format = format()
                return .later { counted(await finish(format, trace, find)) }
            }
        } catch { return .now(counted(.refusal(error, format: format(), helpURL: helpURL, trace: trace))) }
    }

    private func counted(_ answer: APIAnswer) -> APIAnswer {
        requests.count(answer.status)
        return answer
    }

    private func finish(
        _ format: AnswerFormat,
        _ trace: TraceID,
        _ find: () async throws(APIRefusal) -> APIAnswer
    ) async -> APIAnswer {
        do throws(APIRefusal) { return try await find() } catch {
            return .refusal(error, format: format, helpURL: helpURL, trace: trace)
        }
    }

    /// What an operation comes to: at once, or after the store has answered.
    private enum Outcome {
        case now(APIAnswer)
        case later(@Sendable () async throws(APIRefusal) -> APIAnswer)
    }

    // MARK: Operations

    private func operate(_ call: Call) throws(APIRefusal) -> Outcome {
        let path = call.request.path
        let method = call.request.head.method
        switch path {
        case "/v1/playback":
            try post(method)
            return try playback(call)
        case "/v1/playback/batch":
            try post(method)
            return try batch(call)
        case "/v1/verify":
            try post(method)
            return .now(try verify(call))
        case "/v1/revocations":
            try post(method)
            return try revoke(call)
        case "/v1/codes":
            try get(method)
            return .now(.json(CodeTable.json(helpURL: helpURL), trace: call.trace))
        case "/openapi.yaml":
            try get(method)
            return .now(APIAnswer(PackageResources.openapi_yaml, type: "application/yaml", trace: call.trace))
        default: break
        }
        if let code = path.below("/v1/codes/") {
            try get(method)
            guard let entry = CodeTable.entry(code, helpURL: helpURL) else { throw APIRefusal(.codeUnknown) }
            return .now(.json(entry, trace: call.trace))
        }
        if let media = path.below("/v1/catalogue/") {
            try get(method)
            return .now(try lookUp(media, call))
        }
        throw APIRefusal(.operationUnknown)
    }

    private func post(_ method: HTTPMethod) throws(APIRefusal) {
        guard method == .POST else { throw APIRefusal(.methodNotAllowed, allow: "POST") }
    }

    private func get(_ method: HTTPMethod) throws(APIRefusal) {
        guard method == .GET || method == .HEAD else { throw APIRefusal(.methodNotAllowed, allow: "GET, HEAD") }
    }

    /// `POST /v1/playback`: decides, and uses the token up.
    private func playback(_ call: Call) throws(APIRefusal) -> Outcome {
        let caller = try authenticate(call, for: .playback)
        let request = playbackRequest(try read(PlaybackBody.self, call), caller, call)
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try takeRoom(for: 1)
        if let decision = gate.decideNow(request, at: time) {
            inHand.giveBack(1)
            return .now(try Self.answer(decision, trace))
        }
        return .later { () async throws(APIRefusal) in
            let decision = await gate.decide(request, at: time)
            inHand.giveBack(1)
            return try Self.answer(decision, trace)
        }
    }

    private static func answer(_ decision: Decision, _ trace: TraceID) throws(APIRefusal) -> APIAnswer {
        switch decision {
        case .allow(let allowance): return .json(.object(Decision.members(allowance, trace: trace)), trace: trace)
        case .refuse(let refusal): throw APIRefusal(refusal.code)
        }
    }

    /// `POST /v1/playback/batch`: decides each of up to 100, whatever becomes of the others.
    private func batch(_ call: Call) throws(APIRefusal) -> Outcome {
        let caller = try authenticate(call, for: .playback)
        let requests = try read(BatchBody.self, call).playbacks.map { playbackRequest($0, caller, call) }
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try takeRoom(for: requests.count)
        return .later { () async throws(APIRefusal) in
            let decisions = await withTaskGroup(of: (Int, Decision).self) { group in
                for (number, request) in requests.enumerated() {
                    group.addTask { (number, await gate.decide(request, at: time)) }
                }
                var decisions: [Int: Decision] = [:]
                for await (number, decision) in group { decisions[number] = decision }
                return decisions
            }
            inHand.giveBack(requests.count)
            let results = requests.indices.map { number -> JSONText in
                switch decisions[number] {
                case .allow(let allowance): return .object(Decision.members(allowance, trace: trace))
                case .refuse(let refusal):
                    let error = APIRefusal(refusal.code).members(helpURL: helpURL, trace: trace)
                    return .object([("allowed", .bool(false)), ("error", .object(error))])
                case nil: return .null
                }
            }
            return .json(.object([("results", .array(results)), ("trace", .string("\(trace)"))]), trace: trace)
        }
    }

    private func playbackRequest(_ body: PlaybackBody, _ caller: String?, _ call: Call) -> PlaybackRequest {
        let target: PlaybackRequest.Target = body.media.map { .media($0) } ?? .path(body.path ?? "")
        let client = PlaybackRequest.Client(trace: call.trace, caller: caller)
        return PlaybackRequest(target, token: body.token, playbackID: body.playbackID, client: client)
    }

    /// `POST /v1/verify`: verifies, and uses nothing up.
    private func verify(_ call: Call) throws(APIRefusal) -> APIAnswer {
        _ = try authenticate(call, for: .verify)
        let body = try read(VerifyBody.self, call)
        try takeRoom(for: 1)
        defer { inHand.giveBack(1) }
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
        case .valid(let token, let key):
            let members: [(String, JSONText)] = [
                ("valid", .bool(true)), ("verifierStatus", .string(answer.status.rawValue)),
                ("authenticityOnly", .bool(body.isAuthenticityOnly)), ("key", .string(key)), ("token", token.json),
                ("trace", .string("\(call.trace)")),
            ]
            return .json(.object(members), trace: call.trace)
        case .refused(let refusal): throw APIRefusal(DenyCode.token(refusal.reason))
        }
    }

    /// `POST /v1/revocations`.
    private func revoke(_ call: Call) throws(APIRefusal) -> Outcome {
        _ = try authenticate(call, for: .revoke)
        let revocation = try revocation(try read(RevocationBody.self, call), call)
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try takeRoom(for: 1)
        return .later { () async throws(APIRefusal) in
            defer { inHand.giveBack(1) }
            do throws(UseStoreError) {
                try await gate.record(revocation, at: time)
            } catch {
                throw error.code == .full ? APIRefusal(.revocationsFull) : APIRefusal(DenyCode.useStoreUnavailable)
            }
            let members: [(String, JSONText)] = [
                ("revoked", .string(revocation.kind.rawValue)),
                ("expires", .number(revocation.expires.millisecondsSince1970)), ("store", .string(gate.store.name)),
                ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), status: .created, trace: trace)
        }
    }

    /// What a body asks to revoke. Without an end, it holds until no token issued before now can be verified.
    private func revocation(_ body: RevocationBody, _ call: Call) throws(APIRefusal) -> Revocation {
        let policy = call.gate.verifier.policy
        let life = policy.maximumTimeToLive + policy.lateLeeway + policy.earlyLeeway
        let expires = body.expires ?? call.time.advanced(byMilliseconds: life.milliseconds)
        let latest = call.time.advanced(byMilliseconds: Duration.seconds(400 * 86_400).milliseconds)
        guard call.time < expires, expires <= latest else {
            throw APIRefusal(.invalidRequest, details: "expires must be in the future, and within 400 days")
        }
        switch body.subject {
        case .fingerprint(let fingerprint): return Revocation(.token(fingerprint), expires: expires)
        case .session(let guid):
            return Revocation(.session(guid: guid, issuedBefore: body.issuedBefore ?? call.time), expires: expires)
        case .mvpd(let id):
            return Revocation(.mvpd(id: id, issuedBefore: body.issuedBefore ?? expires), expires: expires)
        case .token(let text):
            let answer = call.gate.verifier.authenticate(text, at: call.time)
            guard let token = answer.token else {
                throw APIRefusal(.tokenNotAuthentic, details: answer.reason?.rawValue)
            }
            return Revocation(.token(token.fingerprint), expires: expires)
        }
    }

    /// `GET /v1/catalogue/{media}`.
    private func lookUp(_ encoded: Substring, _ call: Call) throws(APIRefusal) -> APIAnswer {
        _ = try authenticate(call, for: .catalogue)
        guard let media = encoded.percentDecoded, let entry = call.gate.catalogue.entry(media: media) else {
            throw APIRefusal(DenyCode.unknownMedia)
        }
        let origin: JSONText =
            switch entry.origin {
            case .list: .string("list")
            case .feed(let name, let line): .string("\(name):\(line)")
            }
        let members: [(String, JSONText)] = [
            ("media", .string(media)), ("protected", .bool(entry.protection != .none)),
            ("resource", .optional(entry.protection.resource?.text)),
            ("requestor", .optional(entry.protection.requestor)), ("shadow", .bool(entry.isShadow)),
            ("playable", .bool(entry.protection != .ambiguous)), ("use", .string(entry.use.rawValue)),
            ("origin", origin),
            ("trace", .string("\(call.trace)")),
        ]
        return .json(.object(members), trace: call.trace)
    }

    // MARK: Parts of operations

    private func authenticate(_ call: Call, for scope: Scope) throws(APIRefusal) -> String? {
        try CallerAuthentication(callers: call.snapshot.configuration.api.callers).authenticate(
            call.request,
            for: scope
        )
    }

    private func read<Body: StrictBody>(_: Body.Type, _ call: Call) throws(APIRefusal) -> Body {
        guard Self.isJSON(call.request.first("content-type") ?? "") else { throw APIRefusal(.unsupportedMediaType) }
        let limit = min(bodyLimit ?? 0, Body.largestBody)
        let body = call.request.body ?? ByteBuffer()
        guard !call.request.isTooLarge, body.readableBytes <= limit else {
            throw APIRefusal(.bodyTooLarge, details: "at most \(limit) bytes")
        }
        do throws(BodyFault) { return try Body.read(body) } catch {
            throw APIRefusal(.invalidRequest, details: error.reason)
        }
    }

    private static func isJSON(_ type: String) -> Bool {
        if type == "application/json" { return true }
        return type.prefix { $0 != ";" }.lowercased().filter { $0 != " " } == "application/json"
    }

    /// Takes room for `count` more decisions, and refuses at once where there is none.
    private func takeRoom(for count: Int) throws(APIRefusal) {
        guard inHand.take(count) else {
            metrics.countOverload()
            throw APIRefusal(DenyCode.overloaded)
        }
    }
}

extension Substring {
    /// What follows `prefix`, where that is not empty.
    fileprivate func below(_ prefix: String) -> Substring? {
        hasPrefix(prefix) && utf8.count > prefix.utf8.count ? self[index(startIndex, offsetBy: prefix.count)...] : nil
    }
}
