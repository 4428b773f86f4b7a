// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// What an application shows to be registered: a JWT, whose signature a stand-in does not look at.
struct SoftwareStatement: Sendable {
    /// What names it in the state: nothing of the statement itself is kept.
    let digest: [UInt8]
    /// Whom its `aud` names.
    let audiences: [String]

    /// - Returns: Nil where `text` is not three Base64url parts, the second of them a JSON object.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 16 * 1024, parts.count == 3, !parts[2].isEmpty,
            Base64.decode([UInt8](parts[0].utf8)) != nil, let claims = Self.members(parts[1]),
            Base64.decode([UInt8](parts[2].utf8)) != nil
        else { return nil }
        digest = SHA256.digest(text)
        switch claims.first(where: { $0.name == "aud" })?.value {
        case .text(let audience): audiences = [audience]
        case .list(let values):
            audiences = values.compactMap { value in
                if case .text(let audience) = value { audience } else { nil }
            }
        default: audiences = []
        }
    }

    private static func members(_ part: Substring) -> [JSONValue.Member]? {
        guard let bytes = Base64.decode([UInt8](part.utf8)),
            case .object(let members)? = try? JSONReader.read(
                bytes.span,
                limits: JSONLimits(depth: 8, members: 64, elements: 64)
            )
        else { return nil }
        return members
    }
}
