// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaResources

/// What a verifier demands of a token beside a trusted signature.
public struct VerificationPolicy: Hashable, Sendable {
    /// The requestors whose tokens are taken, by the bytes of their ids. Never empty.
    public let requestors: [String]
    /// By how much a token may come from the future, for clocks that are slow; 60 s by default, at most 120 s.
    public let earlyLeeway: Duration
    /// By how much a token may outlive its life; 0 s by default, as its life already allows for clocks, and at most 120 s.
    public let lateLeeway: Duration
    /// The longest life that is taken; 15 min by default, at most 24 h.
    public let maximumTimeToLive: Duration
    /// The smallest RSA key that is used, even if the trust store has smaller ones.
    public let minimumKeySize: MinimumRSAKeySize
    /// What may differ between the resource of a token and the one that is wanted; nothing by default.
    public let matchOptions: MediaResource.MatchOptions

    /// The largest leeway, early or late, that a policy may have: 120 s.
    public static let leewayLimit = Duration.milliseconds(leewayLimitMilliseconds)
    /// The longest life that a policy may take: 24 h.
    public static let timeToLiveLimit = Duration.seconds(24 * 3600)

    package static let leewayLimitMilliseconds: Int64 = 120_000

    let earlyLeewayMilliseconds: Int64
    let lateLeewayMilliseconds: Int64
    let maximumTimeToLiveMilliseconds: Int64

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - requestors: The requestors whose tokens are taken: at least one, none empty.
    ///   - earlyLeeway: From 0 to ``leewayLimit``.
    ///   - lateLeeway: From 0 to ``leewayLimit``.
    ///   - maximumTimeToLive: From 1 ms to ``timeToLiveLimit``.
    ///   - minimumKeySize: The smallest RSA key that is used.
    ///   - matchOptions: What may differ between resources.
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
        earlyLeewayMilliseconds = earlyLeeway.wholeMilliseconds
        lateLeewayMilliseconds = lateLeeway.wholeMilliseconds
        maximumTimeToLiveMilliseconds = maximumTimeToLive.wholeMilliseconds
    }

    /// Makes the default policy for one requestor.
    ///
    /// - Parameter requestor: The requestor whose tokens are taken; not empty.
    /// - Throws: ``PolicyError/noRequestor``.
    public init(requestor: String) throws(PolicyError) { try self.init(requestors: [requestor]) }
}

/// A value of a policy that is outside its range.
@nonexhaustive
public enum PolicyError: String, Error, Sendable, CaseIterable {
    /// No requestor, or an empty one.
    case noRequestor = "policy_no_requestor"
    /// Not from 0 to 120 s.
    case earlyLeewayOutOfRange = "policy_early_leeway_out_of_range"
    /// Not from 0 to 120 s.
    case lateLeewayOutOfRange = "policy_late_leeway_out_of_range"
    /// Not from 1 ms to 24 h.
    case maximumTimeToLiveOutOfRange = "policy_maximum_ttl_out_of_range"
}

extension PolicyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noRequestor: "a requestor is needed, and none may be empty [\(rawValue)]"
        case .earlyLeewayOutOfRange: "the early leeway must be from 0s to 120s [\(rawValue)]"
        case .lateLeewayOutOfRange: "the late leeway must be from 0s to 120s [\(rawValue)]"
        case .maximumTimeToLiveOutOfRange: "the longest life must be from 1 ms to 24h [\(rawValue)]"
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
