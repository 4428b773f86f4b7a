// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import Keys
import VendorTokens

/// A format of grants on the command line.
enum GrantFormatName: String, ExpressibleByArgument, CaseIterable {
    /// CTA-5007 Common Access Tokens.
    case cat
    /// RFC 9246 signed URIs.
    case uriSigning = "uri-signing"
    case edgeAuth = "edgeauth"
    case cloudFront = "cloudfront"
    case mediaCDN = "media-cdn"
    case bunny
    case cloudflare
    case fastly
    case secureLink = "secure-link"
    case accessControl = "access-control"
    case urlSig = "url-sig"

    /// The format of the keys.
    var tokenFormat: TokenFormat { self == .uriSigning ? .uriSigning : .cat }

    /// The vendor's format; `nil` for a standard's.
    var vendor: VendorFormat? { VendorFormat(rawValue: rawValue) }
}
