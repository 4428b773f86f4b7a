// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens
public import Platform

/// The record of which tokens were used, and of what was revoked.
///
/// Recording a use is atomic: of any number of requests with one token, at once or one after the other, on however many
/// machines share the store, as many are the first as the token may be used.
public protocol ReplayStore: Sendable {
    /// The store's name in logs and metrics: `memory`, `sqlite`, `redis`.
    var name: String { get }

    /// Records a use, unless the token was revoked or used up.
    ///
    /// - Parameters:
    ///   - use: The token, and what is known of this playback.
    ///   - now: The time of receipt.
    /// - Throws: ``ReplayStoreError`` where it is not known whether the use was recorded.
    func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Finds out whether a token was revoked, and records nothing: for tokens that may be shown until they expire.
    ///
    /// - Returns: ``UseOutcome/notRevoked``, or by what it is revoked.
    /// - Throws: ``ReplayStoreError`` where it is not known.
    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Records a revocation.
    ///
    /// - Throws: ``ReplayStoreError`` where it is not known whether it was recorded.
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError)

    /// Finds out whether the store can record uses.
    ///
    /// - Throws: ``ReplayStoreError`` if it cannot.
    func check() async throws(ReplayStoreError)

    /// Measurements of the store's contents, for metrics.
    var gauges: [StoreGauge] { get }

    /// Keeps the connection of a store that has one, until the task is cancelled. Returns at once by default.
    ///
    /// - Parameter report: Called with `nil` for each connection that is made, and with each fault.
    func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async
}

extension ReplayStore {
    public var gauges: [StoreGauge] { [] }

    public func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {}
}

/// A measurement of a store's contents.
public struct StoreGauge: Hashable, Sendable {
    /// The name of the metric, with its unit if it has one.
    public let name: String
    /// A line of help for the metric.
    public let help: String
    /// The value at the time of the call.
    public let value: Double

    /// Creates a measurement.
    public init(name: String, help: String, value: Double) {
        self.name = name
        self.help = help
        self.value = value
    }
}

/// A store that answers at once, without input or output: a decision need not leave its thread.
public protocol LocalReplayStore: ReplayStore {
    /// Records a use, unless the token was revoked or used up.
    func recordNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome

    /// Finds out whether a token was revoked, and records nothing.
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

/// One use of a token.
public struct TokenUse: Hashable, Sendable {
    /// The token, which is verified.
    public let token: MediaToken
    /// When no policy can take the token any more, and its record may be forgotten.
    ///
    /// The largest late leeway that there is counts, not the one that is in force: a reload may raise that, and would give a
    /// used token another life if its record went by the old one.
    public var forgettable: Timestamp {
        token.expires.advanced(byMilliseconds: VerificationPolicy.leewayLimitMilliseconds)
    }
    /// How often a token may be used, from 1 to ``maximumUsesLimit``.
    public let maximumUses: Int
    /// What names this start of a playback, if anything does: never 0.
    public let playback: UInt64?

    /// The most uses that a token may be given.
    public static let maximumUsesLimit = 16

    /// Makes a use.
    ///
    /// - Parameters:
    ///   - token: A verified token.
    ///   - maximumUses: From 1 to ``maximumUsesLimit``; what is outside counts as the nearest of them.
    ///   - playbackID: What names this start of a playback.
    ///   - media: The one thing that is played: a playback id names a playback of this and of nothing else. Asked for only
    ///     where there is a playback id.
    public init(
        _ token: MediaToken,
        maximumUses: Int = 1,
        playbackID: String? = nil,
        media: @autoclosure () -> String = ""
    ) {
        self.token = token
        self.maximumUses = min(max(maximumUses, 1), Self.maximumUsesLimit)
        playback = playbackID.map { id in
            let digest = SHA256.digest("\(id.utf8.count):\(id)\(media())")
            let number = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            return max(number, 1)
        }
    }
}

extension PlaybackRequest.Target {
    /// The one thing that this names: a media id, or a path in its one form. No media id has the name of a path.
    var playedName: String {
        switch self {
        case .media(let id): "media:\(id)"
        case .path(let requested): "path:\((try? MediaPath(requested))?.text ?? String(requested))"
        }
    }
}

/// What became of a use.
@nonexhaustive
public enum UseOutcome: Hashable, Sendable {
    /// It is recorded: the playback may start.
    case recorded
    /// It had been recorded before, for the same playback.
    case repeated
    /// The token is used up.
    case usedUp
    /// The token is revoked, by what.
    case revoked(Revocation.Kind)
    /// There is no room for one more live token.
    case full
    /// The token is not revoked; nothing is recorded.
    case notRevoked
}

/// The reason why a store cannot answer.
public struct ReplayStoreError: Error, Sendable {
    /// What is wrong; stable, for programs.
    public let code: Code
    /// What is wrong, in words, for people.
    public let reason: String

    /// What keeps a store from answering.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// It cannot be reached, or says that it cannot work.
        case unavailable = "store_unavailable"
        /// It did not answer in time.
        case deadline = "store_deadline"
        /// It has no room for one more revocation.
        case full = "store_full"
        /// It cannot be opened or set up as configured.
        case misconfigured = "store_misconfigured"
    }

    /// Makes an error.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

extension ReplayStoreError: Equatable {
    /// Equality of codes.
    public static func == (left: ReplayStoreError, right: ReplayStoreError) -> Bool { left.code == right.code }
}

extension ReplayStoreError: CustomStringConvertible {
    public var description: String { "\(reason) [\(code.rawValue)]" }
}
