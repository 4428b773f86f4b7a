// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
package import EdgeListener
package import GateAPI
internal import GateConfiguration
package import HTTPServer
internal import MediaTokens
package import NIOHTTP1
package import Platform
package import PlaybackGate
internal import RequestTargets
package import Telemetry

/// Answers players' requests for manifests. It decides as a check of an edge does, fetches the manifest from the
/// origin, and writes a new grant into its references.
///
/// The rewritten manifest is complete before its first byte is sent: a fault in its last line is a refusal, not half a
/// manifest.
package struct ManifestResponder: HTTPService {
    package let live: CurrentGate
    /// The settings of the active configuration.
    package let settings = CurrentManifestSettings()
    package let metrics: DecisionMetrics
    package let inFlight: ConcurrencyLimit
    package let counters: ManifestCounters
    package let origin: OriginClient
    /// The fetches at a time.
    package let fetches: ConcurrencyLimit
    /// True if the listener uses TLS.
    package let isSecure: Bool
    package let helpURL: String
    package let clock: @Sendable () -> Timestamp

    /// Creates a value of its members.
    package init(
        live: CurrentGate,
        metrics: DecisionMetrics,
        inFlight: ConcurrencyLimit,
        counters: ManifestCounters,
        origin: OriginClient,
        fetches: ConcurrencyLimit,
        isSecure: Bool,
        helpURL: String,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.metrics = metrics
        self.inFlight = inFlight
        self.counters = counters
        self.origin = origin
        self.fetches = fetches
        self.isSecure = isSecure
        self.helpURL = helpURL
        self.clock = clock
    }

    /// A player that leaves does not receive its manifest: the fetch ends with its connection.
    package var cancelsAbandoned: Bool { true }

    package func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception { .answer }

    package func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        let snapshot = live.current
        let client = PlaybackRequest.Client(traceparent: request.first("traceparent")?[...], edge: "manifest")
        // If a reload removed the section, the listener stays open until a restart and serves nothing.
        guard let settings = settings.current(of: snapshot) else {
            output.write(refusal(APIRefusal(.notServed), in: Call(client), result: .notServed))
            return nil
        }
        let call = Call(request, settings: settings, snapshot: snapshot, client: client, at: clock())
        guard call.isOptions else {
            return serve(request, settings: settings, in: call, snapshot: snapshot, into: &output)
        }
        output.write(preflight(request, settings: settings, in: call))
        return nil
    }

    /// A request in the course of its answer.
    package struct Call: Sendable {
        package let client: PlaybackRequest.Client
        /// The header fields that scripts of other sites need.
        package var crossOrigin: [(StaticString, String)] = []
        package var format = AnswerFormat.json
        package var isHead = false
        fileprivate var isOptions = false
        package let now: Timestamp
        package let settings: ManifestSettings?
        package let gate: Gate?

        /// The trace id of the request, as in its response.
        package var trace: TraceID { client.trace }

        fileprivate init(_ client: PlaybackRequest.Client) {
            self.client = client
            (now, settings, gate) = (Timestamp(millisecondsSince1970: 0), nil, nil)
        }

        package init(
            _ request: HTTPRequest,
            settings: ManifestSettings,
            snapshot: CurrentGate.Snapshot,
            client: PlaybackRequest.Client,
            at now: Timestamp
        ) {
            self.client = client
            self.now = now
            self.settings = settings
            gate = snapshot.gate
            crossOrigin = settings.crossOrigin?.fields(request.first("origin")) ?? []
            format = AnswerFormat(accept: request.first("accept"))
            isHead = request.head.method == .HEAD
            isOptions = request.head.method == .OPTIONS
        }
    }

    // MARK: Preflights

    /// Answers `OPTIONS`, which needs no token: a preflight, or a request for the methods.
    package func preflight(_ request: HTTPRequest, settings: ManifestSettings, in call: Call) -> ManifestAnswer {
        counters.count(.preflight)
        let isPreflight = request.first("access-control-request-method") != nil
        let fields =
            isPreflight
            ? settings.crossOrigin?.preflight(request.first("origin"), headers: settings.sources.tokenHeaders)
            : nil
        return ManifestAnswer(
            status: .noContent,
            fields: [("Allow", "GET, HEAD, OPTIONS")] + (fields ?? []),
            trace: call.trace
        )
    }

    // MARK: Deciding

    private func serve(
        _ request: HTTPRequest,
        settings: ManifestSettings,
        in call: Call,
        snapshot: CurrentGate.Snapshot,
        into output: inout HTTPOutput
    ) -> PendingAnswer? {
        // A target that cannot be parsed is not logged: it may contain a token.
        let unread = PlaybackRequest(.path("/"), token: nil, client: call.client)
        let isTrusted = settings.peers.trusts(request.connection, snapshot: snapshot.number)
        guard let found = ManifestRequest(request, settings: settings, isTrusted: isTrusted, isSecure: isSecure)
        else { return refuse(.edgeRequestInvalid, request: unread, by: snapshot.gate, in: call, into: &output) }
        guard let uri = found.uri, uri.query != nil, !found.check.target.isAmbiguous else {
            var path = PlaybackRequest(.path(found.check.target.path), token: nil, client: call.client)
            (path.host, path.method) = (found.check.authority?.host, found.check.method)
            return refuse(.invalidPath, request: path, by: snapshot.gate, in: call, into: &output)
        }
        guard settings.servesManifest(uri.path) else {
            output.write(refusal(APIRefusal(.notServed), in: call, result: .notServed))
            return nil
        }
        return decide(found, uri: uri, in: call, snapshot: snapshot, into: &output)
    }

    /// Decides, if there is room for another fetch. A request that cannot be answered then consumes no token.
    private func decide(
        _ request: ManifestRequest,
        uri: RequestURI,
        in call: Call,
        snapshot: CurrentGate.Snapshot,
        into output: inout HTTPOutput
    ) -> PendingAnswer? {
        guard fetches.acquire() else { return overloaded(call, into: &output) }
        guard inFlight.acquire() else {
            fetches.release()
            return overloaded(call, into: &output)
        }
        let gate = snapshot.gate
        var context = EdgeCheckContext()
        let step = request.check(by: gate, from: call.client, at: call.now, noting: &context)
        let fetch = ManifestFetch(
            uri: uri,
            publicPath: request.publicPath,
            grants: context.grants,
            target: request.check.target
        )
        switch step {
        case .decided(let decision):
            inFlight.release()
            guard decision.isAllowed else {
                fetches.release()
                output.write(refusal(for: decision, in: call))
                return nil
            }
            return .task { await finish(decision, fetch: fetch, in: call) }
        case .pending(let use):
            return .task {
                // The store is called even if the player leaves: a use is recorded or not, but never in between.
                let decision = await Task { await gate.complete(use) }.value
                inFlight.release()
                return await finish(decision, fetch: fetch, in: call)
            }
        }
    }

    private func finish(_ decision: Decision, fetch: ManifestFetch, in call: Call) async -> any HTTPAnswer {
        defer { fetches.release() }
        guard decision.isAllowed else { return refusal(for: decision, in: call) }
        return await response(to: decision, fetch: fetch, in: call)
    }

    private func overloaded(_ call: Call, into output: inout HTTPOutput) -> PendingAnswer? {
        metrics.countOverload()
        output.write(refusal(APIRefusal(DenyCode.overloaded), in: call, result: .overloaded))
        return nil
    }

    // MARK: Refusals

    /// Refuses a request before the catalogue look-up.
    private func refuse(
        _ code: DenyCode,
        request: PlaybackRequest,
        by gate: Gate,
        in call: Call,
        into output: inout HTTPOutput
    ) -> PendingAnswer? {
        // Nothing is known of the request: shadow mode does not allow it either.
        _ = gate.refuse(code, for: request, at: call.now)
        output.write(refusal(APIRefusal(code), in: call, result: .refused))
        return nil
    }

    private func refusal(for decision: Decision, in call: Call) -> APIAnswer {
        refusal(APIRefusal(decision.code ?? .token(.internalFailure)), in: call, result: .refused)
    }

    /// Returns the answer of a refusal, and counts it.
    package func refusal(_ refusal: APIRefusal, in call: Call, result: ManifestCounters.Result) -> APIAnswer {
        counters.count(result)
        var refusal = refusal
        if refusal.status == .methodNotAllowed { refusal.allow = "GET, HEAD, OPTIONS" }
        let shape = RefusalShape(format: call.format, verdict: [])
        var answer = APIAnswer.refusal(refusal, shape: shape, helpURL: helpURL, trace: call.trace)
        answer.more += [("X-Playgate-Code", refusal.code)] + call.crossOrigin
        return answer
    }
}
