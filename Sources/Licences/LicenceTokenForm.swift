// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Keys

/// A form of licence tokens. All but ``jws`` have the claims that a vendor's public manual names.
public enum LicenceTokenForm: String, Hashable, Sendable, CaseIterable {
    /// A JSON Web Token with the operator's own claims.
    case jws
    /// castLabs DRMtoday, the upfront authorization token.
    case castLabs = "castlabs"
    /// Axinom DRM, the licence service message.
    case axinom
    /// Nagra SSP, the content authorization token.
    case nagra
    /// drm.cloud, the user token.
    case drmCloud = "drm-cloud"
    /// Mux, the DRM licence token.
    case mux
    /// DoveRunner, once PallyCon: the licence token of version 3, which is no JSON Web Token.
    case doveRunner = "doverunner"

    /// The carrier of the token in a player's request, by default.
    public var carrier: LicenceToken.Carrier {
        switch self {
        case .jws: .header("Authorization")
        case .castLabs: .header("x-dt-auth-token")
        case .axinom: .header("X-AxDRM-Message")
        case .nagra: .header("nv-authorizations")
        case .drmCloud: .header("X-Drm-UserToken")
        case .mux: .query("token")
        case .doveRunner: .header("pallycon-customdata-v2")
        }
    }

    /// The algorithms, the default one first; empty for ``doveRunner``, which has a hash of its own.
    public var algorithms: [KeyAlgorithm] {
        switch self {
        case .jws: [.hs256, .hs384, .hs512, .rs256, .es256]
        case .castLabs: [.hs256, .hs384, .hs512]
        case .axinom, .nagra, .drmCloud: [.hs256]
        case .mux: [.rs256]
        case .doveRunner: []
        }
    }

    /// The encoding in which the vendor hands out a secret.
    public var secretEncoding: SecretEncoding {
        switch self {
        case .castLabs: .hexadecimal
        case .doveRunner: .text
        case .jws, .axinom, .nagra, .drmCloud, .mux: .base64
        }
    }

    /// An encoding of a secret.
    public enum SecretEncoding: String, Hashable, Sendable, CaseIterable {
        /// Base64, of either alphabet.
        case base64
        /// Hexadecimal digits.
        case hexadecimal = "hex"
        /// The text itself.
        case text
    }

    /// The settings of the form, and whether each is required.
    public var settings: [(name: String, isRequired: Bool)] {
        switch self {
        case .castLabs: [("merchant", true), ("crt", false)]
        case .doveRunner: [("site", true), ("drm", true)]
        case .axinom, .jws, .nagra, .drmCloud, .mux: []
        }
    }

    /// True if a token needs the id of its key: in the header, or as a claim.
    public var needsKeyID: Bool {
        switch self {
        case .castLabs, .axinom, .nagra, .mux: true
        case .jws, .drmCloud, .doveRunner: false
        }
    }

    /// True if a token needs content keys.
    public var needsContentKeys: Bool { self == .axinom || self == .drmCloud }

    /// True if the operator's claims are part of the token.
    public var needsClaims: Bool { self == .jws || self == .nagra }

    /// The longest life of a token.
    public var longestLife: Duration { .seconds(86_400) }

    /// The parts of a policy that the form can say.
    var abilities: (persistence: Bool, duration: Bool, outputs: Bool, picture: Bool) {
        switch self {
        // Its claims say what they say.
        case .jws: (false, false, false, true)
        case .castLabs: (true, true, true, false)
        case .axinom: (true, true, false, true)
        case .nagra: (false, false, false, true)
        case .drmCloud: (false, true, false, true)
        case .mux: (false, false, false, false)
        case .doveRunner: (true, true, false, true)
        }
    }
}
