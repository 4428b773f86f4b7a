// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import PlaybackGate

/// A new grant, issued or renewed, that an answer delivers to the client through the edge.
///
/// The names of its header fields are constants: neither a token nor a configuration can name one. This is a class, so
/// that an answer without a grant stores only a reference.
package final class DeliveredGrant: Sendable {
    /// The response header fields that players read a token from, beside the cookie.
    package struct PlayerHeaders: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `CTA-Common-Access-Token`, which CTA-5007 registers.
        package static let standard = PlayerHeaders(rawValue: 1)
        /// `Common-Access-Token`, an older name that players listen to.
        package static let older = PlayerHeaders(rawValue: 2)
    }

    /// The fields of an answer from which edges read a grant. Each has up to 4 KiB, because edges limit a whole head.
    package struct Fields: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `Set-Cookie`, which some edges pass on as it is.
        package static let cookie = Fields(rawValue: 1)
        /// `X-Playgate-Set-Cookie`, the same for edges that see only one cookie, or set it by themselves.
        package static let namedCookie = Fields(rawValue: 2)
        /// `X-Playgate-Grant`, for edges that check grants themselves.
        package static let token = Fields(rawValue: 4)
        /// `CTA-Common-Access-Token`, if the profile has it.
        package static let standardHeader = Fields(rawValue: 8)
        /// `Common-Access-Token`, if the profile has it.
        package static let olderHeader = Fields(rawValue: 16)

        package static let all: Fields = [.cookie, .namedCookie, .token, .standardHeader, .olderHeader]
    }

    /// The token.
    package let token: String
    /// The whole value of `Set-Cookie`; `nil` if the grant is not delivered as a cookie.
    package let cookie: String?
    /// The response header fields that contain the token.
    package let headers: PlayerHeaders
    /// The fields of answers that the edge uses.
    package let fields: Fields
    /// The value of `Location` of a redirect to the same target with the token; `nil` if the answer is no redirect.
    package let location: String?

    /// Creates a grant to deliver; `nil` if its token or cookie cannot be in a header field as it is.
    ///
    /// - Parameters:
    ///   - token: The token: base64url, with full stops.
    ///   - cookie: The whole value of `Set-Cookie`; `nil` if the grant is not delivered as a cookie.
    ///   - headers: The response header fields that contain the token.
    ///   - fields: Those that the edge uses.
    ///   - location: The target of the request with the token in its query, for a redirect. It is left out if it is too
    ///     large or no valid header field. The request is then answered without a redirect.
    package init?(
        token: String,
        cookie: String?,
        headers: PlayerHeaders = [],
        fields: Fields = .all,
        location: String? = nil
    ) {
        guard GrantDelivery.isToken(token), cookie.map(GrantDelivery.isCookie) ?? true else { return nil }
        self.token = token
        self.cookie = cookie
        self.headers = headers
        self.fields = fields
        let isText = location?.utf8.allSatisfy { 0x21...0x7E ~= $0 } ?? false
        self.location = isText && location?.utf8.count ?? 0 <= 2 * GrantDelivery.maximumSize ? location : nil
    }
}
