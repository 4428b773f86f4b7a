// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import MediaTokens
internal import Metrics
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// The API for player backends.
///
/// A handful of fixed paths: a `switch` says more clearly than a router what there is, and answers a wrong method with
/// 405 and the right one.
struct APIResponder: HTTPResponder {
    typealias Context = ListenerContext

    let live: LiveGate
    let metrics: DecisionMetrics
    let inHand: ConcurrencyLimit
    let requests: StatusCounters
    let clock: @Sendable () -> Timestamp
    private let bodyLimit: Int
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
        let request: Request
        let channel: any Channel
        let trace: String
        let time: Timestamp
        let snapshot: LiveGate.Snapshot

        var gate: Gate { snapshot.gate }
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        let trace = RequestTrace.id(traceparent: request.headers[.traceparent])
        let call = Call(
            request: request,
            channel: context.channel,
            trace: trace,
            time: clock(),
            snapshot: live.current
        )
        var response: Response
        do { response = try await operate(call) } catch let refusal as APIRefusal {
            let format = AnswerFormat(accept: request.headers[.accept])
            response = .refusal(refusal, format: format, helpURL: helpURL, trace: trace)
        }
        requests.count(response.status)
        return request.method == .head ? response.createHeadResponse() : response
    }

    // MARK: Operations

    private func operate(_ call: Call) async throws -> Response {
        let path = (call.request.head.path ?? "").prefix { $0 != "?" }
        let method = call.request.method
        switch path {
        case "/v1/playback": return try await post(method, { try await playback(call) })
        case "/v1/playback/batch": return try await post(method, { try await batch(call) })
        case "/v1/verify": return try await post(method, { try await verify(call) })
        case "/v1/revocations": return try await post(method, { try await revoke(call) })
        case "/v1/codes":
            try get(method)
            return .json(CodeTable.json(helpURL: helpURL), trace: call.trace)
        case "/openapi.yaml":
            try get(method)
            return .answer(PackageResources.openapi_yaml, type: "application/yaml", trace: call.trace)
        default: break
        }
        if let code = path.below("/v1/codes/") {
            try get(method)
            guard let entry = CodeTable.entry(code, helpURL: helpURL) else { throw APIRefusal(.codeUnknown) }
            return .json(entry, trace: call.trace)
        }
        if let media = path.below("/v1/catalogue/") {
            try get(method)
            return try await lookUp(media, call)
        }
        throw APIRefusal(.operationUnknown)
    }

    private func post(_ method: HTTPRequest.Method, _ body: () async throws -> Response) async throws -> Response {
        guard method == .post else { throw APIRefusal(.methodNotAllowed, allow: "POST") }
        return try await body()
    }

    private func get(_ method: HTTPRequest.Method) throws(APIRefusal) {
        guard method == .get || method == .head else { throw APIRefusal(.methodNotAllowed, allow: "GET, HEAD") }
    }

    /// `POST /v1/playback`: decides, and uses the token up.
    private func playback(_ call: Call) async throws -> Response {
        let caller = try await authenticate(call, for: .playback)
        let body = try await read(PlaybackBody.self, call)
        return try await withRoom(for: 1) {
            switch await decide(body, caller, call) {
            case .allow(let allowance):
                return .json(.object(Decision.members(allowance, trace: call.trace)), trace: call.trace)
            case .refuse(let refusal): throw APIRefusal(refusal.code)
            }
        }
    }

    /// `POST /v1/playback/batch`: decides each of up to 100, whatever becomes of the others.
    private func batch(_ call: Call) async throws -> Response {
        let caller = try await authenticate(call, for: .playback)
        let bodies = try await read(BatchBody.self, call).playbacks
        return try await withRoom(for: bodies.count) {
            let decisions = await withTaskGroup(of: (Int, Decision).self) { group in
                for (number, body) in bodies.enumerated() {
                    group.addTask { (number, await decide(body, caller, call)) }
                }
                var decisions: [Int: Decision] = [:]
                for await (number, decision) in group { decisions[number] = decision }
                return decisions
            }
            let results = bodies.indices.map { number -> JSONText in
                switch decisions[number] {
                case .allow(let allowance): return .object(Decision.members(allowance, trace: call.trace))
                case .refuse(let refusal):
                    let error = APIRefusal(refusal.code).members(helpURL: helpURL, trace: call.trace)
                    return .object([("allowed", .bool(false)), ("error", .object(error))])
                case nil: return .null
                }
            }
            return .json(.object([("results", .array(results)), ("trace", .string(call.trace))]), trace: call.trace)
        }
    }

    private func decide(_ body: PlaybackBody, _ caller: String?, _ call: Call) async -> Decision {
        let target: PlaybackRequest.Target = body.media.map { .media($0) } ?? .path(body.path ?? "")
        let client = PlaybackRequest.Client(trace: call.trace, caller: caller)
        let request = PlaybackRequest(target, token: body.token, playbackID: body.playbackID, client: client)
        return await call.gate.decide(request, at: call.time)
    }

    /// `POST /v1/verify`: verifies, and uses nothing up.
    private func verify(_ call: Call) async throws -> Response {
        _ = try await authenticate(call, for: .verify)
        let body = try await read(VerifyBody.self, call)
        return try await withRoom(for: 1) {
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
                    ("trace", .string(call.trace)),
                ]
                return .json(.object(members), trace: call.trace)
            case .refused(let refusal): throw APIRefusal(DenyCode.token(refusal.reason))
            }
        }
    }

    /// `POST /v1/revocations`.
    private func revoke(_ call: Call) async throws -> Response {
        _ = try await authenticate(call, for: .revoke)
        let body = try await read(RevocationBody.self, call)
        let revocation = try self.revocation(body, call)
        return try await withRoom(for: 1) {
            let store = call.gate.store
            do throws(UseStoreError) {
                try await call.gate.record(revocation, at: call.time)
            } catch {
                throw error.code == .full ? APIRefusal(.revocationsFull) : APIRefusal(DenyCode.useStoreUnavailable)
            }
            let members: [(String, JSONText)] = [
                ("revoked", .string(revocation.kind.rawValue)),
                ("expires", .number(revocation.expires.millisecondsSince1970)), ("store", .string(store.name)),
                ("trace", .string(call.trace)),
            ]
            return .json(.object(members), status: .created, trace: call.trace)
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
    private func lookUp(_ encoded: Substring, _ call: Call) async throws -> Response {
        _ = try await authenticate(call, for: .catalogue)
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
            ("playable", .bool(entry.protection != .ambiguous)), ("origin", origin), ("trace", .string(call.trace)),
        ]
        return .json(.object(members), trace: call.trace)
    }

    // MARK: Parts of operations

    private func authenticate(_ call: Call, for scope: Scope) async throws(APIRefusal) -> String? {
        try await CallerAuthentication(callers: call.snapshot.configuration.api.callers)
            .authenticate(call.request.headers, call.channel, for: scope)
    }

    private func read<Body: StrictBody>(_: Body.Type, _ call: Call) async throws -> Body {
        let type = call.request.headers[.contentType] ?? ""
        guard type.prefix(while: { $0 != ";" }).lowercased().filter({ $0 != " " }) == "application/json" else {
            throw APIRefusal(.unsupportedMediaType)
        }
        let buffer: ByteBuffer
        let limit = min(bodyLimit, Body.largestBody)
        do { buffer = try await call.request.body.collect(upTo: limit) } catch is NIOTooManyBytesError {
            throw APIRefusal(.bodyTooLarge, details: "at most \(limit) bytes")
        }
        do throws(BodyFault) { return try Body.read(buffer) } catch {
            throw APIRefusal(.invalidRequest, details: error.reason)
        }
    }

    /// Runs `body` where there is room for `count` more decisions, and refuses at once where there is not.
    private func withRoom(for count: Int, _ body: () async throws -> Response) async throws -> Response {
        guard inHand.take(count) else {
            metrics.countOverload()
            throw APIRefusal(DenyCode.overloaded)
        }
        defer { inHand.giveBack(count) }
        return try await body()
    }
}

extension Substring {
    /// What follows `prefix`, where that is not empty.
    fileprivate func below(_ prefix: String) -> Substring? {
        hasPrefix(prefix) && utf8.count > prefix.utf8.count ? self[index(startIndex, offsetBy: prefix.count)...] : nil
    }

    /// This text with percent-encoding undone once; nil where that is malformed.
    fileprivate var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next(), let low = rest.next(),
                let high = Character(Unicode.Scalar(high)).hexDigitValue,
                let low = Character(Unicode.Scalar(low)).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high * 16 + low))
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
