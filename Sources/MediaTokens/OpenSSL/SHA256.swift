// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// SHA-256 of bytes that are no token: names of sessions, API keys.
package enum SHA256 {
    /// The digest of the UTF-8 bytes of `text`.
    package static func digest(_ text: String) -> [UInt8] { digest([UInt8](text.utf8)) }

    /// The digest of `bytes`: 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // OpenSSL's own one-shot function: it allocates nothing, and cannot fail for bytes in memory.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                _ = unsafe COpenSSL.SHA256(bytes.baseAddress, bytes.count, digest.baseAddress)
            }
        }
        return digest
    }
}
