// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens

/// The names of this recipient, and the caller's means to judge facts that are not in the token.
public struct CATPolicy: Sendable {
    /// The own names that `aud` may hold, compared byte for byte. Without one, a token with `aud` is refused.
    public var audience: [String] = []
    /// True if the caller's store can use a token once, for `catreplay` 1 and for tracked proofs of possession.
    public var hasReplayStore = false
    /// True if the caller watches the reuse of tokens, for `catreplay` 2.
    public var hasReuseDetector = false
    /// True if the caller has a list of rejected ids for `catpor`.
    public var hasRejectionList = false
    /// The algorithms of proofs of possession.
    public var proofAlgorithms: Set<ProofAlgorithm> = [.es256]

    /// Creates a policy without own names and stores.
    public init() {}
}
