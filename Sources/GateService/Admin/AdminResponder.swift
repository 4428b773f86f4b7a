// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import MediaTokens
internal import PlaybackGate

/// Health, readiness, metrics and reload, for those who run the gate.
struct AdminResponder: HTTPResponder {
    typealias Context = ListenerContext

    let live: LiveGate
    let reloader: Reloader
    let registry: PrometheusRegistry
    let gauges: ServiceGauges
    let clock: @Sendable () -> Timestamp

    func respond(to request: Request, context: Context) async throws -> Response {
        let path = (request.head.path ?? "").prefix { $0 != "?" }
        let isRead = request.method == .get || request.method == .head
        let response: Response
        switch path {
        case "/livez" where isRead: response = .json(.object([("live", .bool(true))]), trace: nil)
        case "/readyz" where isRead: response = await readiness()
        case "/metrics" where isRead:
            let text = registry.text(gauges: gauges.values(live.current, at: clock()))
            response = .answer([UInt8](text.utf8), type: "text/plain; version=0.0.4; charset=utf-8")
        case "/config" where isRead: response = .json(live.current.configuration.effective, trace: nil)
        case "/reload" where request.method == .post: response = await reload()
        case "/livez", "/readyz", "/metrics", "/config": response = wrongMethod("GET, HEAD")
        case "/reload": response = wrongMethod("POST")
        default: response = .json(.object([("error", .string("there is no \(path)"))]), status: .notFound, trace: nil)
        }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func wrongMethod(_ allow: String) -> Response {
        var response = Response.json(
            .object([("error", .string("use \(allow)"))]),
            status: .methodNotAllowed,
            trace: nil
        )
        response.headers[.allow] = allow
        return response
    }

    /// Ready is who can say yes: keys that are valid now, a store that answers, a catalogue.
    private func readiness() async -> Response {
        let gate = live.current.gate
        let now = clock()
        var faults: [(String, JSONText)] = []
        if !gate.verifier.trust.keys.contains(where: { $0.isValid(at: now) }) {
            faults.append(("trust", .string("no trusted key is valid now")))
        }
        do throws(UseStoreError) { try await gate.checkStore() } catch {
            faults.append(("store", .string("\(gate.store.name): \(error)")))
        }
        if gate.catalogue.count == 0 { faults.append(("catalogue", .string("the catalogue is empty"))) }
        return .json(
            .object([("ready", .bool(faults.isEmpty)), ("faults", .object(faults))]),
            status: faults.isEmpty ? .ok : .serviceUnavailable,
            trace: nil
        )
    }

    private func reload() async -> Response {
        guard let error = await reloader.reload(because: "POST /reload") else {
            return .json(.object([("reloaded", .bool(true))]), trace: nil)
        }
        let problems = error.problems.map { JSONText.string("\($0)") }
        return .json(
            .object([("reloaded", .bool(false)), ("problems", .array(problems))]),
            status: .unprocessableContent,
            trace: nil
        )
    }
}
