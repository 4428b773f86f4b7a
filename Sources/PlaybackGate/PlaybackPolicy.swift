// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import MediaResources
internal import MediaTokens

/// A requirement beyond a valid token: permitted MVPDs and maximum ratings.
///
/// If several policies apply, all of them must allow the playback.
public struct PlaybackPolicy: Hashable, Sendable {
    /// The requestors whose tokens the policy applies to; `nil` for all.
    public var requestors: [String]?
    /// The only MVPDs whose viewers may play; `nil` for all.
    public var allowedMVPDs: [String]?
    /// The MVPDs whose viewers may not play, even if the MVPD is the proxy of another.
    public var deniedMVPDs: [String]
    /// The maximum ratings, at most one for each scale (V-chip, MPAA). Empty for no limit.
    public var maximumRatings: [Rating]
    /// True if a resource without any rating may be played although ``maximumRatings`` is not empty.
    public var allowsUnrated: Bool

    /// Creates a policy. Without arguments, it allows every playback.
    public init(
        requestors: [String]? = nil,
        allowedMVPDs: [String]? = nil,
        deniedMVPDs: [String] = [],
        maximumRatings: [Rating] = [],
        allowsUnrated: Bool = false
    ) {
        self.requestors = requestors
        self.allowedMVPDs = allowedMVPDs
        self.deniedMVPDs = deniedMVPDs
        self.maximumRatings = maximumRatings
        self.allowsUnrated = allowsUnrated
    }

    /// Returns the code of the refusal if `token` may not play `resource`.
    func refusal(of token: MediaToken, for resource: MediaResource) -> DenyCode? {
        if let requestors, !requestors.contains(where: { $0.hasSameBytes(as: token.requestorID) }) { return nil }
        if let allowedMVPDs, !allowedMVPDs.contains(where: { $0.hasSameBytes(as: token.mvpdID) }) {
            return .mvpdNotAllowed
        }
        for denied in deniedMVPDs {
            if denied.hasSameBytes(as: token.mvpdID) { return .mvpdNotAllowed }
            if let proxy = token.proxyMVPDID, denied.hasSameBytes(as: proxy) { return .mvpdNotAllowed }
        }
        return allowsRating(of: resource) ? nil : .ratingNotAllowed
    }

    /// True if the ratings are within the limits. Ratings on a scale without a limit do not count, because they cannot be
    /// compared: a resource with only such ratings is refused.
    private func allowsRating(of resource: MediaResource) -> Bool {
        guard !maximumRatings.isEmpty else { return true }
        if resource.ratings.isEmpty { return allowsUnrated }
        let applicable = maximumRatings.filter { limit in resource.ratings.contains { $0.sharesScale(with: limit) } }
        return !applicable.isEmpty && applicable.allSatisfy { resource.isRatedAtMost($0) }
    }
}
