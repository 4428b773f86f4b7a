// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import MediaResources
internal import MediaTokens

/// A rule beside the token: whose viewers may play, and up to which rating.
///
/// Of several policies, all that apply must let a playback pass.
public struct PlaybackPolicy: Hashable, Sendable {
    /// The requestors whose entries this applies to; all where it is nil.
    public var requestors: [String]?
    /// The only MVPDs that may play; all where it is nil.
    public var allowedMVPDs: [String]?
    /// The MVPDs that may not play, also as proxy of another.
    public var deniedMVPDs: [String]
    /// The highest ratings, at most one a scale (V-chip, MPAA). Nothing is limited where there is none.
    public var maximumRatings: [Rating]
    /// Whether a resource without any rating may be played where ``maximumRatings`` has one.
    public var allowsUnrated: Bool

    /// Makes a policy; one that says nothing lets everything pass.
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

    /// Why `token` may not play `resource`, if it may not.
    func refusal(_ token: MediaToken, _ resource: MediaResource) -> DenyCode? {
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

    /// Ratings on a scale that no limit speaks of do not count as ratings: what cannot be compared is not allowed.
    private func allowsRating(of resource: MediaResource) -> Bool {
        guard !maximumRatings.isEmpty else { return true }
        if resource.ratings.isEmpty { return allowsUnrated }
        let applicable = maximumRatings.filter { limit in resource.ratings.contains { $0.sharesScale(with: limit) } }
        return !applicable.isEmpty && applicable.allSatisfy { resource.isRatedAtMost($0) }
    }
}
