// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaResources
public import MediaTokens
public import Platform

/// The gate's answer. A refusal is an answer, not an error.
public enum Decision: Hashable, Sendable {
    /// Play.
    case allow(Allowance)
    /// Do not play.
    case refuse(Refusal)

    /// Whether the media may be played.
    public var isAllowed: Bool {
        if case .allow = self { true } else { false }
    }

    /// Why it was refused; in shadow mode, why it would have been.
    public var code: DenyCode? {
        switch self {
        case .allow(let allowance):
            if case .shadow(let code) = allowance.reason { code } else { nil }
        case .refuse(let refusal): refusal.code
        }
    }

    /// What was asked for and shown, as far as it is known.
    public var subject: Subject {
        switch self {
        case .allow(let allowance): allowance.subject
        case .refuse(let refusal): refusal.subject
        }
    }

    /// What was asked for and shown.
    public struct Subject: Hashable, Sendable {
        /// The entry of the catalogue, where there is one.
        public let entry: Catalogue.Entry?
        /// The token, once its signature is known to be authentic.
        public let token: MediaToken?

        /// Nothing is known.
        package static let nothing = Subject(entry: nil, token: nil)

        /// What a token must be good for; nil for unprotected and unknown media.
        public var resource: MediaResource? { entry?.protection.resource }

        /// Whose tokens are asked for; nil for unprotected and unknown media.
        public var requestor: String? { entry?.protection.requestor }
    }

    /// A yes.
    public struct Allowance: Hashable, Sendable {
        /// Why the media may be played.
        public let reason: Reason
        /// What was asked for and shown.
        public let subject: Subject

        /// The last moment at which this token starts a playback; nil where no token was asked for.
        public var expires: Timestamp? { subject.token?.expires }

        /// Why a media may be played.
        public enum Reason: Hashable, Sendable {
            /// The catalogue says that it needs no token.
            case unprotected
            /// The token is good, and was used up by this.
            case verified
            /// The token is good, and this playback was allowed before: a retry.
            case repeated
            /// The token is good, and may be shown until it expires: nothing was used up.
            case withinTTL
            /// The token is good; the request has a method that starts no playback, and nothing was used up.
            case probe
            /// The token is good; whether it was used before is not known, and the configuration lets that pass.
            case useUnknown
            /// It would have been refused; shadow mode let it pass.
            case shadow(DenyCode)

            /// A stable name for logs, metrics and answers.
            public var name: String {
                switch self {
                case .unprotected: "unprotected"
                case .verified: "verified"
                case .repeated: "repeated"
                case .withinTTL: "within_ttl"
                case .probe: "probe"
                case .useUnknown: "use_unknown"
                case .shadow: "shadow"
                }
            }
        }
    }

    /// A no.
    public struct Refusal: Hashable, Sendable {
        /// Why.
        public let code: DenyCode
        /// What was asked for and shown.
        public let subject: Subject

        package init(code: DenyCode, subject: Subject) {
            self.code = code
            self.subject = subject
        }

        /// What the client should do.
        public var action: ClientAction { code.action }
        /// The verifier's status, where verification was what did not pass.
        public var verifierStatus: VerificationStatus? { code.verifierStatus }
    }
}
