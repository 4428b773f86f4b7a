// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
public import MediaTokens
public import Platform
public import ReplayStores
internal import Synchronization

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
    /// Starts playbacks by the tokens of identity providers; `nil` for a gate of media tokens only.
    public let starter: PlaybackStarter?
    /// The requirements beyond a valid token.
    public let policies: [PlaybackPolicy]
    /// The replay store.
    public let store: any ReplayStore
    /// The rules for consumption and refusals.
    public let rules: Rules
    /// The issue and check of grants; `nil` for a gate without them.
    public let grants: GrantService?

    let observer: any DecisionObserver
    /// True if there is an observer. Without one, no time is measured.
    private let isObserved: Bool
    /// The playbacks of the catalogue, by the resources of their grants.
    let playbacks: PlaybackIndex
    /// Finds the entries to which the paths of a scope belong. Created on first use.
    package var scopes: ScopeSurvey {
        if let made = survey.load() { return made.value }
        let made = MadeSurvey(ScopeSurvey(catalogue))
        return survey.storeIfNil(made).value
    }

    private let survey = AtomicLazyReference<MadeSurvey>()

    private final class MadeSurvey: Sendable {
        let value: ScopeSurvey

        init(_ value: ScopeSurvey) { self.value = value }
    }

    /// The slots that are known to be held.
    let slots = KnownSlots()
    /// The ends of the trusted keys' validities, in order.
    private let keyEnds: [Timestamp]

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
        starter: PlaybackStarter? = nil,
        policies: [PlaybackPolicy] = [],
        store: any ReplayStore,
        rules: Rules = Rules(),
        grants: GrantService? = nil,
        observer: any DecisionObserver = NoObserver()
    ) {
        self.catalogue = catalogue
        self.verifier = verifier
        self.starter = starter
        self.policies = policies
        self.store = store
        self.rules = rules
        self.grants = grants
        playbacks = grants.map { PlaybackIndex(catalogue, key: $0.subjectKey) } ?? PlaybackIndex()
        self.observer = observer
        isObserved = !(observer is NoObserver)
        keyEnds = verifier.trust.keys.compactMap { $0.validity?.upperBound }.sorted()
    }

    /// Returns the first end of a trusted key's validity at or after `now`.
    package func keyEnd(after now: Timestamp) -> Timestamp {
        keyEnds.first { $0 >= now } ?? Timestamp(millisecondsSince1970: .max)
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

    /// Decides as far as possible without waiting: catalogue, verification, policies, and a store in memory.
    ///
    /// Only ``complete(_:)`` consumes the token of a pending use.
    ///
    /// - Parameters:
    ///   - request: The media, the token and the client.
    ///   - now: The time of receipt.
    public func begin(_ request: PlaybackRequest, at now: Timestamp) -> Step {
        begin(request, finding: catalogue.find(request.target, host: request.host), at: now)
    }

    /// Looks up a path in the catalogue. Another module would copy ``catalogue`` with its references, which all threads
    /// share.
    package func find(_ path: Substring, host: Substring?, form: MediaPath.Form) -> Catalogue.Finding {
        catalogue.find(path, host: host, form: form)
    }

    /// True if tokens of identity providers start playbacks.
    package var hasStarter: Bool { starter != nil }

    /// Looks up a path in canonical form in the catalogue, without copying it.
    package func find(_ path: MediaPath, host: Substring?) -> Catalogue.Finding { catalogue.find(path, host: host) }

    /// See ``Catalogue/isUniform(around:host:)``.
    package func isUniform(around path: MediaPath, host: Substring?) -> Bool {
        catalogue.isUniform(around: path, host: host)
    }

    /// The result of the first of two steps of a decision.
    public enum Step: Sendable {
        /// The decision.
        case decided(Decision)
        /// All checks have passed except the replay store, which requires a wait: see ``Gate/complete(_:)``.
        case pending(PendingUse)
    }

    /// A request that has passed catalogue, verification and policies, and waits for the replay store.
    ///
    /// A class, so that a decision without a pending use stays small.
    public final class PendingUse: Sendable {
        let request: PlaybackRequest
        fileprivate let work: Work
        let now: Timestamp
        /// The time at which the decision began; `nil` if it is not observed.
        fileprivate let start: ContinuousClock.Instant?

        /// The part of a decision that the store has to do.
        fileprivate enum Work: Sendable {
            case use(ExaminedUse)
            case grant(GrantUse)
            case deferred(DeferredUse)
        }

        fileprivate init(
            request: PlaybackRequest,
            work: Work,
            now: Timestamp,
            start: ContinuousClock.Instant?
        ) {
            var request = request
            // The token is verified: its text need not be kept until the store answers.
            if case .deferred = work {} else { request.token = nil }
            self.request = request
            self.work = work
            needsUseOnly = if case .use(let examined) = work { examined.slot.needsNoStore } else { false }
            self.now = now
            self.start = start
        }

        /// The media token whose use is pending; `nil` if the use of a grant is pending.
        var mediaToken: ExaminedUse? {
            if case .use(let examined) = work { examined } else { nil }
        }

        /// True if nothing is needed but the use of a media token.
        let needsUseOnly: Bool

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
            let needsNone = obligations.use == nil && obligations.proofUse == nil && use.licence.isEmpty
            return needsNone ? .stream : .grant
        }
    }

    /// Decides as far as possible without waiting, with the facts that are already known about a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - match: The result of the catalogue lookup.
    ///   - fault: The fault of the presented credentials; `nil` if none is known.
    ///   - presentedGrants: The grants that the request presents; `nil` for none.
    ///   - now: The time of receipt.
    package func begin(
        _ request: PlaybackRequest,
        finding match: Catalogue.Finding,
        fault: DenyCode? = nil,
        grants presentedGrants: PresentedGrants? = nil,
        at now: Timestamp
    ) -> Step {
        let start = observedTime
        switch examine(request, finding: match, fault: fault, grants: presentedGrants, at: now) {
        case .decided(let decision): return .decided(finish(decision, of: request, at: now, since: start))
        case .use(let examined):
            return .pending(PendingUse(request: request, work: .use(examined), now: now, start: start))
        case .grant(let use): return .pending(PendingUse(request: request, work: .grant(use), now: now, start: start))
        case .deferred(let use):
            return .pending(PendingUse(request: request, work: .deferred(use), now: now, start: start))
        }
    }

    /// Calls the replay store, and decides. Call it once for a pending use, on the gate that began it.
    ///
    /// Waits for at most ``Rules/storeDeadline``.
    public func complete(_ pending: PendingUse) async -> Decision {
        let requestedAt = ContinuousClock.now
        let (request, now) = (pending.request, pending.now)
        let decision =
            switch pending.work {
            case .use(let examined): await complete(examined, for: request, at: now)
            case .grant(let use): await complete(use, at: now)
            case .deferred(let use): await complete(use, of: request, at: now)
            }
        return finish(decision, of: pending, requestedAt: requestedAt)
    }

    /// Ends the decision of a pending use.
    ///
    /// - Parameter requestedAt: The time at which the store was called.
    func finish(_ decision: Decision, of pending: PendingUse, requestedAt: ContinuousClock.Instant) -> Decision {
        finish(decision, of: pending.request, at: pending.now, since: pending.start, requestedAt: requestedAt)
    }

    /// Acquires the slot of the playback if there is a limit, then records the use, and then holds the slot until the
    /// grants end. A start that the limit refuses consumes nothing.
    func complete(_ examined: ExaminedUse, for request: PlaybackRequest, at now: Timestamp) async -> Decision {
        let slot = await acquireSlot(examined.slot.whileStarting(rules.storeDeadline, at: now), at: now)
        if let code = slot.refusal(allowsUnknown: rules.allowsUnknownUse) {
            return refusal(code, subject: examined.subject)
        }
        let answer = await ask { [store] () -> UseOutcome? in
            examined.isConsumed
                ? try? await store.record(examined.use, at: now) : try? await store.examine(examined.use, at: now)
        }
        let id = examined.start.playbackID
        let decision = decision(
            for: answer ?? nil,
            isConsumed: examined.isConsumed,
            subject: examined.subject,
            request: request,
            playbackID: id,
            at: now
        )
        guard case .allow(let allowance) = decision, allowance.isStart else { return decision }
        let held = await acquireSlot(examined.slot, at: now)
        return held.refusal(allowsUnknown: rules.allowsUnknownUse).map { refusal($0, subject: examined.subject) }
            ?? decision
    }

    /// Refuses a request that cannot be decided: the peer is untrusted, or the request is unclear.
    package func refuse(_ code: DenyCode, for request: PlaybackRequest, at now: Timestamp) -> Decision {
        let refusal = Decision.refuse(Decision.Refusal(code: code, subject: .nothing))
        return finish(refusal, of: request, at: now, since: observedTime)
    }

    private var observedTime: ContinuousClock.Instant? { isObserved ? ContinuousClock.now : nil }

    private func finish(
        _ decision: Decision,
        of request: PlaybackRequest,
        at now: Timestamp,
        since start: ContinuousClock.Instant?,
        requestedAt: ContinuousClock.Instant? = nil
    ) -> Decision {
        guard let start else { return decision }
        let end = ContinuousClock.now
        observer.observe(
            DecisionEvent(
                target: request.target,
                client: request.client,
                decision: decision,
                time: now,
                latency: end - start,
                storeLatency: requestedAt.map { end - $0 }
            )
        )
        return decision
    }
}
