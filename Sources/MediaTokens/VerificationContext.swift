// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What one thread needs for a verification and keeps for the next: buffers and prepared OpenSSL contexts.
final class VerificationContext: @unchecked Sendable {  // Used by one thread at a time, through its pool.
    /// Storage that whoever uses the context takes out for the time.
    var buffers = Buffers()
    let sha256 = SHA256Context()
    /// The place of the key that made the last good signature: tried first.
    var lastKey = 0
    private var keys: [RSAVerificationContext?]

    /// More characters than the signature of the largest key has.
    static let maximumSignatureCharacters = (RSAPublicKey.maximumBits / 8 + 2) / 3 * 4

    struct Buffers {
        /// The raw token, decoded.
        var raw = [UInt8](repeating: 0, count: Base64.decodedCapacity(Verifier.maximumEncodedSize))
        /// The signature, decoded.
        var signature = [UInt8](repeating: 0, count: Base64.decodedCapacity(maximumSignatureCharacters))
        /// Text of fields that does not stand in the token as it is.
        var text: [UInt8] = []

        /// No storage, to stand in for storage that was taken out.
        static var none: Buffers { Buffers(raw: [], signature: [], text: []) }
    }

    init(keyCount: Int) { keys = Array(repeating: nil, count: keyCount) }

    /// The context of the key at `index` of `groups`, made when it is needed for the first time; nil when OpenSSL cannot.
    func key(_ index: Int, of groups: [KeyGroup]) -> RSAVerificationContext? {
        if let context = keys[index] { return context }
        keys[index] = try? groups[index].key.makeVerificationContext()
        return keys[index]
    }
}
