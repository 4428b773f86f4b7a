// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
public import MediaTokens
public import Platform

/// A replay store: it consumes tokens and grants, and leases the slots of streams.
///
/// Recording is atomic. A token is recorded as often as it may be consumed and no more, a grant once, and a viewer never
/// has more slots than the limit. This holds for any number of concurrent requests, on any number of machines that share
/// the store.
public protocol ReplayStore: RevocationStore {
    /// The store's name in logs and metrics: `memory`, `sqlite`, `redis`.
    var name: String { get }

    // MARK: Tokens

    /// Records a use, unless the token is revoked or consumed.
    ///
    /// - Parameters:
    ///   - use: The token, and the facts about this playback.
    ///   - now: The time of receipt.
    /// - Returns: The outcome; a refusal is an outcome, not an error.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the use was recorded.
    func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Does the same as ``record(_:at:)`` or ``RevocationStore/examine(_:at:)`` without input or output, so that a decision
    /// stays on its thread.
    ///
    /// - Parameters:
    ///   - use: The token, and the facts about this playback.
    ///   - isConsumed: True to record the use; false to check the token for revocations only.
    ///   - now: The time of receipt.
    /// - Returns: The outcome; `nil`, the default, if the store requires a wait. Then nothing is recorded.
    func immediateOutcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome?

    /// True if ``requestOutcome(of:isConsumed:receive:)`` is implemented and can be called; false by default. Does not change.
    var supportsCallbacks: Bool { get }

    /// Does the same as ``record(_:at:)`` or ``RevocationStore/examine(_:at:)``, and calls a closure with the outcome, so
    /// that no task has to wait for it.
    ///
    /// - Parameters:
    ///   - use: The token, and the facts about this playback.
    ///   - isConsumed: True to record the use; false to check the token for revocations only.
    ///   - receive: Called once, on any thread, possibly before this function returns; with `nil` if the outcome is
    ///     unknown, as by default.
    func requestOutcome(of use: TokenUse, isConsumed: Bool, receive: @escaping @Sendable (UseOutcome?) -> Void)

    // MARK: Grants

    /// Records a grant that may be used once (`catreplay` 1 of CTA-5007, `jti` of RFC 9246), unless it was recorded before.
    ///
    /// - Parameters:
    ///   - identity: The SHA-256 of the grant's issuer and identifier.
    ///   - expires: The expiry of the grant: the record is stored until then.
    ///   - now: The time of receipt.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the grant was recorded. The caller must refuse the grant. A
    ///   store without grants, the default, throws ``ReplayStoreError/Code/misconfigured``.
    func insert(
        _ identity: SHA256Digest,
        until expires: Timestamp,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> GrantUseOutcome

    /// Acquires a slot for a session, or prolongs its own. A renewal of a grant is the same call: if the lease was lost
    /// meanwhile, the session acquires a free slot if there is one.
    ///
    /// - Parameters:
    ///   - lease: The viewer, the session, and the end of its slot. An earlier end does not shorten a slot.
    ///   - now: The time of receipt.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the slot was acquired. A store without leases, the default,
    ///   throws ``ReplayStoreError/Code/misconfigured``.
    func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome

    /// Frees the slot of a session.
    ///
    /// - Returns: True if the session had one that had not ended.
    /// - Throws: ``ReplayStoreError`` as ``acquire(_:at:)``.
    func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool

    /// Records a renewal of a grant, by which a grant that two hold is found.
    ///
    /// - Parameters:
    ///   - renewal: The grant that was renewed.
    ///   - now: The time of receipt.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the renewal was recorded. The renewed grant is handed over
    ///   nevertheless. A store without a ledger, the default, throws ``ReplayStoreError/Code/misconfigured``.
    func note(_ renewal: GrantRenewal, at now: Timestamp) async throws(ReplayStoreError) -> RenewalOutcome

    /// True if several gates may share the store; false by default. Does not change.
    var isShared: Bool { get }

    /// Appends a batch of reports on playbacks, and returns the batches of all gates after a position. Reports may be lost.
    ///
    /// - Parameters:
    ///   - batch: The batch, at most 64 KiB; empty for none.
    ///   - position: The position that the last call returned; `nil` for the batches of the last two minutes.
    /// - Returns: The batches, the caller's own too. A store of one gate, the default, returns none.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the batch was appended.
    func exchange(_ batch: [UInt8], after position: String?) async throws(ReplayStoreError) -> PlaybackReports

    // MARK: Operation

    /// Finds out whether the store can record uses. Readiness depends on it.
    ///
    /// - Throws: ``ReplayStoreError`` if it cannot.
    func check() async throws(ReplayStoreError)

    /// The longest wait for an answer, which the store ends by itself with ``ReplayStoreError/Code/deadline``; `nil` by
    /// default. A gate limits its calls of a store that may exceed the gate's deadline.
    var longestWait: Duration? { get }

    /// Sets the maximum wait of the next calls of the store, for ``longestWait``. Does nothing by default.
    func limitWaits(to limit: Duration)

    /// Measurements of the store, for metrics.
    var gauges: [StoreGauge] { get }

    /// Maintains the connection of a store that has one, until the task is cancelled. Returns at once by default.
    ///
    /// - Parameter report: Called with `nil` for each connection that is made, and with each fault.
    func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async
}

extension ReplayStore {
    public func immediateOutcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome? { nil }

    public var supportsCallbacks: Bool { false }

    public func requestOutcome(
        of use: TokenUse,
        isConsumed: Bool,
        receive: @escaping @Sendable (UseOutcome?) -> Void
    ) { receive(nil) }

    public func insert(
        _ identity: SHA256Digest,
        until expires: Timestamp,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> GrantUseOutcome { throw servesNoGrants }

    public func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
        throw servesNoGrants
    }

    public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        throw servesNoGrants
    }

    public func note(
        _ renewal: GrantRenewal,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> RenewalOutcome { throw servesNoGrants }

    public var isShared: Bool { false }

    public func exchange(_ batch: [UInt8], after position: String?) async throws(ReplayStoreError) -> PlaybackReports {
        PlaybackReports(batches: [], position: position ?? "")
    }

    private var servesNoGrants: ReplayStoreError {
        ReplayStoreError(.misconfigured, reason: "the store \(name) serves no grants")
    }

    public var longestWait: Duration? { nil }

    public func limitWaits(to limit: Duration) {}

    public var gauges: [StoreGauge] { [] }

    public func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {}
}

/// The reports on playbacks since a position.
public struct PlaybackReports: Hashable, Sendable {
    /// The batches of all gates, in the order of their arrival.
    public let batches: [[UInt8]]
    /// The position after them.
    public let position: String

    /// Creates reports of their members.
    public init(batches: [[UInt8]], position: String) { (self.batches, self.position) = (batches, position) }
}

/// A measurement of a store.
public struct StoreGauge: Hashable, Sendable {
    /// The name of the metric, with its unit if it has one.
    public let name: String
    /// A line of help for the metric.
    public let help: String
    /// The value at the time of the call.
    public let value: Double
    /// True if the value only grows.
    public let isCounter: Bool

    /// Creates a measurement.
    public init(name: String, help: String, value: Double, isCounter: Bool = false) {
        self.name = name
        self.help = help
        self.value = value
        self.isCounter = isCounter
    }
}

/// A use of a token.
public struct TokenUse: Hashable, Sendable {
    /// The token, already verified.
    public let token: MediaToken
    /// The time after which no policy accepts the token, so that its record may be deleted.
    ///
    /// The largest permitted late leeway counts, not the active one. A reload may raise the leeway. A record that was
    /// deleted by the previous leeway would then let the token be consumed again.
    public var forgettable: Timestamp {
        token.expires.advanced(byMilliseconds: VerificationPolicy.leewayLimitMilliseconds)
    }
    /// The number of times that the token may be consumed, from 1 to ``maximumUsesLimit``.
    public let maximumUses: Int
    /// The hash that identifies this playback start, if there is a playback id; never 0.
    public let playback: UInt64?

    /// The largest value of ``maximumUses``.
    @inlinable
    public static var maximumUsesLimit: Int { 16 }

    /// Creates a use.
    ///
    /// - Parameters:
    ///   - token: A verified token.
    ///   - maximumUses: From 1 to ``maximumUsesLimit``; other values are clamped to this range.
    ///   - playbackID: The identifier of this playback start.
    ///   - media: The played media: a playback id identifies a playback of this media only. Evaluated only if there is a
    ///     playback id.
    // Inlined into the gate's module: this is a step of each decision.
    @inlinable
    public init(
        _ token: MediaToken,
        maximumUses: Int = 1,
        playbackID: String? = nil,
        media: @autoclosure () -> String = ""
    ) {
        self.token = token
        self.maximumUses = min(max(maximumUses, 1), Self.maximumUsesLimit)
        playback = if let playbackID { Self.number(of: playbackID, playing: media()) } else { nil }
    }

    @usableFromInline
    static func number(of playbackID: String, playing media: String) -> UInt64 {
        let digest = SHA256.digest("\(playbackID.utf8.count):\(playbackID)\(media)")
        let number = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return max(number, 1)
    }
}

/// The outcome of recording or checking a use.
@nonexhaustive
public enum UseOutcome: Hashable, Sendable {
    /// The use is recorded: the playback may start.
    case recorded
    /// The use was recorded before, for the same playback.
    case repeated
    /// The token has no use left.
    case usedUp
    /// The token is revoked, itself or with its session or MVPD.
    case revoked(Revocation.Kind)
    /// There is no room for another live token.
    case full
    /// The token is not revoked; nothing is recorded.
    case notRevoked
}

/// The outcome of recording a grant that may be used once.
@nonexhaustive
public enum GrantUseOutcome: Hashable, Sendable {
    /// This is the grant's first use.
    case first
    /// The grant was used before, or may have been: records with an expiry as late as its own are already deleted.
    case replayed
    /// There is no room for another grant.
    case full
}

/// An error of a replay store.
public struct ReplayStoreError: Error, Sendable {
    /// The stable code of the error, for programs.
    public let code: Code
    /// The description of the error, for people.
    public let reason: String

    /// The cause of a replay store error.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The store cannot be reached, or reports a failure.
        case unavailable = "store_unavailable"
        /// The store did not answer in time.
        case deadline = "store_deadline"
        /// The store has no room for another revocation.
        case full = "store_full"
        /// The store cannot be opened or set up as configured.
        case misconfigured = "store_misconfigured"
    }

    /// Creates an error.
    public init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }
}

extension ReplayStoreError: Equatable {
    /// Compares the codes only.
    public static func == (left: ReplayStoreError, right: ReplayStoreError) -> Bool { left.code == right.code }
}

extension ReplayStoreError: CustomStringConvertible {
    public var description: String { "\(reason) [\(code.rawValue)]" }
}
