// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The text form of an envelope: URL-safe Base64 (RFC 4648 §5), in its only form except for the padding, which may be
/// there.
public enum COSEText {
    /// The largest number of characters of a text.
    public static let maximumCharacters = 5464
    /// The largest number of bytes of an envelope.
    public static let maximumBytes = 4096
    /// The size of a buffer for every text that is accepted.
    public static let bufferSize = Base64.decodedCapacity(maximumCharacters)

    /// Decodes `text` into the front of `output`, which has bufferSize bytes. Returns the number of bytes, or why it
    /// is refused.
    public static func decode(_ text: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Result<Int, COSERefusal> {
        guard text.count <= maximumCharacters else { return .failure(.tooLarge) }
        guard let count = Base64.decodeURLSafe(text, into: &output, allowsPadding: true), count > 0 else {
            return .failure(.malformed)
        }
        return count <= maximumBytes ? .success(count) : .failure(.tooLarge)
    }

    /// Returns `bytes` as text, without padding.
    public static func encode(_ bytes: [UInt8]) -> String { Base64.encodeURLSafe(bytes) }
}
