// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A refusal of a grant.
public struct GrantRefusal: Hashable, Sendable {
    /// The reason.
    public let code: GrantCode
    /// The claim that failed, or the fact that is missing; `nil` if the reason concerns neither.
    public let detail: Detail?

    /// Creates a refusal.
    public init(_ code: GrantCode, _ detail: Detail? = nil) {
        self.code = code
        self.detail = detail
    }

    /// Creates a refusal because of a claim.
    init(_ code: GrantCode, claim: ClaimLabel) { self.init(code, .claim(claim)) }

    /// The subject of a refusal.
    public enum Detail: Hashable, Sendable, CustomStringConvertible {
        /// A claim of the token.
        case claim(ClaimLabel)
        /// A fact that the edge does not state, and the claim that needs it.
        case fact(RequestFact, for: ClaimLabel)
        /// A key set that is being fetched, and may bring the token's key.
        case keySetAwaited

        /// The name of the claim or of the fact.
        public var description: String {
            switch self {
            case .claim(let label): label.description
            case .fact(let fact, _): fact.rawValue
            case .keySetAwaited: "its key set is being fetched"
            }
        }
    }

    /// The action that the client should take: that of the code, or to retry if a key set is being fetched.
    public var action: ClientAction { detail == .keySetAwaited ? .retry : code.action }

    /// The claim that failed or that needs a missing fact, if the refusal concerns one.
    public var claim: ClaimLabel? {
        switch detail {
        case .claim(let label), .fact(_, let label): label
        case .keySetAwaited, nil: nil
        }
    }
}
