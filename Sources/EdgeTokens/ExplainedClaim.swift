// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A claim of a token and its outcome for a request.
public struct ExplainedClaim: Sendable {
    /// The label in the token; `nil` for a name in text.
    public let label: Int64?
    /// The name of the claim, or its label if it is not known.
    public let name: String
    /// The outcome.
    public let outcome: Outcome
    /// The refusal that the claim gives by itself; `nil` if it gives none.
    public let refusal: GrantRefusal?
    /// The value in diagnostic notation (RFC 8949 §8).
    public let value: String

    /// Creates the explanation of a claim.
    package init(label: Int64?, name: String, outcome: Outcome, refusal: GrantRefusal?, value: String) {
        self.label = label
        self.name = name
        self.outcome = outcome
        self.refusal = refusal
        self.value = value
    }

    /// The outcome of a claim.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// The restriction holds.
        case pass
        /// The restriction does not hold, or is not supported.
        case fail
        /// The restriction needs a fact that is not known, or a store.
        case notEvaluated = "not_evaluated"
        /// The claim restricts nothing.
        case ignored
    }
}

/// The reason why a token cannot even be read.
public struct UnverifiedTokenError: Error, Hashable, Sendable {
    /// ``GrantCode/tooLarge``, ``GrantCode/malformed`` or ``GrantCode/claimUnsupported``.
    public let code: GrantCode

    /// Creates the reason.
    package init(code: GrantCode) { self.code = code }
}
