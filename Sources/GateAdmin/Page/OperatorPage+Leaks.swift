// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import GateAPI
internal import NIOHTTP1
internal import Platform
internal import SharedGrants

// The playbacks whose grant more than one hold, with a picture of what their grants have fetched.

extension OperatorPage {
    private struct LeaksView {
        var isEmpty = false
        var leaks: [Row] = []
        /// The edges that decide by themselves and do not report.
        var silentEdges: [String] = []

        struct Row {
            let session: String
            let state: String
            /// The class of the state.
            let kind: String
            let profile: String
            let evidence: String
            let suspected: String
            let picture: Picture?
        }

        /// Segments (upwards) against time, a dot for each request, a colour for each grant.
        struct Picture {
            let title: String
            let dots: [Dot]
        }

        struct Dot {
            let x: String
            let y: String
            let kind: String
        }
    }

    /// The most playbacks on the page, and the colours of grants.
    private static let (maximumLeaks, colours) = (50, 6)

    func leaksPage(_ visit: Visit) -> APIAnswer {
        let leaks = leaks.leaks(at: visit.time).prefix(Self.maximumLeaks)
        let silentEdges = edges.present(at: visit.time).filter { !$0.reports }.map(\.edge.caller)
        let view = LeaksView(isEmpty: leaks.isEmpty, leaks: leaks.map(Self.row), silentEdges: silentEdges)
        return page(.leaks, title: "Shared grants", content: view, for: visit, at: "/ui/leaks")
    }

    private static func row(_ leak: Leak) -> LeaksView.Row {
        let state = leak.isRevoked ? "proven, revoked" : leak.proven == nil ? "suspected" : "proven"
        return LeaksView.Row(
            session: leak.session.hexadecimal,
            state: state,
            kind: leak.proven == nil ? "shadow" : "fault",
            profile: leak.profile,
            evidence: leak.evidence == .forks
                ? "\(leak.grants) grants in use, \(leak.returns) returns"
                : "\(leak.generations) generations with two renewals",
            suspected: leak.suspected.iso8601,
            picture: picture(of: leak)
        )
    }

    private static func picture(of leak: Leak) -> LeaksView.Picture? {
        let uses = leak.uses.onMainTrack
        guard let first = uses.first, let last = uses.last, let low = uses.map(\.index).min(),
            let high = uses.map(\.index).max()
        else { return nil }
        let duration = max(1, last.time.millisecondsSince1970 - first.time.millisecondsSince1970)
        let dots = uses.map { use in
            let (time, index) = (
                use.time.millisecondsSince1970 - first.time.millisecondsSince1970, Int64(use.index - low)
            )
            return LeaksView.Dot(
                x: "\(4 + 592 * time / duration)",
                y: "\(116 - 112 * index / max(1, Int64(high - low)))",
                kind: "grant\(use.grant % colours)"
            )
        }
        return LeaksView.Picture(
            title: "Segments \(low) to \(high) in \(duration / 1000) seconds, a colour for each grant",
            dots: dots
        )
    }
}
