// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import EdgeTokens

/// A format of grants on the command line.
enum GrantFormatName: String, ExpressibleByArgument, CaseIterable {
    /// CTA-5007 Common Access Tokens.
    case cat
    case edgeAuth = "edgeauth"
    case cloudFront = "cloudfront"
    case mediaCDN = "media-cdn"
    case bunny
    case cloudflare
    case fastly
    case secureLink = "secure-link"
    case accessControl = "access-control"
    case urlSig = "url-sig"

    /// The vendor's format; `nil` for a standard's.
    var vendor: VendorFormat? { VendorFormat(rawValue: rawValue) }
}
