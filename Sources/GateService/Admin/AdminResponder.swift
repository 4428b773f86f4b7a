// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import HTTPServer
internal import KeySources
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate

/// The admin endpoints: health, readiness, metrics, configuration, reload and the operator page.
struct AdminResponder: HTTPService {
    let live: LiveGate
    let reloader: Reloader
    let registry: PrometheusRegistry
    let gauges: ServiceGauges
    let state: Readiness
    let page: OperatorPage
    let clock: @Sendable () -> Timestamp

    func receive(_ head: HTTPRequestHead, _ connection: HTTPConnection) -> HTTPReception {
        let request = HTTPRequest(head: head, connection: connection)
        guard OperatorPage.covers(request.path), refusal(request) == nil else { return .answer }
        return page.receive(request)
    }

    private func refusal(_ request: HTTPRequest) -> String? {
        AdminGuard(hosts: live.current.configuration.adminHosts).refusal(request)
    }

    func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        output.write(answer(request))
    }

    private func answer(_ request: HTTPRequest) -> HTTPReply<APIAnswer> {
        let path = request.path
        let method = request.head.method
        let isRead = method == .GET || method == .HEAD
        if let reason = refusal(request) {
            return .now(.json(.object([("error", .string(reason))]), status: .forbidden, trace: nil))
        }
        if OperatorPage.covers(path) { return page.answer(request) }
        switch path {
        case "/livez" where isRead: return .now(.json(.object([("live", .bool(true))]), trace: nil))
        case "/readyz" where isRead: return .later(.task { await readiness() })
        case "/metrics" where isRead: return .later(.task { await metrics() })
        case "/config" where isRead: return .now(.json(live.current.configuration.effective, trace: nil))
        case "/reload" where method == .POST: return .later(.task { await reload() })
        case "/.well-known/jwks.json" where isRead: return .now(publishedKeys(.jwkSet, request))
        case "/.well-known/cose-keys" where isRead: return .now(publishedKeys(.coseKeySet, request))
        case "/livez", "/readyz", "/metrics", "/config", "/.well-known/jwks.json", "/.well-known/cose-keys":
            return .now(wrongMethod("GET, HEAD"))
        case "/reload": return .now(wrongMethod("POST"))
        default:
            return .now(.json(.object([("error", .string("not found: \(path)"))]), status: .notFound, trace: nil))
        }
    }

    private func publishedKeys(_ notation: KeySetNotation, _ request: HTTPRequest) -> APIAnswer {
        guard let keys = live.current.publishedKeys else {
            let error = JSON.string("this gate issues and accepts no grants")
            return .json(.object([("error", error)]), status: .notFound, trace: nil)
        }
        return keys.answer(notation, request, at: clock(), trace: nil)
    }

    private func wrongMethod(_ allow: String) -> APIAnswer {
        var answer = APIAnswer.json(
            .object([("error", .string("method not allowed: use \(allow)"))]),
            status: .methodNotAllowed,
            trace: nil
        )
        answer.more.append(("Allow", allow))
        return answer
    }

    /// The longest wait of a scrape for the store: metrics must come while a store hangs, of all times.
    private static let longestScrape = Duration.milliseconds(200)

    private func metrics() async -> APIAnswer {
        let report = await state.report(within: Self.longestScrape)
        let text = registry.text(gauges: gauges.values(live.current, report, at: clock()))
        return APIAnswer([UInt8](text.utf8), type: "text/plain; version=0.0.4; charset=utf-8")
    }

    /// Answers 200 if there is no fault; else 503.
    private func readiness() async -> APIAnswer {
        let report = await state.report()
        let faults = report.faults
        return .json(
            .object([
                ("ready", .bool(faults.isEmpty)), ("faults", .object(faults)),
                ("rejectedReload", .array(report.rejectedReload.map { .string($0) })),
            ]),
            status: faults.isEmpty ? .ok : .serviceUnavailable,
            trace: nil
        )
    }

    private func reload() async -> APIAnswer {
        guard let error = await reloader.reload(because: "POST /reload") else {
            return .json(.object([("reloaded", .bool(true))]), trace: nil)
        }
        let problems = error.problems.map { JSON.string("\($0)") }
        return .json(
            .object([("reloaded", .bool(false)), ("problems", .array(problems))]),
            status: .unprocessableEntity,
            trace: nil
        )
    }
}
