// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import PlaybackGate

/// A new grant, issued or renewed, that an answer delivers to the client through the edge.
///
/// The names of its header fields are constants: neither a token nor a configuration can name one. This is a class, so that an
/// answer without a grant has no more than a reference.
final class DeliveredGrant: Sendable {
    /// The response header fields that players read a token from, beside the cookie.
    struct PlayerHeaders: OptionSet, Sendable {
        let rawValue: UInt8

        /// `CTA-Common-Access-Token`, which CTA-5007 registers.
        static let standard = PlayerHeaders(rawValue: 1)
        /// `Common-Access-Token`, an older name that players listen to.
        static let older = PlayerHeaders(rawValue: 2)
    }

    /// The token.
    let token: String
    /// The whole value of `Set-Cookie`; `nil` if the grant is not delivered as a cookie.
    let cookie: String?
    private let headers: PlayerHeaders
    /// The value of `Location` of a redirect to the same target with the token; `nil` if the answer is none.
    let location: String?

    /// Creates a grant to deliver; `nil` if its token or cookie cannot be in a header field as it is.
    ///
    /// - Parameters:
    ///   - token: The token: base64url, with full stops.
    ///   - cookie: The whole value of `Set-Cookie`; `nil` if the grant is not delivered as a cookie.
    ///   - headers: The response header fields that contain the token.
    ///   - location: The target of the request with the token in its query, for a redirect. One that is too large, or cannot be in
    ///     a header field as it is, is left out, and the request is answered without a redirect.
    init?(token: String, cookie: String?, headers: PlayerHeaders = [], location: String? = nil) {
        guard GrantDelivery.isToken(token), cookie.map(GrantDelivery.isCookie) ?? true else { return nil }
        self.token = token
        self.cookie = cookie
        self.headers = headers
        let isText = location?.utf8.allSatisfy { 0x21...0x7E ~= $0 } ?? false
        self.location = isText && location?.utf8.count ?? 0 <= 2 * GrantDelivery.maximumSize ? location : nil
    }

    /// The most bytes that ``write(into:)`` writes.
    var limit: Int {
        224 + 3 * token.utf8.count + 2 * (cookie?.utf8.count ?? 0) + (location?.utf8.count ?? 0)
    }

    /// Writes the header fields. Edges deliver the one that they can: some see only the first `Set-Cookie`, or none.
    func write(into writer: inout ByteWriter) {
        if let cookie {
            for name: StaticString in ["Set-Cookie: ", "X-Playgate-Set-Cookie: "] { write(name, cookie, into: &writer) }
        }
        if let location { write("Location: ", location, into: &writer) }
        write("X-Playgate-Grant: ", token, into: &writer)
        if headers.contains(.standard) { write("CTA-Common-Access-Token: ", token, into: &writer) }
        if headers.contains(.older) { write("Common-Access-Token: ", token, into: &writer) }
    }

    private func write(_ name: StaticString, _ value: String, into writer: inout ByteWriter) {
        writer.write(name)
        writer.write(value.utf8.span)
        writer.write("\r\n")
    }
}
