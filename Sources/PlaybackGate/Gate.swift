// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
public import MediaTokens
public import Platform

/// Decides about playbacks: catalogue, verification, policies and consumption of the token, in this order.
///
/// A gate is immutable. Share it among any number of threads, and create a new one for a new configuration. All gates of a
/// service share the replay store.
///
/// ```swift
/// let gate = Gate(catalogue: catalogue, verifier: verifier, store: MemoryReplayStore())
/// switch await gate.decide(PlaybackRequest(.media("tnt-live"), token: token), at: .now()) {
/// case .allow(let allowance): release(allowance)
/// case .refuse(let refusal): answer(refusal.code, refusal.action)
/// }
/// ```
public final class Gate: Sendable {
    /// The catalogue of protected and unprotected media.
    public let catalogue: Catalogue
    /// The verifier of tokens.
    public let verifier: Verifier
    /// The requirements beyond a valid token.
    public let policies: [PlaybackPolicy]
    /// The replay store.
    public let store: any ReplayStore
    /// The rules for consumption and refusals.
    public let rules: Rules

    private let observer: any DecisionObserver
    private let localStore: (any LocalReplayStore)?

    /// The rules for consumption and refusals.
    public struct Rules: Hashable, Sendable {
        /// The number of times that a token may be consumed, from 1 to 16. Values above 1 are only for issuers that give two
        /// viewers one token within a second.
        public var maximumUses: Int
        /// The time limit of a replay store operation.
        public var storeDeadline: Duration
        /// True if a playback may start when the replay store does not answer. Tokens can then be consumed again.
        public var allowsUnknownUse: Bool
        /// True if refusals are only counted and logged, and the requests are allowed. Unclear requests and those from
        /// untrusted peers are refused nevertheless.
        public var isShadow: Bool

        /// Creates rules; strict by default.
        public init(
            maximumUses: Int = 1,
            storeDeadline: Duration = .milliseconds(250),
            allowsUnknownUse: Bool = false,
            isShadow: Bool = false
        ) {
            self.maximumUses = maximumUses
            self.storeDeadline = storeDeadline
            self.allowsUnknownUse = allowsUnknownUse
            self.isShadow = isShadow
        }
    }

    /// Creates a gate.
    public init(
        catalogue: Catalogue,
        verifier: Verifier,
        policies: [PlaybackPolicy] = [],
        store: any ReplayStore,
        rules: Rules = Rules(),
        observer: any DecisionObserver = NoObserver()
    ) {
        self.catalogue = catalogue
        self.verifier = verifier
        self.policies = policies
        self.store = store
        self.rules = rules
        self.observer = observer
        localStore = store as? any LocalReplayStore
    }

    // MARK: Deciding

    /// Decides whether a playback may start, and consumes the token if it may.
    ///
    /// - Parameters:
    ///   - request: The media to play, and the token.
    ///   - now: The time of receipt.
    public func decide(_ request: PlaybackRequest, at now: Timestamp) async -> Decision {
        switch begin(request, at: now) {
        case .decided(let decision): decision
        case .pending(let use): await complete(use)
        }
    }

    /// Decides as far as is possible without waiting: catalogue, verification, policies, and a store in memory.
    ///
    /// Only ``complete(_:)`` consumes the token of a pending use.
    ///
    /// - Parameters:
    ///   - request: The media, the token and the client.
    ///   - now: The time of receipt.
    public func begin(_ request: PlaybackRequest, at now: Timestamp) -> Step {
        begin(Question(request, catalogue.find(request.target, host: request.host)), at: now)
    }

    /// The result of the first of two steps of a decision.
    public enum Step: Sendable {
        /// The decision.
        case decided(Decision)
        /// Everything has passed but the replay store, which has to be waited for: see ``Gate/complete(_:)``.
        case pending(PendingUse)
    }

    /// A request that has passed catalogue, verification and policies, and waits for the replay store.
    ///
    /// A class, so that a decision without one stays small.
    public final class PendingUse: Sendable {
        fileprivate let request: PlaybackRequest
        fileprivate let examined: ExaminedUse
        fileprivate let now: Timestamp
        fileprivate let start: ContinuousClock.Instant

        fileprivate init(
            _ request: PlaybackRequest,
            _ examined: ExaminedUse,
            _ now: Timestamp,
            _ start: ContinuousClock.Instant
        ) {
            self.request = request
            self.examined = examined
            self.now = now
            self.start = start
        }
    }

    /// A request, and the facts that were found about it before.
    package struct Question: Sendable {
        package let request: PlaybackRequest
        /// The result of the catalogue lookup.
        let finding: Catalogue.Finding
        /// The fault of the presented credentials, if one is known.
        let fault: DenyCode?

        package init(_ request: PlaybackRequest, _ finding: Catalogue.Finding, fault: DenyCode? = nil) {
            self.request = request
            self.finding = finding
            self.fault = fault
        }
    }

    package func begin(_ question: Question, at now: Timestamp) -> Step {
        let start = ContinuousClock.now
        switch examine(question, at: now) {
        case .decided(let decision): return .decided(finish(decision, question.request, now, start))
        case .use(let examined):
            guard let localStore else { return .pending(PendingUse(question.request, examined, now, start)) }
            let decision = decision(examined.outcome(localStore, now), examined.subject)
            return .decided(finish(decision, question.request, now, start))
        }
    }

    /// Asks the replay store, and decides. Call it once for a pending use, on the gate that began it.
    ///
    /// Waits for at most ``Rules/storeDeadline``.
    public func complete(_ pending: PendingUse) async -> Decision {
        let asked = ContinuousClock.now
        let (examined, now) = (pending.examined, pending.now)
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> UseOutcome? in
            examined.isConsumed
                ? try? await store.record(examined.use, at: now) : try? await store.examine(examined.use, at: now)
        }
        return finish(decision(answer ?? nil, examined.subject), pending.request, now, pending.start, asked: asked)
    }

    /// Refuses a request that cannot be decided: the peer is untrusted, or the request is unclear.
    package func refuse(_ code: DenyCode, _ request: PlaybackRequest, at now: Timestamp) -> Decision {
        let refusal = Decision.refuse(Decision.Refusal(code: code, subject: .nothing))
        return finish(refusal, request, now, ContinuousClock.now)
    }

    // MARK: The steps

    private enum Examination {
        case decided(Decision)
        case use(ExaminedUse)
    }

    /// The use of a token that has passed all checks but the replay store's.
    fileprivate struct ExaminedUse: Sendable {
        let use: TokenUse
        let subject: Decision.Subject
        /// True if the token is consumed; false if it is only looked up among the revocations.
        let isConsumed: Bool

        func outcome(_ store: any LocalReplayStore, _ now: Timestamp) -> UseOutcome {
            isConsumed ? store.recordNow(use, at: now) : store.examineNow(use, at: now)
        }
    }

    /// Runs all steps except the replay store. Records nothing.
    private func examine(_ question: borrowing Question, at now: Timestamp) -> Examination {
        let request = question.request
        let entry: Catalogue.Entry
        switch question.finding {
        case .entry(let found): entry = found
        case .unknown: return .decided(refusal(.unknownMedia, .nothing))
        case .invalidPath: return .decided(refusal(.invalidPath, .nothing))
        case .hostMissing: return .decided(refusal(.hostMissing, .nothing))
        }
        let subject = Decision.Subject(entry: entry, token: nil)
        guard entry.permits(request.method) else { return .decided(refusal(.methodNotPermitted, subject)) }
        if case .none = entry.protection {
            return .decided(.allow(Decision.Allowance(reason: .unprotected, subject: subject)))
        }
        if let fault = question.fault { return .decided(refusal(fault, subject)) }
        guard let token = request.token, !token.isEmpty else { return .decided(refusal(.tokenMissing, subject)) }
        guard case .resource(let resource, let requestor) = entry.protection else {
            return .decided(refusal(.token(.resourceMismatch), subject))
        }
        // A partial request must not consume the token of the playback, and must not fetch the media without consuming it.
        if request.isPartial, entry.consumesToken(of: request) {
            return .decided(refusal(.rangeNotPermitted, subject))
        }
        switch verifier.verify(token.utf8.span, for: resource, requestor: requestor, at: now) {
        case .refused(let refused):
            return .decided(refusal(.token(refused.reason), Decision.Subject(entry: entry, token: refused.token)))
        case .valid(let token, _):
            let subject = Decision.Subject(entry: entry, token: token)
            for policy in policies {
                if let code = policy.refusal(token, resource) { return .decided(refusal(code, subject)) }
            }
            let use = TokenUse(
                token,
                maximumUses: rules.maximumUses,
                playbackID: request.playbackID,
                media: request.target.playedName
            )
            return .use(ExaminedUse(use: use, subject: subject, isConsumed: entry.consumesToken(of: request)))
        }
    }

    /// Maps the outcome of the store to a decision; `nil` means that the store did not answer.
    private func decision(_ outcome: UseOutcome?, _ subject: Decision.Subject) -> Decision {
        switch outcome {
        case .recorded: .allow(Decision.Allowance(reason: .verified, subject: subject))
        case .notRevoked:
            .allow(Decision.Allowance(reason: subject.entry?.use == .once ? .probe : .withinTTL, subject: subject))
        case .repeated: .allow(Decision.Allowance(reason: .repeated, subject: subject))
        case .usedUp: refusal(.tokenAlreadyUsed, subject)
        case .revoked(.token): refusal(.tokenRevoked, subject)
        case .revoked(.session): refusal(.sessionRevoked, subject)
        case .revoked(.mvpd): refusal(.mvpdRevoked, subject)
        // Revokes grants: no store answers so for a media token.
        case .revoked(.playback): refusal(.tokenRevoked, subject)
        case .full: refusal(.replayStoreFull, subject)
        case nil:
            rules.allowsUnknownUse
                ? .allow(Decision.Allowance(reason: .useUnknown, subject: subject))
                : refusal(.replayStoreUnavailable, subject)
        }
    }

    private func refusal(_ code: DenyCode, _ subject: Decision.Subject) -> Decision {
        if rules.isShadow || subject.entry?.isShadow ?? false {
            return .allow(Decision.Allowance(reason: .shadow(code), subject: subject))
        }
        return .refuse(Decision.Refusal(code: code, subject: subject))
    }

    private func finish(
        _ decision: Decision,
        _ request: PlaybackRequest,
        _ now: Timestamp,
        _ start: ContinuousClock.Instant,
        asked: ContinuousClock.Instant? = nil
    ) -> Decision {
        let end = ContinuousClock.now
        observer.observe(
            DecisionEvent(
                target: request.target,
                client: request.client,
                decision: decision,
                time: now,
                latency: end - start,
                storeLatency: asked.map { end - $0 }
            )
        )
        return decision
    }
}

extension Catalogue.Entry {
    /// True if the request consumes its token: the entry takes a token once, and the method starts a playback.
    fileprivate func consumesToken(of request: PlaybackRequest) -> Bool { use == .once && !request.method.isProbe }
}

extension Gate {
    /// Records a revocation within the deadline of the store.
    public func record(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.revoke(revocation, at: now)
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, "the store did not answer in time") }
        try answer.get()
    }

    /// Checks within the deadline of the store that it can record uses.
    public func checkStore() async throws(ReplayStoreError) {
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.check()
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, "the store did not answer in time") }
        try answer.get()
    }
}
