// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import Encodings
internal import GateAPI
internal import GateConfiguration
internal import HTTPServer
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import Telemetry

// The decisions as they come, with rates, latencies, and the state of the gate.

extension OperatorPage {
    /// The most decisions of an answer.
    private static let most = 100

    func livePage(_ visit: Visit) async -> APIAnswer {
        let filter = DecisionWindow.Filter(visit)
        let (newest, rows) = window.rows(after: 0, filter, limit: Self.most)
        let texts = await texts(visit)
        let plots = Plots(window.history(at: visit.time))
        let content: HTML = """
            <p><output id="state" role="status">as of \(visit.time.iso8601)</output>
            <button id="pause" type="button" aria-pressed="false" hidden>Pause</button></p>
            <div class="figures">
            \(plots.figures)
            </div>
            \(Self.filterForm(filter))
            <div class="table"><table id="decisions"><caption hidden>Decisions, the newest first</caption>
            <thead><tr><th>Time</th><th>Code</th><th>Media or path</th><th class="wide">MVPD</th><th class="wide">Edge or caller</th>
            <th class="number">µs</th><th class="wide">Trace</th></tr></thead>
            <tbody data-newest="\(String(newest))">\(rows.map { $0.html })</tbody></table></div>
            <h2>State</h2>
            <table><tbody>\(texts.map { name, title, text in
                "<tr><th>\(title)</th><td id=\"\(name)\">\(text)</td></tr>" as HTML
            })</tbody></table>
            <h2>Trusted keys</h2>
            <table><thead><tr><th>Key</th><th>Valid until</th></tr></thead><tbody>\(keys(visit))</tbody></table>
            """
        return .page("Decisions", content: content, caller: visit.caller.name, at: "/ui", script: true)
    }

    /// The state that the script of the page requests each second, with the same filter.
    func liveState(_ visit: Visit) async -> APIAnswer {
        let filter = DecisionWindow.Filter(visit)
        let after = (try? visit.parameters.get().required("after")).flatMap { UInt64($0) } ?? 0
        let (newest, rows) = window.rows(after: after, filter, limit: Self.most)
        let plots = Plots(window.history(at: visit.time))
        let texts =
            await texts(visit).map { ($0.name, JSON.string($0.text)) } + plots.texts.map { ($0.name, .string($0.text)) }
        return .json(
            .object([
                ("newest", .number(Int64(clamping: newest))), ("decisions", .array(rows.map(\.json))),
                ("plots", .object(plots.lines.map { ($0.name, .string($0.points)) })), ("texts", .object(texts)),
            ]),
            trace: nil
        )
    }

    private static func filterForm(_ filter: DecisionWindow.Filter) -> HTML {
        let codes =
            ["granted", "verified", "within_ttl", "unprotected", "repeated", "probe", "renewed"]
            + DenyCode.allCases.map(\.rawValue).sorted()
        let options = codes.map { code in
            (code == filter.code ? "<option selected>\(code)</option>" : "<option>\(code)</option>") as HTML
        }
        return """
            <h2>Latest decisions</h2>
            <form class="filter" action="/ui">
            <label><span>Code</span><select name="code"><option value="">all</option>\(options)</select></label>
            <label><span>Media or path</span><input name="target" value="\(filter.target)"></label>
            <label><span>MVPD</span><input name="mvpd" value="\(filter.mvpd)"></label>
            <label><span>Edge or caller</span><input name="source" value="\(filter.source)"></label>
            <button>Show</button>
            </form>
            """
    }

    // MARK: State

    /// The lines of the section State.
    private func texts(_ visit: Visit) async -> [(name: String, title: String, text: String)] {
        let faults = await state.faults().map { part, fault in
            if case .string(let text) = fault { "\(part): \(text)" } else { part }
        }
        let reloads = gauges.reloads.current
        let rejected = reloads.problems.map { "the last one was rejected: \($0)" }
        let gate = visit.snapshot.gate
        let age = Swift.max(visit.time.millisecondsSince1970 - visit.snapshot.loaded.millisecondsSince1970, 0) / 1000
        let store = gate.store.gauges.map { "\($0.name.dropFirst("playgate_".count)) \($0.value.shortText)" }
        let cache = gate.grants.map { grants in
            let looked = grants.cacheLookUps
            return looked.map { "\($0.hits) of \($0.hits + $0.misses) grants found" } ?? "off"
        }
        return [
            ("faults", "Ready", faults.isEmpty ? "yes" : faults.joined(separator: "; ")),
            ("version", "Version", GateVersion.current),
            ("store", "Store", ([gate.store.name] + store).joined(separator: ", ")),
            ("catalogue", "Catalogue", "\(gate.catalogue.count) entries, read \(age) s ago"),
            (
                "reloads", "Reloads",
                (["\(reloads.succeeded) succeeded, \(reloads.failed) failed"] + rejected).joined(separator: "; ")
            ),
            (
                "revocations", "Revocations of grants",
                revocationCache.map { "\($0.count) known" } ?? "none: the gate issues no grants"
            ),
            ("cache", "Cache of grants", cache ?? "none: the gate issues no grants"),
            ("flight", "In flight", "\(gauges.inFlight.inFlight)"),
        ]
    }

    private func keys(_ visit: Visit) -> [HTML] {
        visit.snapshot.gate.verifier.trust.keys.map { key in
            let end = key.validity?.upperBound
            let left = end.map { ($0.millisecondsSince1970 - visit.time.millisecondsSince1970) / 86_400_000 }
            let isLate = left.map { $0 < 30 } ?? false
            let text = end.map { "\($0.iso8601) (\(left ?? 0) days)" } ?? "always"
            let kind = isLate ? "fault" : ""
            return "<tr><td>\(key.name)</td><td class=\"\(kind)\">\(text)</td></tr>"
        }
    }
}

extension DecisionWindow.Filter {
    /// Reads the filter of a query; without a valid filter, the page lists everything.
    fileprivate init(_ visit: OperatorPage.Visit) {
        guard let form = try? visit.parameters.get() else { return }
        let value = { (name: String) in (try? form.required(name)) ?? "" }
        (code, target, mvpd, source) = (value("code"), value("target"), value("mvpd"), value("source"))
    }
}

extension DecisionWindow.Row {
    /// The time of day.
    private var clockTime: String { String(time.iso8601.dropFirst(11).dropLast()) }

    fileprivate var html: HTML {
        """
        <tr><td class="time">\(clockTime)</td><td class="\(decision)">\(code)</td><td>\(target)</td><td class="wide">\(mvpd ?? "")</td>\
        <td class="wide">\(source ?? "")</td><td class="number">\(String(latency))</td><td class="wide">\(trace.description)</td></tr>
        """
    }

    fileprivate var json: JSON {
        .object([
            ("time", .string(clockTime)), ("decision", .string(decision)), ("code", .string(code)),
            ("target", .string(target)),
            ("mvpd", .optional(mvpd)), ("source", .optional(source)), ("latency", .string(String(latency))),
            ("trace", .string(trace.description)),
        ])
    }
}

extension Double {
    /// A number for people: without a fraction if it has none.
    fileprivate var shortText: String { self == rounded() && abs(self) < 1e15 ? "\(Int64(self))" : "\(self)" }
}

// MARK: Plots

/// Rates and latencies of the last two minutes, as lines in a field of 119 × 40.
private struct Plots {
    /// The name and the points of each line, as an SVG has them.
    let lines: [(name: String, points: String)]
    /// The present values.
    let texts: [(name: String, text: String)]

    private static let height = 40.0

    init(_ seconds: [DecisionWindow.Second]) {
        let allowed = seconds.map { Double($0.allowed) }
        let refused = seconds.map { Double($0.refused) }
        let usual = seconds.map { Double($0.latency(below: 0.5) ?? 0) }
        let slow = seconds.map { Double($0.latency(below: 0.99) ?? 0) }
        let (rate, latency) = (Self.top(allowed + refused), Self.top(slow))
        lines = [
            ("line-allowed", Self.points(of: allowed, top: rate)),
            ("line-refused", Self.points(of: refused, top: rate)),
            ("line-usual", Self.points(of: usual, top: latency)), ("line-slow", Self.points(of: slow, top: latency)),
        ]
        let last = seconds.last
        let half = last?.latency(below: 0.5).map { "\($0)" } ?? "–"
        let most = last?.latency(below: 0.99).map { "\($0)" } ?? "–"
        texts = [
            ("rates", "\(last?.allowed ?? 0) allowed, \(last?.refused ?? 0) refused; top \(Int(rate))"),
            ("latencies", "p50 ≤ \(half) µs, p99 ≤ \(most) µs; top \(Int(latency))"),
        ]
    }

    var figures: [HTML] {
        [
            figure(
                "Decisions a second, last two minutes",
                index: 0,
                lines: [("line-allowed", "allowed"), ("line-refused", "refused")]
            ),
            figure("Latency, last two minutes", index: 1, lines: [("line-usual", "usual"), ("line-slow", "slow")]),
        ]
    }

    private func figure(_ title: String, index: Int, lines series: [(name: String, kind: String)]) -> HTML {
        let drawn = series.map { name, kind in
            let points = lines.first { $0.name == name }?.points ?? ""
            return "<polyline id=\"\(name)\" class=\"\(kind)\" points=\"\(points)\"/>" as HTML
        }
        return """
            <figure><figcaption>\(title) <output id="\(texts[index].name)">\(texts[index].text)</output></figcaption>
            <svg viewBox="0 0 118 40" preserveAspectRatio="none" role="img" aria-label="\(title)">\(drawn)</svg></figure>
            """
    }

    /// The top of a plot: 1, 2 or 5 and zeros.
    private static func top(_ values: [Double]) -> Double {
        let most = values.max() ?? 0
        var top = 1.0
        for factor in sequence(first: 1.0, next: { $0 < 1e12 ? $0 * 10 : nil }) {
            for step in [1.0, 2.0, 5.0] where top < most { top = step * factor }
        }
        return top
    }

    private static func points(of values: [Double], top: Double) -> String {
        values.enumerated()
            .map { index, value in "\(index),\(((1 - value / top) * height * 10).rounded() / 10)" }
            .joined(separator: " ")
    }
}
