// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import MediaTokens
package import Platform
package import PlaybackGate
internal import Synchronization

/// A gate by a policy: it decides without a store, and reports requests that only the service can decide.
///
/// The policy is replaced while checks are under way. Its locks do not survive a fork.
package final class EmbeddedChecker: Sendable {
    private let snapshot: Mutex<Snapshot>
    /// The number of the snapshot.
    private let number: Atomic<UInt64>
    private let rejections = RejectionList()

    private static let numbers = Atomic<UInt64>(0)

    /// A policy in force. Checks that began with one end with it.
    final class Snapshot: Sendable {
        let number = EmbeddedChecker.numbers.add(1, ordering: .relaxed).newValue
        let policy: EdgeBundle
        let gate: Gate
        /// The time from which on the policy is too old, in Unix milliseconds.
        let freshUntil: Atomic<Int64>

        init(policy: EdgeBundle, gate: Gate, freshUntil: Int64? = nil) {
            self.policy = policy
            self.gate = gate
            let end = policy.issued.advanced(byMilliseconds: policy.goodFor.milliseconds).millisecondsSince1970
            self.freshUntil = Atomic(max(end, freshUntil ?? end))
        }
    }

    /// Creates an engine.
    package init(_ policy: EdgeBundle) throws(EdgeBundleError) {
        let first = Snapshot(policy: policy, gate: try policy.gate(rejections: rejections))
        snapshot = Mutex(first)
        number = Atomic(first.number)
    }

    private var current: Snapshot { snapshot.withLock { $0 } }

    /// The policy in force.
    package var policy: EdgeBundle { current.policy }

    /// A number that changes with the policy and with each part of it.
    package var generation: UInt64 { number.load(ordering: .acquiring) }

    /// The time from which on the policy in force is too old.
    package var freshUntil: Timestamp {
        Timestamp(millisecondsSince1970: current.freshUntil.load(ordering: .relaxed))
    }

    // MARK: Replacing

    /// Replaces the policy. Returns false if the one in force is newer.
    package func replace(with policy: EdgeBundle) throws(EdgeBundleError) -> Bool {
        guard policy.issued >= current.policy.issued else { return false }
        return adopt(Snapshot(policy: policy, gate: try policy.gate(rejections: rejections)))
    }

    /// Replaces parts of the policy.
    package func update(_ bytes: Span<UInt8>, at now: Timestamp) throws(EdgeBundleError) {
        let present = current
        let (policy, hasOnlyRevocations) = try present.policy.updated(by: bytes, at: now)
        guard hasOnlyRevocations else {
            _ = adopt(Snapshot(policy: policy, gate: try policy.gate(rejections: rejections)))
            return
        }
        // A revocation is never withdrawn, so the gate retains its known ones, with its caches.
        (present.gate.store as? PolicyStore)?.add(policy.revocations)
        _ = adopt(Snapshot(policy: policy, gate: present.gate))
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
    ///   - request: The request.
    ///   - location: The location of the edge; `nil` if the catalogue finds the entry by path.
    ///   - isReusable: True if the caller reuses answers for other requests.
    ///   - now: The time of receipt.
    ///   - mediaToken: Finds the media token.
    ///   - report: Makes the report of the request's grants and facts.
    package func check(
        _ request: borrowing EdgeCheckRequest,
        in location: EdgeLocation? = nil,
        isReusable: Bool = true,
        at now: Timestamp,
        mediaToken: (Catalogue.Finding) -> PresentedToken,
        report: () -> any EdgeReport
    ) -> EmbeddedCheck {
        let snapshot = current
        guard snapshot.isFresh(at: now) else { return EmbeddedCheck(.ask(.stale), generation: snapshot.number) }
        let checker = EdgeChecker(snapshot.gate, location: location, of: snapshot)
        var context = EdgeCheckContext()
        switch checker.check(request, at: now, mediaToken: mediaToken, report: report, noting: &context) {
        case .pending(let use):
            return EmbeddedCheck(.ask(EmbeddedCheck.Reason(use.reason)), generation: snapshot.number)
        case .decided(let decision):
            if decision.issuesGrants { return EmbeddedCheck(.ask(.start), generation: snapshot.number) }
            let reuse =
                isReusable
                ? snapshot.reuse(of: decision, request: request, context: context, in: location, at: now) : nil
            return EmbeddedCheck(
                .decided(decision),
                generation: snapshot.number,
                goodUntil: reuse?.last,
                scope: reuse?.scope ?? .request,
                isRenewalDue: request.method.isRenewing && decision.isRenewalDue(at: now)
            )
        }
    }

    /// Refuses a request whose target, method or host cannot be read.
    package func refuseUnreadable(at now: Timestamp) -> EmbeddedCheck {
        let snapshot = current
        return snapshot.isFresh(at: now) ? snapshot.refusal : EmbeddedCheck(.ask(.stale), generation: snapshot.number)
    }
}

extension EmbeddedChecker.Snapshot {
    /// True if the bundle is not too old to decide by.
    fileprivate func isFresh(at now: Timestamp) -> Bool {
        now.millisecondsSince1970 < freshUntil.load(ordering: .relaxed)
    }

    /// Returns the time and the requests for which an answer is valid, at most while the bundle is recent. `nil` for
    /// this request only.
    fileprivate func reuse(
        of decision: Decision,
        request: borrowing EdgeCheckRequest,
        context: EdgeCheckContext,
        in location: EdgeLocation?,
        at now: Timestamp
    ) -> (last: Timestamp, scope: AnswerReuse.Scope)? {
        guard let reuse = AnswerReuse.of(decision, hasGrants: context.grants != nil, by: gate, at: now) else {
            return nil
        }
        let isOneEntry = location?.isOneEntry ?? false
        let recent = Timestamp(millisecondsSince1970: freshUntil.load(ordering: .relaxed) - 1)
        let scope = AnswerReuse.scope(of: decision, request: request, in: context, isOneEntry: isOneEntry, by: gate)
        return (min(reuse.last, recent), scope)
    }

    /// The refusal of a request that cannot be read.
    fileprivate var refusal: EmbeddedCheck {
        let refusal = Decision.Refusal(code: .edgeRequestInvalid, subject: .nothing)
        return EmbeddedCheck(.decided(.refuse(refusal)), generation: number)
    }
}

extension EmbeddedCheck.Reason {
    fileprivate init(_ reason: Gate.PendingUse.Reason) {
        switch reason {
        case .token: self = .use
        case .grant: self = .grantUse
        case .stream: self = .stream
        }
    }
}

extension Decision {
    /// True if the grant that allowed the request is due to be renewed.
    fileprivate func isRenewalDue(at now: Timestamp) -> Bool {
        acceptedGrant?.renewalStart.map { $0 <= now } ?? false
    }

    /// True if a media token starts a playback whose grants only the service can issue.
    fileprivate var issuesGrants: Bool {
        guard case .allow(let allowance) = self, allowance.subject.entry?.licence == nil else { return false }
        switch allowance.reason {
        case .verified, .repeated, .withinTTL, .useUnknown:
            return allowance.subject.entry?.grants?.profiles.contains(where: \.isIssued) ?? false
        case .unprotected, .probe, .granted, .renewed, .shadow: return false
        }
    }
}
