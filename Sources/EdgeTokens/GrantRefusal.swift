// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A refusal of a grant.
public struct GrantRefusal: Hashable, Sendable {
    /// The reason.
    public let code: GrantCode
    /// The claim that failed, or the fact that is missing; `nil` if the reason concerns neither.
    public let detail: Detail?

    /// Creates a refusal.
    public init(_ code: GrantCode, detail: Detail? = nil) {
        self.code = code
        self.detail = detail
    }

    /// Creates a refusal because of a claim.
    package init(_ code: GrantCode, claim: ClaimLabel) { self.init(code, detail: .claim(claim)) }

    /// Creates a refusal because of a claim of a signed URI.
    package init(_ code: GrantCode, member: URISigningClaim) { self.init(code, detail: .member(member)) }

    /// The subject of a refusal.
    public enum Detail: Hashable, Sendable, CustomStringConvertible {
        /// A claim of the token.
        case claim(ClaimLabel)
        /// A fact that the edge does not report, and the claim that needs it.
        case fact(RequestFact, for: ClaimLabel)
        /// A claim of a signed URI.
        case member(URISigningClaim)
        /// A fact that the edge does not report, and the claim of a signed URI that needs it.
        case memberFact(RequestFact, for: URISigningClaim)
        /// A key set that is being fetched, and may bring the token's key.
        case keySetAwaited

        /// The name of the claim or of the fact.
        public var description: String {
            switch self {
            case .claim(let label): label.description
            case .fact(let fact, _), .memberFact(let fact, _): fact.rawValue
            case .member(let claim): claim.rawValue
            case .keySetAwaited: "its key set is being fetched"
            }
        }
    }

    /// The action that the client should perform: that of the code, or to retry if a key set is being fetched.
    public var action: ClientAction { detail == .keySetAwaited ? .retry : code.action }

    /// The claim of a CBOR Web Token that failed or that needs a missing fact, if the refusal concerns one.
    public var claim: ClaimLabel? {
        switch detail {
        case .claim(let label), .fact(_, let label): label
        case .member, .memberFact, .keySetAwaited, nil: nil
        }
    }

    /// The name of the claim that failed or that needs a missing fact, in any format; `nil` if the refusal concerns none.
    public var claimName: String? {
        switch detail {
        case .claim(let label), .fact(_, let label): label.description
        case .member(let claim), .memberFact(_, let claim): claim.rawValue
        case .keySetAwaited, nil: nil
        }
    }

    /// The missing fact, if the refusal is because of one.
    public var fact: RequestFact? {
        switch detail {
        case .fact(let fact, _), .memberFact(let fact, _): fact
        case .claim, .member, .keySetAwaited, nil: nil
        }
    }
}
