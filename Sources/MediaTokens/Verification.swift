// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The answer of a verification. A refusal is an answer, not an error.
public enum Verification: Hashable, Sendable {
    /// Every check passed. `key` is the name of the trusted key that made the signature.
    case valid(MediaToken, key: String)
    /// A check did not pass.
    case refused(Refusal)

    /// A refusal: why, and of what token, as far as that is known for certain.
    public struct Refusal: Hashable, Sendable {
        /// The first check that did not pass.
        public let reason: RefusalReason
        /// What the token says, where a trusted key signed it and it could be read; otherwise nil.
        public let token: MediaToken?
        /// The name of the trusted key that signed it, where one did; otherwise nil.
        public let key: String?

        /// The status that says the reason most closely in the six names that integrators know.
        public var status: VerificationStatus { reason.status }
    }

    /// Whether every check passed.
    public var isValid: Bool {
        if case .valid = self { true } else { false }
    }

    /// The answer in the six names that integrators know.
    public var status: VerificationStatus {
        switch self {
        case .valid: .validToken
        case .refused(let refusal): refusal.status
        }
    }

    /// The first check that did not pass, or nil.
    public var reason: RefusalReason? {
        switch self {
        case .valid: nil
        case .refused(let refusal): refusal.reason
        }
    }

    /// What the token says, where a trusted key signed it; otherwise nil. Not a yes: see ``isValid``.
    public var token: MediaToken? {
        switch self {
        case .valid(let token, key: _): token
        case .refused(let refusal): refusal.token
        }
    }

    /// The name of the trusted key that signed the token, where one did; otherwise nil.
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
