// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import Platform

/// The texts by which an answer to an edge delivers a new grant to a player, by the profile of the grant.
package struct GrantDelivery: Sendable {
    /// The token: base64url, with full stops.
    package let token: String
    /// The value of `Set-Cookie`; `nil` if the grant is not delivered as a cookie.
    package let cookie: String?
    /// True if the token goes into header fields of the response too.
    package let isInHeader: Bool

    /// The maximum size of a cookie or token, in bytes. Browsers drop larger cookies silently.
    package static let maximumSize = 4096

    /// Creates the delivery of a grant; `nil` if its token or cookie cannot be in a header field as it is.
    package init?(_ grant: IssuedGrant, at now: Timestamp) {
        let rules = grant.profile.rules
        let hasCookie = rules.renewal?.way != .header || rules.deliveries.contains(.cookie)
        token = grant.token
        cookie = hasCookie ? grant.setCookies(at: now).first : nil
        isInHeader = rules.renewal?.way == .header || rules.deliveries.contains(.header)
        guard Self.isToken(token), cookie.map(Self.isCookie) ?? true else { return nil }
    }

    /// True if a text can be a token in a header field.
    package static func isToken(_ token: String) -> Bool {
        1...maximumSize ~= token.utf8.count && token.utf8.allSatisfy { $0.isUnreserved && $0 != UInt8(ascii: "~") }
    }

    /// True if a text can be the value of `Set-Cookie`.
    package static func isCookie(_ cookie: String) -> Bool {
        1...maximumSize ~= cookie.utf8.count && cookie.utf8.allSatisfy { 0x20...0x7E ~= $0 }
    }
}

extension GrantedAccess {
    /// The grant that an edge delivers to the player: of those that the gate checks, a Common Access Token first.
    package var delivered: IssuedGrant? {
        issued.first { $0.profile.format == .cat } ?? issued.first { $0.profile.format == .uriSigning }
    }
}
