// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens
public import Platform

/// A replay store: the record of consumed tokens and of revocations.
///
/// Recording a use is atomic. A token is recorded as often as it may be consumed and no more, for any number of
/// concurrent requests. This holds on any number of machines that share the store.
public protocol ReplayStore: Sendable {
    /// The store's name in logs and metrics: `memory`, `sqlite`, `redis`.
    var name: String { get }

    /// Records a use, unless the token is revoked or consumed.
    ///
    /// - Parameters:
    ///   - use: The token, and the facts about this playback.
    ///   - now: The time of receipt.
    /// - Returns: The outcome; a refusal is an outcome, not an error.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the use was recorded.
    func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Checks a token for revocations, and records nothing: for tokens that are accepted until they expire, and for probes.
    ///
    /// - Returns: ``UseOutcome/notRevoked``, or ``UseOutcome/revoked(_:)`` with the kind of the revocation.
    /// - Throws: ``ReplayStoreError`` if it is unknown.
    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Records a revocation.
    ///
    /// - Throws: ``ReplayStoreError`` if it is unknown whether it was recorded.
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError)

    /// Finds out whether the store can record uses.
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
    public var longestWait: Duration? { nil }

    public func limitWaits(to limit: Duration) {}

    public var gauges: [StoreGauge] { [] }

    public func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {}
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

/// A replay store that answers without input or output, so that a decision stays on its thread.
public protocol LocalReplayStore: ReplayStore {
    /// Records a use, unless the token is revoked or consumed.
    func recordNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome

    /// Checks a token for revocations, and records nothing.
    func examineNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome
}

extension LocalReplayStore {
    public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        recordNow(use, at: now)
    }

    public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        examineNow(use, at: now)
    }

    public func check() async throws(ReplayStoreError) {}
}

/// A replay store that knows the revocations, and records nothing without waiting.
package protocol RevocationExaminer: ReplayStore {
    /// Returns ``UseOutcome/notRevoked`` for a token that is not revoked; `nil` if that is not known.
    func examineIfKnown(_ use: TokenUse) -> UseOutcome?
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
