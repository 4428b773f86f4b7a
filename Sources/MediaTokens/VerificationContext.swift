// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The buffers and prepared OpenSSL contexts for one verification at a time, reused for the next one.
final class VerificationContext: @unchecked Sendable {  // Used only by the holder of its slot.
    /// The decoded raw token.
    let raw = ScratchBytes(count: Base64.decodedCapacity(Verifier.maximumEncodedSize))
    /// The decoded signature.
    let signature: ScratchBytes
    /// The length of the padded Base64 text of the largest key's signature. A global constant would be a call each time.
    let maximumSignatureCharacters = (RSAPublicKey.maximumBits / 8 + 2) / 3 * 4
    let sha256 = SHA256Context()
    /// The order in which keys are tried, if there are several.
    var signers = SignerHistory()
    private var keys: [VerificationKeyContext?]

    init(keyCount: Int) {
        signature = ScratchBytes(count: Base64.decodedCapacity(maximumSignatureCharacters))
        keys = Array(repeating: nil, count: keyCount)
    }

    /// Returns the context of the key at `index` of `groups`, created on first use, or `nil` if OpenSSL fails.
    func key(_ index: Int, of groups: [KeyGroup]) -> VerificationKeyContext? {
        if let context = keys[index] { return context }
        // Assigned as a whole, so that no code runs during an access and no access is checked for exclusivity meanwhile.
        let context = try? groups[index].key.makeVerificationContext()
        var keys = keys
        keys[index] = context
        self.keys = keys
        return context
    }
}
