// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import MediaResources
internal import MediaTokens
package import Platform
internal import Synchronization

/// A gate by a policy: it decides what needs no store, and tells what only the service can decide.
///
/// The policy is replaced while checks are under way. Its locks do not survive a fork.
package final class PolicyEngine: Sendable {
    private let snapshot: Mutex<Snapshot>
    /// The number of the snapshot.
    private let number: Atomic<UInt64>
    private let rejections = RejectionList()

    private static let numbers = Atomic<UInt64>(0)

    /// A policy in force. Checks that began with one end with it.
    final class Snapshot: Sendable {
        let number = PolicyEngine.numbers.add(1, ordering: .relaxed).newValue
        let policy: PolicyDocument
        let gate: Gate
        /// The time from which on the policy is too old, in Unix milliseconds.
        let freshUntil: Atomic<Int64>

        init(_ policy: PolicyDocument, _ gate: Gate, freshUntil: Int64? = nil) {
            self.policy = policy
            self.gate = gate
            let end = policy.issued.advanced(byMilliseconds: policy.goodFor.milliseconds).millisecondsSince1970
            self.freshUntil = Atomic(max(end, freshUntil ?? end))
        }
    }

    /// Creates an engine.
    package init(_ policy: PolicyDocument) throws(PolicyFault) {
        let first = Snapshot(policy, try policy.gate(rejections: rejections))
        snapshot = Mutex(first)
        number = Atomic(first.number)
    }

    private var current: Snapshot { snapshot.withLock { $0 } }

    /// The policy in force.
    package var policy: PolicyDocument { current.policy }

    /// A number that changes with the policy and with each part of it.
    package var generation: UInt64 { number.load(ordering: .acquiring) }

    /// The time from which on the policy in force is too old.
    package var freshUntil: Timestamp {
        Timestamp(millisecondsSince1970: current.freshUntil.load(ordering: .relaxed))
    }

    // MARK: Replacing

    /// Replaces the policy. Returns false if the one in force is newer.
    package func replace(with policy: PolicyDocument) throws(PolicyFault) -> Bool {
        guard policy.issued >= current.policy.issued else { return false }
        return adopt(Snapshot(policy, try policy.gate(rejections: rejections)))
    }

    /// Replaces parts of the policy.
    package func update(_ bytes: Span<UInt8>, at now: Timestamp) throws(PolicyFault) {
        let present = current
        let (policy, isRevocationsAlone) = try present.policy.updated(by: bytes, at: now)
        guard isRevocationsAlone else {
            _ = adopt(Snapshot(policy, try policy.gate(rejections: rejections)))
            return
        }
        // A revocation is never taken back, so the gate keeps those that it knows, with its caches.
        (present.gate.store as? PolicyStore)?.add(policy.revocations)
        _ = adopt(Snapshot(policy, present.gate))
    }

    /// Makes a snapshot the one in force, unless a newer policy came meanwhile.
    private func adopt(_ next: Snapshot) -> Bool {
        snapshot.withLock { snapshot in
            guard next.policy.issued >= snapshot.policy.issued else { return false }
            snapshot = next
            number.store(next.number, ordering: .releasing)
            return true
        }
    }

    /// Notes that the service has confirmed the policy at `now`.
    package func confirm(at now: Timestamp) {
        let present = current
        let end = now.advanced(byMilliseconds: present.policy.goodFor.milliseconds).millisecondsSince1970
        present.freshUntil.max(end, ordering: .relaxed)
    }

    // MARK: Checking

    /// Decides about a request, as far as that needs no store.
    ///
    /// - Parameters:
    ///   - question: The request.
    ///   - place: The settings of the location; `nil` if the catalogue finds the entry by path.
    ///   - now: The time of receipt.
    package func check(_ question: EdgeQuestion, _ place: PolicyPlace? = nil, at now: Timestamp) -> PolicyAnswer {
        let snapshot = current
        guard now.millisecondsSince1970 < snapshot.freshUntil.load(ordering: .relaxed) else {
            return PolicyAnswer(outcome: .ask(.stale), generation: snapshot.number)
        }
        do throws(Asked.Fault) {
            return answer(try Asked.read(question, place, snapshot), place, snapshot, isKept: question.isKept, at: now)
        } catch {
            let refusal = Decision.Refusal(code: error.code, subject: .nothing)
            return PolicyAnswer(outcome: .decided(.refuse(refusal)), generation: snapshot.number)
        }
    }

    private func answer(
        _ asked: borrowing Asked,
        _ place: PolicyPlace?,
        _ snapshot: Snapshot,
        isKept: Bool,
        at now: Timestamp
    ) -> PolicyAnswer {
        func answer(_ outcome: PolicyAnswer.Outcome) -> PolicyAnswer {
            PolicyAnswer(outcome: outcome, generation: snapshot.number)
        }
        switch snapshot.gate.begin(asked.question, at: now) {
        case .pending(let use): return answer(.ask(PolicyAnswer.Reason(use.reason)))
        case .decided(let decision):
            guard !decision.issuesGrants else { return answer(.ask(.start)) }
            let grant = decision.acceptedGrant
            var found = answer(.decided(decision))
            found.isRenewalDue =
                asked.question.request.method.isRenewing && grant?.renewalStart.map { $0 <= now } ?? false
            if isKept, let end = snapshot.gate.lastReuse(of: decision, asked.question, at: now), end >= now {
                let freshUntil = snapshot.freshUntil.load(ordering: .relaxed)
                found.goodUntil = min(end, Timestamp(millisecondsSince1970: freshUntil - 1))
                let isUniform = asked.isUniform(place, snapshot) && grant?.isUniform(around: asked.normalPath) ?? true
                found.scope = isUniform ? .folder : .target
            }
            return found
        }
    }
}

/// A question to the gate, and what was found out about its target. Not copyable: to count all references in it takes longer than
/// some checks do.
private struct Asked: ~Copyable {
    let question: Gate.Question
    /// The path that the catalogue was asked for; `nil` if it is invalid.
    let path: MediaPath?
    /// The host that the catalogue was asked for.
    let host: Substring?

    /// The path in normal form, for the grants that were shown; empty without one.
    var normalPath: Substring { question.grants?.facts.uri.path ?? "" }

    /// A request that cannot be decided.
    struct Fault: Error {
        let code: DenyCode
    }

    /// Reads a request, in the order in which the service does. No initializer, which would copy what it is given.
    static func read(
        _ edge: EdgeQuestion,
        _ place: PolicyPlace?,
        _ snapshot: PolicyEngine.Snapshot
    ) throws(Fault) -> Asked {
        let invalid = Fault(code: .edgeRequestInvalid)
        guard let method = edge.parsedMethod, let target = OriginalTarget(edge.target) else { throw invalid }
        let authority = edge.host.isEmpty ? nil : URIAuthority(edge.host)
        guard authority != nil || edge.host.isEmpty else { throw invalid }
        let host = authority?.host
        let (path, finding) = find(edge, target, host, place, snapshot)
        let fault: DenyCode? = edge.hasTokenConflict ? .tokenConflict : nil
        var player: PlaybackRequest.Player?
        var takesGrants = false
        if case .entry(let entry) = finding {
            takesGrants = entry.hasGrants
            if takesGrants, edge.token != nil, let terms = entry.grants, terms.bindsPlayers {
                player = edge.player(terms.boundHeaders)
                guard player != nil else { throw invalid }
            }
        }
        var grants: ShownGrants?
        if takesGrants, let first = edge.grant {
            grants = edge.shownGrants(first: first, target, authority, method)
            guard grants != nil else { throw invalid }
        }
        return Asked(
            question: Gate.Question(request(edge, target, method, player), finding, fault: fault, grants: grants),
            path: path,
            host: host
        )
    }

    private static func request(
        _ edge: EdgeQuestion,
        _ target: OriginalTarget,
        _ method: PlaybackRequest.Method,
        _ player: PlaybackRequest.Player?
    ) -> PlaybackRequest {
        PlaybackRequest(target.path, method: method, isPartial: edge.isPartial, token: edge.token, player: player)
    }

    /// Finds the entry of a request.
    private static func find(
        _ edge: EdgeQuestion,
        _ target: OriginalTarget,
        _ host: Substring?,
        _ place: PolicyPlace?,
        _ snapshot: PolicyEngine.Snapshot
    ) -> (MediaPath?, Catalogue.Finding) {
        if edge.isAmbiguous { return (nil, .invalidPath(.notResolved)) }
        do throws(MediaPathError) {
            let path = try MediaPath(target.path, form: edge.isAsIs ? .asIs : .resolved)
            let found = snapshot.gate.find(path, host: host)
            return (path, place?.finding(found, snapshot) ?? found)
        } catch { return (nil, .invalidPath(error)) }
    }

    /// True if one entry decides about all files of the folder. Only answers that may be used again need it.
    func isUniform(_ place: PolicyPlace?, _ snapshot: PolicyEngine.Snapshot) -> Bool {
        if let place, place.isUniform { return true }
        guard let path else { return false }
        return snapshot.gate.isUniform(around: path, host: host)
    }
}

extension PolicyAnswer.Reason {
    fileprivate init(_ reason: Gate.PendingUse.Reason) {
        switch reason {
        case .token: self = .use
        case .grant: self = .grantUse
        case .stream: self = .stream
        }
    }
}

extension Decision {
    /// True if a media token starts a playback whose grants only the service can issue.
    fileprivate var issuesGrants: Bool {
        guard case .allow(let allowance) = self else { return false }
        switch allowance.reason {
        case .verified, .repeated, .withinTTL, .useUnknown:
            return allowance.subject.entry?.grants?.profiles.contains(where: \.isIssued) ?? false
        case .unprotected, .probe, .granted, .renewed, .shadow: return false
        }
    }
}
