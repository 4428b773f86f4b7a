// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
package import Platform
package import PlaybackGate

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
    private let location: (EdgeLocation, profiles: () -> [GrantProfile])?

    /// Creates a checker.
    package init(_ gate: Gate) { self.init(gate, location: nil) }

    /// Creates a checker for a location of an edge.
    ///
    /// - Parameter location: The location, and the profiles that it may name.
    init(_ gate: Gate, location: (EdgeLocation, profiles: () -> [GrantProfile])?) {
        self.gate = gate
        self.location = location
    }

    /// Matches a request with the catalogue, and reads the credentials and facts that a decision needs.
    ///
    /// - Returns: `nil` if the URI of a request with grants has no normal form, so that nothing can be decided.
    package func subject(of request: borrowing EdgeCheckRequest) -> EdgeCheckSubject? {
        let (path, match) = match(request)
        let presented = request.report.mediaToken(for: match)
        var player: PlaybackRequest.Player?
        var grants: ShownGrants?
        if case .entry(let entry) = match, entry.hasGrants {
            if presented.token != nil, let terms = entry.grants, terms.bindsPlayers {
                player = PlaybackRequest.Player(request.report, headers: terms.boundHeaders)
            }
            let found = request.report.grants()
            if let first = found.first {
                grants = ShownGrants(first, others: found.others, of: request)
                guard grants != nil else { return nil }
            }
        }
        let playback = PlaybackRequest(
            path: request.target.path,
            method: request.method,
            isPartial: request.isPartial,
            token: presented.token,
            player: player,
            client: request.client
        )
        let fault: DenyCode? = presented.isConflict ? .tokenConflict : nil
        return EdgeCheckSubject(
            question: Gate.Question(playback, match, fault: fault, grants: grants),
            path: path,
            host: request.authority?.host,
            tokenSources: presented.sources
        )
    }

    /// Finds the entry of a request, and the path in canonical form; `nil` if it has none.
    private func match(_ request: borrowing EdgeCheckRequest) -> (MediaPath?, Catalogue.Finding) {
        if request.target.isAmbiguous { return (nil, .invalidPath(.notResolved)) }
        do throws(MediaPathError) {
            let path = try MediaPath(request.target.path, form: request.form)
            let found = gate.find(path, host: request.authority?.host)
            guard let (location, profiles) = location else { return (path, found) }
            return (path, location.match(found, by: gate, profiles))
        } catch { return (nil, .invalidPath(error)) }
    }

    /// Decides about a request as far as is possible without waiting for a store.
    package func begin(_ subject: borrowing EdgeCheckSubject, at now: Timestamp) -> Gate.Step {
        gate.begin(subject.question, at: now)
    }
}

/// A request that is ready to be decided. Not copyable: to count all references in it takes longer than some checks do.
package struct EdgeCheckSubject: ~Copyable {
    /// The request, with the match of the catalogue.
    package let question: Gate.Question
    /// The path in canonical form; `nil` if it has none.
    package let path: MediaPath?
    /// The host that the catalogue was asked for.
    package let host: Substring?
    /// The sources that contain the media token, as a bit mask.
    package let tokenSources: UInt16
}

extension PlaybackRequest.Player {
    /// Reads the facts about a player that grants are bound to.
    ///
    /// - Parameter names: The names of the header fields that grants are bound to.
    package convenience init(_ report: any EdgeReport, headers names: [String]) {
        var bound: [(name: String, value: String)] = []
        if report.hasHeaders {
            for name in Set(names) {
                for value in report.values(of: name) { bound.append((name: name, value: String(value))) }
            }
        }
        self.init(address: report.clientAddress, headers: bound)
    }
}

extension ShownGrants {
    /// The grants of a request, with the facts that they may be bound to; `nil` if the URI has no normal form.
    fileprivate convenience init?(_ first: Substring, others: [Substring], of request: borrowing EdgeCheckRequest) {
        guard let uri = request.uri else { return nil }
        var facts = RequestFacts(uri: uri, method: request.method == .other ? nil : request.method.rawValue[...])
        facts.client = request.report
        if request.report.hasHeaders { facts.headers = request.report }
        let redirectable = request.canRedirect ? request.target.packages : []
        self.init(facts, first: first, others: others, redirectable: redirectable)
    }
}

extension EdgeCheckRequest {
    /// The URI without tokens; `nil` if it has no normal form.
    package var uri: RequestURI? {
        let origin = report.origin(authority)
        return RequestURI(
            target.withoutTokens,
            scheme: origin.scheme,
            parsed: origin.authority,
            form: form == .resolved ? .resolved : .asIs
        )
    }
}
