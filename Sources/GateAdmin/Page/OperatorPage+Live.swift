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

    private struct DecisionsView {
        let time: String
        let figures: [Plots.Figure]
        let codes: [Code]
        let filter: DecisionWindow.Filter
        let newest: String
        let rows: [DecisionRow]
        let texts: [StateText]
        let keys: [KeyRow]

        struct Code {
            let code: String
            let isSelected: Bool
        }

        struct KeyRow {
            let name: String
            let end: String
            let isLate: Bool
        }
    }

    /// A line of the section State.
    private struct StateText {
        let name: String
        let title: String
        let text: String

        init(_ name: String, title: String, text: String) {
            (self.name, self.title, self.text) = (name, title, text)
        }
    }

    func livePage(_ visit: Visit) async -> APIAnswer {
        let filter = DecisionWindow.Filter(visit)
        let (newest, rows) = window.rows(after: 0, filter, limit: Self.most)
        let view = DecisionsView(
            time: visit.time.iso8601,
            figures: Plots(window.history(at: visit.time)).figures,
            codes: Self.codes.map { .init(code: $0, isSelected: $0 == filter.code) },
            filter: filter,
            newest: String(newest),
            rows: rows.map { DecisionRow($0) },
            texts: await texts(visit),
            keys: keys(visit)
        )
        return page(.decisions, title: "Decisions", content: view, for: visit, at: "/ui", hasScript: true)
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
                ("newest", .number(Int64(clamping: newest))),
                ("decisions", .array(rows.map { DecisionRow($0).json })),
                ("plots", .object(plots.lines.map { ($0.name, .string($0.points)) })), ("texts", .object(texts)),
            ]),
            trace: nil
        )
    }

    /// The codes of decisions, for the filter.
    private static let codes =
        ["granted", "verified", "within_ttl", "unprotected", "repeated", "probe", "renewed"]
        + DenyCode.allCases.map(\.rawValue).sorted()

    // MARK: State

    /// The lines of the section State.
    private func texts(_ visit: Visit) async -> [StateText] {
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
            .init("faults", title: "Ready", text: faults.isEmpty ? "yes" : faults.joined(separator: "; ")),
            .init("version", title: "Version", text: GateVersion.current),
            .init("store", title: "Store", text: ([gate.store.name] + store).joined(separator: ", ")),
            .init("catalogue", title: "Catalogue", text: "\(gate.catalogue.count) entries, read \(age) s ago"),
            .init(
                "reloads",
                title: "Reloads",
                text: (["\(reloads.succeeded) succeeded, \(reloads.failed) failed"] + rejected).joined(separator: "; ")
            ),
            .init(
                "revocations",
                title: "Revocations of grants",
                text: revocationCache.map { "\($0.count) known" } ?? "none: the gate issues no grants"
            ),
            .init("cache", title: "Cache of grants", text: cache ?? "none: the gate issues no grants"),
            .init("flight", title: "In flight", text: "\(gauges.inFlight.inFlight)"),
        ]
    }

    private func keys(_ visit: Visit) -> [DecisionsView.KeyRow] {
        visit.snapshot.gate.verifier.trust.keys.map { key in
            let end = key.validity?.upperBound
            let left = end.map { ($0.millisecondsSince1970 - visit.time.millisecondsSince1970) / 86_400_000 }
            return DecisionsView.KeyRow(
                name: key.name,
                end: end.map { "\($0.iso8601) (\(left ?? 0) days)" } ?? "always",
                isLate: left.map { $0 < 30 } ?? false
            )
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

/// A decision in the table.
private struct DecisionRow {
    /// The time of day.
    let time: String
    let decision: String
    let code: String
    let target: String
    let mvpd: String
    let source: String
    let latency: String
    let trace: String

    init(_ row: DecisionWindow.Row) {
        time = String(row.time.iso8601.dropFirst(11).dropLast())
        (decision, code, target) = (row.decision, row.code, row.target)
        (mvpd, source) = (row.mvpd ?? "", row.source ?? "")
        (latency, trace) = (String(row.latency), row.trace.description)
    }

    /// The same for the script.
    var json: JSON {
        .object([
            ("time", .string(time)), ("decision", .string(decision)), ("code", .string(code)),
            ("target", .string(target)), ("mvpd", .string(mvpd)), ("source", .string(source)),
            ("latency", .string(latency)), ("trace", .string(trace)),
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

    /// A plot with its present value.
    struct Figure {
        let title: String
        let name: String
        let text: String
        let lines: [Line]
    }

    struct Line {
        let name: String
        let kind: String
        let points: String
    }

    var figures: [Figure] {
        [
            figure(
                "Decisions a second, last two minutes",
                index: 0,
                lines: [("line-allowed", "allowed"), ("line-refused", "refused")]
            ),
            figure("Latency, last two minutes", index: 1, lines: [("line-usual", "usual"), ("line-slow", "slow")]),
        ]
    }

    private func figure(_ title: String, index: Int, lines series: [(name: String, kind: String)]) -> Figure {
        let drawn = series.map { name, kind in
            Line(name: name, kind: kind, points: lines.first { $0.name == name }?.points ?? "")
        }
        return Figure(title: title, name: texts[index].name, text: texts[index].text, lines: drawn)
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
