// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
package import Platform
package import PlaybackGate
package import RequestTargets

/// The one edge check. Adapters translate; this decides, in this order:
///
/// 1. The adapter has parsed the target once, and cut grants and token segments out of it.
/// 2. The catalogue matches the path, and the location of an edge may name another entry.
/// 3. The media token is found in its sources.
/// 4. The facts about the player are read, if a start would bind its grants to them.
/// 5. The grants are found, with the URI of the request; other facts are read when a claim needs them.
/// 6. The gate decides by the grants, then by the media token.
package struct EdgeChecker {
    private let gate: Gate
    private let location: EdgeLocation?
    /// The bundle with the profiles that a location may name.
    private let snapshot: EmbeddedChecker.Snapshot?

    /// Creates a checker.
    package init(_ gate: Gate) { self.init(gate, location: nil, of: nil) }

    /// Creates a checker for a location of an edge.
    init(_ gate: Gate, location: EdgeLocation?, of snapshot: EmbeddedChecker.Snapshot?) {
        self.gate = gate
        self.location = location
        self.snapshot = snapshot
    }

    /// Decides about a request as far as is possible without waiting for the store.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - client: The caller, for the log.
    ///   - now: The time of receipt.
    ///   - mediaToken: Finds the media token. An entry may have token sources of its own.
    ///   - report: Makes the report of the request's grants and facts.
    ///   - context: Receives the facts that are found about the request.
    /// - Returns: The decision, or the pending use of a token or grant.
    package func check(
        _ request: borrowing EdgeCheckRequest,
        from client: PlaybackRequest.Client = PlaybackRequest.Client(),
        at now: Timestamp,
        mediaToken: (Catalogue.Finding) -> PresentedToken,
        report: () -> any EdgeReport,
        noting context: inout EdgeCheckContext
    ) -> Gate.Step {
        let match = match(request, noting: &context)
        let presented = mediaToken(match)
        context.tokenSources = presented.sources
        var player: PlaybackRequest.Player?
        var isClear = true
        let mayProve = presented.token != nil && gate.hasStarter
        if case .entry(let entry) = match, entry.hasGrants || mayProve {
            let report = report()
            if presented.token != nil { player = self.player(of: request, report, for: entry) }
            let found = entry.hasGrants ? report.grants() : PresentedGrantTokens()
            if let first = found.first {
                context.grants = PresentedGrants(first: first, others: found.others, of: request, report: report)
                isClear = context.grants != nil
            }
        }
        let playback = PlaybackRequest(
            path: request.target.path,
            method: request.method,
            isPartial: request.isPartial,
            token: presented.token,
            player: player,
            client: client
        )
        // Without a URI in normal form, nobody knows what a grant is presented for.
        guard isClear else { return .decided(gate.refuse(.edgeRequestInvalid, for: playback, at: now)) }
        let fault: DenyCode? = presented.isConflict ? .tokenConflict : nil
        return gate.begin(playback, finding: match, fault: fault, grants: context.grants, at: now)
    }

    /// Returns the facts to which the token of a request, or the grants of its start, may be bound; `nil` if there is none.
    private func player(
        of request: borrowing EdgeCheckRequest,
        _ report: any EdgeReport,
        for entry: Catalogue.Entry
    ) -> PlaybackRequest.Player? {
        let (terms, proof) = (entry.grants, gate.hasStarter ? request.proof(report) : nil)
        guard proof != nil || terms?.bindsPlayers ?? false else { return nil }
        return PlaybackRequest.Player(report, headers: terms?.boundHeaders ?? [], proof: proof)
    }

    /// Finds the entry of a request.
    private func match(
        _ request: borrowing EdgeCheckRequest,
        noting context: inout EdgeCheckContext
    ) -> Catalogue.Finding {
        if request.target.isAmbiguous { return .invalidPath(.notResolved) }
        do throws(MediaPathError) {
            let path = try MediaPath(request.target.path, form: request.form)
            context.path = path
            let found = gate.find(path, host: request.authority?.host)
            guard let location, let snapshot else { return found }
            return location.match(found, by: snapshot)
        } catch { return .invalidPath(error) }
    }
}

/// The findings about a request besides the decision: its grants, its path and the sources of its token.
package struct EdgeCheckContext: Sendable {
    /// The grants that the request presents, for an entry that accepts them; `nil` for none.
    package fileprivate(set) var grants: PresentedGrants?
    /// The path in canonical form; `nil` if it has none.
    fileprivate(set) var path: MediaPath?
    /// The sources that contain the media token, as a bit mask.
    package fileprivate(set) var tokenSources: UInt16 = 0

    /// Creates an empty context.
    package init() {}
}

extension PlaybackRequest.Player {
    /// Reads the facts about a player that grants are bound to.
    ///
    /// - Parameters:
    ///   - names: The names of the header fields that grants are bound to.
    ///   - proof: The proof of possession; `nil` for none.
    package convenience init(_ report: any EdgeReport, headers names: [String], proof: PresentedProof?) {
        var bound: [(name: String, value: String)] = []
        if report.hasHeaders {
            for name in Set(names) {
                for value in report.values(of: name) { bound.append((name: name, value: String(value))) }
            }
        }
        self.init(address: report.clientAddress, headers: bound, proof: proof)
    }
}

extension PresentedGrants {
    /// The grants of a request, with the facts that they may be bound to; `nil` if the URI has no normal form.
    fileprivate convenience init?(
        first: Substring,
        others: [Substring],
        of request: borrowing EdgeCheckRequest,
        report: any EdgeReport
    ) {
        guard let uri = request.uri(report) else { return nil }
        var facts = RequestFacts(uri: uri, method: request.method == .other ? nil : request.method.rawValue[...])
        facts.client = report
        let redirectable = request.canRedirect ? request.target.packages : []
        self.init(facts, first: first, others: others, redirectable: redirectable)
    }
}

extension EdgeCheckRequest {
    /// Returns what the client presents as proof of possession; `nil` for nothing. No edge vouches for a certificate.
    fileprivate func proof(_ report: any EdgeReport) -> PresentedProof? {
        guard report.hasHeaders else { return nil }
        let lines = report.values(of: "dpop").map { $0[...] }
        return lines.isEmpty ? nil : PresentedProof(proofs: lines, method: method.rawValue[...], uri: uri(report))
    }

    /// Returns the URI without tokens; `nil` if it has no normal form.
    package func uri(_ report: any EdgeReport) -> RequestURI? {
        let (text, form) = (target.text(hiding: tokenParameters), form == .resolved ? RequestURI.Form.resolved : .asIs)
        return switch report.origin(authority) {
        case .own(let scheme): RequestURI(text, scheme: scheme, parsed: authority, form: form)
        case .other(let scheme, let authority): RequestURI(text, scheme: scheme, parsed: authority, form: form)
        }
    }
}
