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
    /// The issue and check of grants; `nil` for a gate without them.
    public let grants: GrantAuthority?

    let observer: any DecisionObserver
    private let localStore: (any LocalReplayStore)?
    /// The store as one that can tell what is revoked, and nothing else, at once; `nil` if it is none.
    private let examiner: (any RevocationExaminer)?
    /// The store as one for grants; `nil` if it is none, so that limits and uses of grants refuse.
    let grantStore: (any GrantStore)?

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
        grants: GrantAuthority? = nil,
        observer: any DecisionObserver = NoObserver()
    ) {
        self.catalogue = catalogue
        self.verifier = verifier
        self.policies = policies
        self.store = store
        self.rules = rules
        self.grants = grants
        self.observer = observer
        localStore = store as? any LocalReplayStore
        examiner = store as? any RevocationExaminer
        grantStore = store as? any GrantStore
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
        let request: PlaybackRequest
        fileprivate let work: Work
        let now: Timestamp
        fileprivate let start: ContinuousClock.Instant

        /// The part of a decision that the store has to do.
        fileprivate enum Work: Sendable {
            case use(ExaminedUse)
            case grant(GrantUse)
        }

        fileprivate init(
            _ request: PlaybackRequest,
            _ work: Work,
            _ now: Timestamp,
            _ start: ContinuousClock.Instant
        ) {
            self.request = request
            self.work = work
            self.now = now
            self.start = start
        }

        /// The reason why the store is needed.
        package enum Reason: Sendable {
            /// The use of a media token.
            case token
            /// The use of a grant, or of its proof of possession.
            case grant
            /// The slot of a playback whose grant is due to be renewed.
            case stream
        }

        /// The reason why the store is needed.
        package var reason: Reason {
            guard case .grant(let use) = work else { return .token }
            let obligations = use.accepted.obligations
            return obligations.use == nil && obligations.proofUse == nil ? .stream : .grant
        }
    }

    /// A request, and the facts that were found about it before.
    package struct Question: Sendable {
        package let request: PlaybackRequest
        /// The result of the catalogue lookup.
        let finding: Catalogue.Finding
        /// The fault of the presented credentials, if one is known.
        let fault: DenyCode?
        /// The grants that the request shows; `nil` for none.
        let grants: ShownGrants?

        package init(
            _ request: PlaybackRequest,
            _ finding: Catalogue.Finding,
            fault: DenyCode? = nil,
            grants: ShownGrants? = nil
        ) {
            self.request = request
            self.finding = finding
            self.fault = fault
            self.grants = grants
        }
    }

    package func begin(_ question: Question, at now: Timestamp) -> Step {
        let start = ContinuousClock.now
        switch examine(question, at: now) {
        case .decided(let decision): return .decided(finish(decision, question.request, now, start))
        case .use(let examined):
            guard let outcome = outcomeNow(of: examined, now) else {
                return .pending(PendingUse(question.request, .use(examined), now, start))
            }
            let decision = decision(outcome, examined.subject, question.request, now)
            return .decided(finish(decision, question.request, now, start))
        case .grant(let use): return .pending(PendingUse(question.request, .grant(use), now, start))
        }
    }

    /// Returns the outcome of a use, if the store can tell it without waiting.
    private func outcomeNow(of examined: borrowing ExaminedUse, _ now: Timestamp) -> UseOutcome? {
        guard examined.lease == nil else { return nil }
        if let localStore { return examined.outcome(localStore, now) }
        return examined.isConsumed ? nil : examiner?.examineIfKnown(examined.use)
    }

    /// Asks the replay store, and decides. Call it once for a pending use, on the gate that began it.
    ///
    /// Waits for at most ``Rules/storeDeadline``.
    public func complete(_ pending: PendingUse) async -> Decision {
        let asked = ContinuousClock.now
        let (request, now) = (pending.request, pending.now)
        let decision =
            switch pending.work {
            case .use(let examined): await complete(examined, request, now)
            case .grant(let use): await complete(use, now)
            }
        return finish(decision, request, now, pending.start, asked: asked)
    }

    /// Takes the slot of the playback if there is a limit, and then records the use: a start that the limit refuses consumes
    /// nothing.
    private func complete(_ examined: ExaminedUse, _ request: PlaybackRequest, _ now: Timestamp) async -> Decision {
        let slot = await take(examined.lease, at: now)
        if let code = slot?.refusal(allowsUnknown: rules.allowsUnknownUse) { return refusal(code, examined.subject) }
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> UseOutcome? in
            examined.isConsumed
                ? try? await store.record(examined.use, at: now) : try? await store.examine(examined.use, at: now)
        }
        let decision = decision(answer ?? nil, examined.subject, request, now)
        if case .refuse = decision, case .known(.taken) = slot { await free(examined.lease?.session, at: now) }
        return decision
    }

    /// Refuses a request that cannot be decided: the peer is untrusted, or the request is unclear.
    package func refuse(_ code: DenyCode, _ request: PlaybackRequest, at now: Timestamp) -> Decision {
        let refusal = Decision.refuse(Decision.Refusal(code: code, subject: .nothing))
        return finish(refusal, request, now, ContinuousClock.now)
    }

    // MARK: The steps

    enum Examination {
        case decided(Decision)
        case use(ExaminedUse)
        case grant(GrantUse)
    }

    /// The use of a token that has passed all checks but the replay store's.
    struct ExaminedUse: Sendable {
        let use: TokenUse
        let subject: Decision.Subject
        /// True if the token is consumed; false if it is only looked up among the revocations.
        let isConsumed: Bool
        /// The slot that the playback takes; `nil` without a limit.
        let lease: StreamLease?

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
        var subject = Decision.Subject(entry: entry, token: nil)
        guard entry.permits(request.method) else { return .decided(refusal(.methodNotPermitted, subject)) }
        if case .none = entry.protection {
            return .decided(.allow(Decision.Allowance(reason: .unprotected, subject: subject)))
        }
        var missing = DenyCode.tokenMissing
        if let terms = entry.grants, let grants {
            switch examine(question, terms, entry, grants, at: now) {
            case .decided(let decision): return decision
            case .refused(let code, let outcome):
                subject.signedURI = outcome
                if code != .grant(.missing) || entry.use == .grant { missing = code }
            }
        }
        if entry.use == .grant { return .decided(refusal(missing, subject)) }
        if let fault = question.fault { return .decided(refusal(fault, subject)) }
        guard let token = request.token, !token.isEmpty else { return .decided(refusal(missing, subject)) }
        guard case .resource(let resource, let requestor) = entry.protection else {
            return .decided(refusal(.token(.resourceMismatch), subject))
        }
        // A partial request must not consume the token of the playback, and must not fetch the media without consuming it.
        if request.isPartial, entry.consumesToken(of: request) {
            return .decided(refusal(.rangeNotPermitted, subject))
        }
        switch verifier.verify(token.utf8.span, for: resource, requestor: requestor, at: now) {
        case .refused(let refused):
            return .decided(refusal(.token(refused.reason), subject.with(refused.token)))
        case .valid(let token, _): return use(of: token, resource, entry, request, subject.with(token), at: now)
        }
    }

    /// Applies the policies to a verified token, and describes its use to the store.
    private func use(
        of token: MediaToken,
        _ resource: MediaResource,
        _ entry: Catalogue.Entry,
        _ request: PlaybackRequest,
        _ subject: Decision.Subject,
        at now: Timestamp
    ) -> Examination {
        for policy in policies {
            if let code = policy.refusal(token, resource) { return .decided(refusal(code, subject)) }
        }
        let use = TokenUse(
            token,
            maximumUses: rules.maximumUses,
            playbackID: request.playbackID,
            media: request.target.playedName
        )
        let isConsumed = entry.consumesToken(of: request)
        // A start whose grants could not be bound to its player consumes nothing. A probe gets no grant.
        if isConsumed || entry.use != .once, grants != nil, let code = entry.grants?.missingFact(of: request.player) {
            return .decided(refusal(code, subject))
        }
        let lease = isConsumed ? lease(of: entry, token, request, at: now) : nil
        return .use(ExaminedUse(use: use, subject: subject, isConsumed: isConsumed, lease: lease))
    }

    /// Maps the outcome of the store to a decision; `nil` means that the store did not answer.
    private func decision(
        _ outcome: UseOutcome?,
        _ subject: Decision.Subject,
        _ request: PlaybackRequest,
        _ now: Timestamp
    ) -> Decision {
        switch outcome {
        case .recorded: allowance(.verified, subject, request, now)
        case .notRevoked:
            subject.entry?.use == .once
                ? .allow(Decision.Allowance(reason: .probe, subject: subject))
                : allowance(.withinTTL, subject, request, now)
        case .repeated: allowance(.repeated, subject, request, now)
        case .usedUp: refusal(.tokenAlreadyUsed, subject)
        case .revoked(.token): refusal(.tokenRevoked, subject)
        case .revoked(.session): refusal(.sessionRevoked, subject)
        case .revoked(.mvpd): refusal(.mvpdRevoked, subject)
        // Revokes grants: no store answers so for a media token.
        case .revoked(.playback): refusal(.tokenRevoked, subject)
        case .full: refusal(.replayStoreFull, subject)
        case nil:
            rules.allowsUnknownUse
                ? allowance(.useUnknown, subject, request, now) : refusal(.replayStoreUnavailable, subject)
        }
    }

    func refusal(_ code: DenyCode, _ subject: Decision.Subject) -> Decision {
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

extension Decision.Subject {
    /// Returns the subject with a token.
    fileprivate func with(_ token: MediaToken?) -> Self { Self(entry: entry, token: token, signedURI: signedURI) }
}

extension Catalogue.Entry {
    /// True if the request consumes its token: the entry takes a token once, and the method starts a playback.
    func consumesToken(of request: PlaybackRequest) -> Bool { use == .once && !request.method.isProbe }
}
