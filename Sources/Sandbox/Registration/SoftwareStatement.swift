// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A software statement: the JWT that an application registers with. The sandbox does not verify its signature.
struct SoftwareStatement: Sendable {
    /// The SHA-256 of the statement. The statement itself is not stored.
    let digest: [UInt8]
    /// The audiences in its `aud` claim.
    let audiences: [String]

    /// Parses a statement of up to 16 KiB.
    ///
    /// - Returns: `nil` if `text` is not three Base64url parts, the second of which is a JSON object.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 16 * 1024, parts.count == 3, !parts[2].isEmpty,
            Base64.decode([UInt8](parts[0].utf8)) != nil, let claims = JSON(base64Object: parts[1]),
            Base64.decode([UInt8](parts[2].utf8)) != nil
        else { return nil }
        digest = SHA256.digest(text)
        audiences = claims["aud"]?.text.map { [$0] } ?? claims["aud"]?.values?.compactMap(\.text) ?? []
    }
}
