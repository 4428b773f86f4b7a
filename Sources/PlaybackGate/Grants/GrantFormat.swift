// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CommonAccessTokens
public import Keys
public import URISigning
public import VendorTokens

/// A format of grants. A playback has one grant for each content delivery network, in the format that the network checks.
public enum GrantFormat: Hashable, Sendable {
    /// Common Access Tokens (CTA-5007). The gate checks and renews them too.
    case cat
    /// Signed URIs of RFC 9246.
    case uriSigning
    /// A vendor's signed URLs, cookies or tokens, which the vendor's network checks by itself.
    case vendor(VendorFormat)

    /// All formats.
    public static let all = [.cat, .uriSigning] + VendorFormat.allCases.map { GrantFormat.vendor($0) }

    /// The name in the configuration, in answers and in metrics.
    public var name: String {
        switch self {
        case .cat: "cat"
        case .uriSigning: "uri-signing"
        case .vendor(let format): format.rawValue
        }
    }
}

/// An issuer of tokens by a key.
public protocol KeyedIssuer: Sendable {
    /// The key that signs.
    var key: TokenKey { get }
}

extension CATIssuer: KeyedIssuer {}
extension URISigningIssuer: KeyedIssuer {}

/// An issuer of grants in another format than Common Access Tokens, for one profile.
public enum FormatIssuer: Sendable {
    /// The issuers of signed URIs, whose keys follow each other, and the key that encrypts claims, if there is one.
    case uriSigning([GrantService.Signer<URISigningIssuer>], encryption: EncryptionKey? = nil)
    /// An issuer of a vendor's format.
    case vendor(any VendorIssuer)
}
