// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The result of a verification. A refusal is a result, not an error.
public enum Verification: Hashable, Sendable {
    /// The token passed every check. `key` is the name of the trusted key that made the signature.
    case valid(MediaToken, key: String)
    /// The token failed a check.
    case refused(Refusal)

    /// A refusal of a token: the first failed check, with the token's verified content and key if they are known.
    public struct Refusal: Hashable, Sendable {
        /// The first check that failed.
        public let reason: RefusalReason
        /// The content of the token, or `nil`. Set only if a trusted key signed the token and its fields could be read.
        public let token: MediaToken?
        /// The name of the trusted key that signed the token, or `nil`. Set only if such a key was found.
        public let key: String?

        /// The closest of the six statuses of the vendor's verifier library.
        public var status: VerificationStatus { reason.status }
    }

    /// True if every check passed.
    public var isValid: Bool {
        if case .valid = self { true } else { false }
    }

    /// The result as one of the six statuses of the vendor's verifier library.
    public var status: VerificationStatus {
        switch self {
        case .valid: .validToken
        case .refused(let refusal): refusal.status
        }
    }

    /// The first check that failed, or `nil` if the token is valid.
    public var reason: RefusalReason? {
        switch self {
        case .valid: nil
        case .refused(let refusal): refusal.reason
        }
    }

    /// The content of the token if a trusted key signed it, otherwise `nil`. Refusals can have it too: check
    /// ``isValid``.
    public var token: MediaToken? {
        switch self {
        case .valid(let token, key: _): token
        case .refused(let refusal): refusal.token
        }
    }

    /// The name of the trusted key that signed the token, or `nil`. Refusals can have it too: check ``isValid``.
    public var key: String? {
        switch self {
        case .valid(_, let key): key
        case .refused(let refusal): refusal.key
        }
    }

    static func refused(_ reason: RefusalReason, token: MediaToken? = nil, key: String? = nil) -> Verification {
        .refused(Refusal(reason: reason, token: token, key: key))
    }
}
