// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings

/// The content of a JSON Web Token **whose signature was not checked**. For inspection only, never for a decision.
package struct UnverifiedAccessToken: Sendable {
    /// The members of the header.
    package let header: [JSON.Member]
    /// The members of the payload.
    package let claims: [JSON.Member]

    private static let limits = JSONLimits(depth: 16, members: 256, elements: 4096)

    /// Reads a token of three parts; `nil` if header and payload are not objects in URL-safe Base64, or it is a media token.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, text.utf8.count <= 64 << 10, let header = Self.members(parts[0]),
            let claims = Self.members(parts[1]),
            !header.contains(where: { $0.name == "typ" && $0.value == "mediatoken+jwt" })
        else { return nil }
        (self.header, self.claims) = (header, claims)
    }

    private static func members(_ part: Substring) -> [JSON.Member]? {
        guard let bytes = Base64.decodeURLSafe(String(part)),
            case .object(let members)? = try? JSONReader.read(bytes.span, limits: limits)
        else { return nil }
        return members
    }

    /// The content in JSON.
    package var json: JSON {
        .object([("notice", "NOT VERIFIED"), ("header", .object(header)), ("claims", .object(claims))])
    }
}
