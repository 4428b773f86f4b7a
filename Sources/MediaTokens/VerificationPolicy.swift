// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaResources

/// The requirements for a token beside a trusted signature.
public struct VerificationPolicy: Hashable, Sendable {
    /// The requestors whose tokens are accepted, compared by the bytes of their ids. Never empty.
    public let requestors: [String]
    /// The tolerance for issue times in the future, for slow clocks; 60 s by default, at most 120 s.
    public let earlyLeeway: Duration
    /// The tolerance after expiry; 0 s by default, because the time to live already allows for clock skew; at most 120 s.
    public let lateLeeway: Duration
    /// The longest time to live that is accepted; 15 min by default, at most 24 h.
    public let maximumTimeToLive: Duration
    /// The smallest RSA key that is accepted, even if the trust store has smaller ones.
    public let minimumKeySize: MinimumRSAKeySize
    /// The allowed differences between the resource of a token and the wanted one; see the defaults of the options.
    public let matchOptions: MediaResource.MatchOptions

    /// The largest leeway, early or late, of a policy: 120 s.
    public static let leewayLimit = Duration.milliseconds(leewayLimitMilliseconds)
    /// The longest time to live that a policy may accept: 24 h.
    public static let timeToLiveLimit = Duration.seconds(24 * 3600)

    package static let leewayLimitMilliseconds: Int64 = 120_000

    let earlyLeewayMilliseconds: Int64
    let lateLeewayMilliseconds: Int64
    let maximumTimeToLiveMilliseconds: Int64

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - requestors: The requestors whose tokens are accepted: at least one, none empty.
    ///   - earlyLeeway: The tolerance for issue times in the future, from 0 to ``leewayLimit``.
    ///   - lateLeeway: The tolerance after expiry, from 0 to ``leewayLimit``.
    ///   - maximumTimeToLive: The longest time to live that is accepted, from 1 ms to ``timeToLiveLimit``.
    ///   - minimumKeySize: The smallest RSA key that is accepted.
    ///   - matchOptions: The allowed differences between resources.
    /// - Throws: ``PolicyError`` for a value outside its range.
    public init(
        requestors: [String],
        earlyLeeway: Duration = .seconds(60),
        lateLeeway: Duration = .zero,
        maximumTimeToLive: Duration = .seconds(15 * 60),
        minimumKeySize: MinimumRSAKeySize = .standard,
        matchOptions: MediaResource.MatchOptions = .init()
    ) throws(PolicyError) {
        guard !requestors.isEmpty, requestors.allSatisfy({ !$0.trimmed.isEmpty }) else { throw .noRequestor }
        guard .zero...Self.leewayLimit ~= earlyLeeway else { throw .earlyLeewayOutOfRange }
        guard .zero...Self.leewayLimit ~= lateLeeway else { throw .lateLeewayOutOfRange }
        guard .milliseconds(1)...Self.timeToLiveLimit ~= maximumTimeToLive else { throw .maximumTimeToLiveOutOfRange }
        self.requestors = requestors
        self.earlyLeeway = earlyLeeway
        self.lateLeeway = lateLeeway
        self.maximumTimeToLive = maximumTimeToLive
        self.minimumKeySize = minimumKeySize
        self.matchOptions = matchOptions
        earlyLeewayMilliseconds = earlyLeeway.milliseconds
        lateLeewayMilliseconds = lateLeeway.milliseconds
        maximumTimeToLiveMilliseconds = maximumTimeToLive.milliseconds
    }

    /// Creates the default policy for one requestor.
    ///
    /// - Parameter requestor: The requestor whose tokens are accepted; not empty.
    /// - Throws: ``PolicyError/noRequestor``.
    public init(requestor: String) throws(PolicyError) { try self.init(requestors: [requestor]) }
}

/// An error for a policy value outside its range.
@nonexhaustive
public enum PolicyError: String, Error, Sendable, CaseIterable {
    /// There is no requestor, or an empty one.
    case noRequestor = "policy_no_requestor"
    /// The early leeway is not from 0 to 120 s.
    case earlyLeewayOutOfRange = "policy_early_leeway_out_of_range"
    /// The late leeway is not from 0 to 120 s.
    case lateLeewayOutOfRange = "policy_late_leeway_out_of_range"
    /// The longest time to live is not from 1 ms to 24 h.
    case maximumTimeToLiveOutOfRange = "policy_maximum_ttl_out_of_range"
}

extension PolicyError: CustomStringConvertible {
    /// The explanation, and the code in brackets.
    public var description: String {
        switch self {
        case .noRequestor: "at least one requestor is required, and none may be empty [\(rawValue)]"
        case .earlyLeewayOutOfRange: "the early leeway must be from 0s to 120s [\(rawValue)]"
        case .lateLeewayOutOfRange: "the late leeway must be from 0s to 120s [\(rawValue)]"
        case .maximumTimeToLiveOutOfRange: "the maximum time to live must be from 1 ms to 24h [\(rawValue)]"
        }
    }
}
