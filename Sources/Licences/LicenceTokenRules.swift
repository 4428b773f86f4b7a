// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The rules for the tokens of one licence server.
public struct LicenceTokenRules: Sendable {
    /// The name of the rules in the configuration and in answers.
    public var name: String
    /// The form of the tokens.
    public var form: LicenceTokenForm
    /// The life of a token, from 5 s to 24 h: it never outlives its playback. DoveRunner's server has a life of its own.
    public var life: Duration
    /// The carrier of the token in a player's request.
    public var carrier: LicenceToken.Carrier
    /// The rights that the licence server may grant.
    public var policy = LicencePolicy()
    /// Names of tracks that the operator's content keys have besides those of ``TrackType``.
    public var tracks: [String: TrackType] = [:]
    /// The settings of the form, by its names for them: see ``LicenceTokenForm/settings``.
    public var settings: [String: String] = [:]
    /// The claims of the form ``LicenceTokenForm/jws``, and the rights of ``LicenceTokenForm/nagra``: a JSON object. See
    /// ``LicenceTokenIssuer``.
    public var claims: [UInt8]?
    /// The type (`typ`) in the header; `nil` for none.
    public var type: String? = "JWT"

    /// Creates rules with the defaults of a form.
    public init(_ name: String, form: LicenceTokenForm) {
        self.name = name
        self.form = form
        life = .seconds(60)
        carrier = form.carrier
    }
}

/// The rights that a licence server may grant. A right that the form of its tokens cannot say is an error.
public struct LicencePolicy: Hashable, Sendable {
    /// True if players may store the licence. False, the default, is said to the server too.
    public var isPersistent = false
    /// The time for which the licence is good; `nil` if the server decides.
    public var duration: Duration?
    /// The outputs that must be protected; `nil` if the server decides.
    public var outputProtection: Set<Output>?
    /// The largest picture; `nil` for every one. Keys of larger ones are left out.
    public var largestPicture: TrackType?

    /// A kind of outputs of a device.
    public enum Output: String, Hashable, Sendable, CaseIterable {
        /// HDMI and others, by HDCP.
        case digital
        /// Analogue ones.
        case analogue
    }

    /// Creates a policy that stores nothing, and leaves the rest to the server.
    public init() {}
}

/// The track that a content key is for. Source: the texts that CPIX documents use by agreement (`intendedTrackType`).
public enum TrackType: String, Hashable, Sendable, CaseIterable {
    /// Sound.
    case audio = "AUDIO"
    /// Pictures of standard definition.
    case sd = "SD"
    /// Pictures of high definition.
    case hd = "HD"
    /// Pictures of up to 3840 × 2160.
    case uhd1 = "UHD1"
    /// Pictures of up to 7680 × 4320.
    case uhd2 = "UHD2"
    /// All pictures.
    case video = "VIDEO"
    /// All tracks.
    case all = "ALL"

    /// Reads a text of a CPIX document or a configuration; `nil` for one that has no agreed meaning.
    public init?(text: String) {
        guard let type = text == "UHD" ? .uhd1 : TrackType(rawValue: text) else { return nil }
        self = type
    }

    /// The tracks that are pictures of one definition, the smallest first.
    package static let pictures: [TrackType] = [.sd, .hd, .uhd1, .uhd2]

    /// The index among ``pictures``; `nil` for other tracks.
    var definition: Int? { Self.pictures.firstIndex(of: self) }
}

/// An error in rules for licence tokens, or in what a token is to be issued for.
public struct LicenceTokenError: Error, Sendable {
    /// The stable code of the error, for programs.
    public let code: Code
    /// The explanation in words, for people.
    public let reason: String

    /// The cause of an error.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The rules contradict the form of the tokens, or lack what it needs.
        case rules = "licence_rules_invalid"
        /// The key cannot sign these tokens.
        case key = "licence_key_unusable"
        /// The asset or its content keys are not what the form needs.
        case content = "licence_content_invalid"
        /// OpenSSL failed, or the key does not sign now.
        case unavailable = "licence_token_unavailable"
    }

    init(_ code: Code, reason: String) { (self.code, self.reason) = (code, reason) }
}

extension LicenceTokenError: CustomStringConvertible {
    public var description: String { "\(reason) [\(code.rawValue)]" }
}
