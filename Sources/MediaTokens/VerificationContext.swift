// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// What one thread needs for a verification and keeps for the next: buffers and prepared OpenSSL contexts.
final class VerificationContext: @unchecked Sendable {  // Used by who holds its slot.
    /// The raw token, decoded.
    let raw = ScratchBytes(count: Base64.decodedCapacity(Verifier.maximumEncodedSize))
    /// The signature, decoded.
    let signature = ScratchBytes(count: Base64.decodedCapacity(maximumSignatureCharacters))
    let sha256 = SHA256Context()
    /// The place of the key that made the last good signature: tried first.
    var lastKey = 0
    private var keys: [RSAVerificationContext?]

    /// More characters than the signature of the largest key has.
    static let maximumSignatureCharacters = (RSAPublicKey.maximumBits / 8 + 2) / 3 * 4

    init(keyCount: Int) { keys = Array(repeating: nil, count: keyCount) }

    /// The context of the key at `index` of `groups`, made when it is needed for the first time; nil when OpenSSL cannot.
    func key(_ index: Int, of groups: [KeyGroup]) -> RSAVerificationContext? {
        if let context = keys[index] { return context }
        // Assigned as a whole: so nothing runs during an access, and none has to be checked as it runs.
        let context = try? groups[index].key.makeVerificationContext()
        var keys = keys
        keys[index] = context
        self.keys = keys
        return context
    }
}
