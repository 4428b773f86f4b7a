// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeListener
internal import Encodings
internal import GateAPI
internal import GateConfiguration
package import HTTPServer
internal import KeySources
package import NIOHTTP1
package import Platform
internal import PlaybackGate
package import Telemetry

/// The admin endpoints: health, readiness, metrics, configuration, reload and the operator page.
package struct AdminResponder: HTTPService {
    package let live: CurrentGate
    /// Reloads the configuration; returns the error if the previous one stays active.
    package let reload: @Sendable () async -> ConfigurationError?
    package let registry: PrometheusRegistry
    package let gauges: ServiceGauges
    package let state: Readiness
    package let page: OperatorPage
    package let clock: @Sendable () -> Timestamp

    /// Creates a value of its members.
    package init(
        live: CurrentGate,
        reload: @escaping @Sendable () async -> ConfigurationError?,
        registry: PrometheusRegistry,
        gauges: ServiceGauges,
        state: Readiness,
        page: OperatorPage,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.reload = reload
        self.registry = registry
        self.gauges = gauges
        self.state = state
        self.page = page
        self.clock = clock
    }

    package func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception {
        let request = HTTPRequest(head: head, connection: connection)
        guard OperatorPage.covers(request.path), refusal(request) == nil else { return .answer }
        return page.receive(request)
    }

    private func refusal(_ request: HTTPRequest) -> String? {
        AdminGuard(hosts: live.current.configuration.adminHosts).refusal(request)
    }

    package func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        output.write(reply(to: request))
    }

    private func reply(to request: HTTPRequest) -> Reply<APIAnswer> {
        let path = request.path
        let method = request.head.method
        let isRead = method == .GET || method == .HEAD
        if let reason = refusal(request) {
            return .now(.json(.object([("error", .string(reason))]), status: .forbidden, trace: nil))
        }
        if OperatorPage.covers(path) { return page.reply(to: request) }
        switch path {
        case "/livez" where isRead: return .now(.json(.object([("live", .bool(true))]), trace: nil))
        case "/readyz" where isRead: return .later(.task { await readiness() })
        case "/metrics" where isRead: return .later(.task { await metrics() })
        case "/config" where isRead: return .now(.json(live.current.configuration.effective, trace: nil))
        case "/reload" where method == .POST: return .later(.task { await reloadResult() })
        case "/.well-known/jwks.json" where isRead: return .now(publishedKeys(in: .jwkSet, for: request))
        case "/.well-known/cose-keys" where isRead: return .now(publishedKeys(in: .coseKeySet, for: request))
        case "/livez", "/readyz", "/metrics", "/config", "/.well-known/jwks.json", "/.well-known/cose-keys":
            return .now(wrongMethod("GET, HEAD"))
        case "/reload": return .now(wrongMethod("POST"))
        default:
            return .now(.json(.object([("error", .string("not found: \(path)"))]), status: .notFound, trace: nil))
        }
    }

    private func publishedKeys(in notation: KeySetNotation, for request: HTTPRequest) -> APIAnswer {
        guard let keys = live.current.publishedKeys else {
            let error = JSON.string("this gate issues and accepts no grants")
            return .json(.object([("error", error)]), status: .notFound, trace: nil)
        }
        return keys.response(to: request, in: notation, at: clock(), trace: nil)
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

    /// The longest wait of a scrape for the store: metrics must be available above all while a store hangs.
    private static let longestScrape = Duration.milliseconds(200)

    private func metrics() async -> APIAnswer {
        let report = await state.report(within: Self.longestScrape)
        let text = registry.text(gauges: gauges.values(of: live.current, report: report, at: clock()))
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

    private func reloadResult() async -> APIAnswer {
        guard let error = await reload() else {
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
