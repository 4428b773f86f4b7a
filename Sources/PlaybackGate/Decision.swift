// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
public import MediaResources
public import MediaTokens
public import Platform

/// The decision of the gate. A refusal is a decision, not an error.
public enum Decision: Hashable, Sendable {
    /// The request is allowed.
    case allow(Allowance)
    /// The request is refused.
    case refuse(Refusal)

    /// True if the media may be played.
    public var isAllowed: Bool {
        if case .allow = self { true } else { false }
    }

    /// The code of the refusal; in shadow mode, of the refusal that was not enforced. `nil` otherwise.
    public var code: DenyCode? {
        switch self {
        case .allow(let allowance):
            if case .shadow(let code) = allowance.reason { code } else { nil }
        case .refuse(let refusal): refusal.code
        }
    }

    /// The requested entry and the presented token, as far as they are known.
    public var subject: Subject {
        switch self {
        case .allow(let allowance): allowance.subject
        case .refuse(let refusal): refusal.subject
        }
    }

    /// The outcome of the check of a signed URI (RFC 9246), independent of other credentials that allow the request.
    public enum SignedURIOutcome: Hashable, Sendable {
        /// The signed URI allows the request.
        case allowed
        /// The signed URI is refused.
        case refused(GrantCode)
        /// The signed URI is valid, but a store that may know of a revocation or an earlier use did not answer.
        case unknown
    }

    /// The requested entry and the presented token.
    public struct Subject: Hashable, Sendable {
        /// The entry of the catalogue, if there is one.
        public let entry: Catalogue.Entry?
        /// The token, if its signature is authentic.
        public let token: MediaToken?
        /// The outcome of the check of the presented signed URI; `nil` if there is none.
        public internal(set) var signedURI: SignedURIOutcome?

        /// A subject without entry and token.
        package static let nothing = Subject(entry: nil, token: nil)

        /// The resource that a token must be valid for; `nil` for unprotected, unknown and ambiguous media.
        public var resource: MediaResource? { entry?.protection.resource }

        /// The requestor whose tokens are required; `nil` for unprotected, unknown and ambiguous media.
        public var requestor: String? { entry?.protection.requestor }
    }

    /// A decision to allow the request.
    public struct Allowance: Hashable, Sendable {
        /// The reason why the media may be played.
        public let reason: Reason
        /// The requested entry and the presented token.
        public let subject: Subject
        /// The grants of the playback, or the grant that was accepted; `nil` for a playback without grants.
        public let access: GrantedAccess?
        /// The end of the playback's known slot, if the number of its viewer's playbacks is limited. The answer is
        /// reused no longer, so that the next request prolongs the slot. `nil` if there is no such limit on reuse.
        package internal(set) var slotEnd: Timestamp?

        init(reason: Reason, subject: Subject, access: GrantedAccess? = nil) {
            self.reason = reason
            self.subject = subject
            self.access = access
        }

        /// True if a playback starts or continues by a media token.
        var isStart: Bool {
            switch reason {
            case .verified, .repeated, .withinTTL, .useUnknown: true
            case .unprotected, .probe, .granted, .renewed, .shadow: false
            }
        }

        /// The last moment at which the token starts a playback; `nil` if no authentic token was presented.
        public var expires: Timestamp? { subject.token?.expires }

        /// The reason why media may be played.
        public enum Reason: Hashable, Sendable {
            /// The catalogue requires no token.
            case unprotected
            /// The token is valid, and this playback consumed it.
            case verified
            /// The token is valid, and this playback was allowed before: a retry.
            case repeated
            /// The token is valid until it expires. It was not consumed.
            case withinTTL
            /// The token is valid. The request method starts no playback, so the token was not consumed.
            case probe
            /// The grant of a started playback allows the request.
            case granted
            /// The grant of a started playback allows the request, and was renewed.
            case renewed
            /// The token is valid. The replay store did not answer, and the configuration allows the playback.
            case useUnknown
            /// The request would have been refused. Shadow mode allowed it.
            case shadow(DenyCode)

            /// The stable name for logs, metrics and answers.
            public var name: String {
                switch self {
                case .unprotected: "unprotected"
                case .verified: "verified"
                case .repeated: "repeated"
                case .withinTTL: "within_ttl"
                case .probe: "probe"
                case .granted: "granted"
                case .renewed: "renewed"
                case .useUnknown: "use_unknown"
                case .shadow: "shadow"
                }
            }
        }
    }

    /// A decision to refuse the request.
    public struct Refusal: Hashable, Sendable {
        /// The reason of the refusal.
        public let code: DenyCode
        /// The requested entry and the presented token.
        public let subject: Subject

        /// The unknown fact that the restriction of a grant needs; `nil` for another reason of refusal.
        public let unknownFact: UnknownFact?

        package init(code: DenyCode, subject: Subject, unknownFact: UnknownFact? = nil) {
            self.code = code
            self.subject = subject
            self.unknownFact = unknownFact
        }

        /// The action that the client should perform.
        public var action: ClientAction { code.action }
        /// The status of the verifier, if verification failed.
        public var verifierStatus: VerificationStatus? { code.verifierStatus }
    }
}
