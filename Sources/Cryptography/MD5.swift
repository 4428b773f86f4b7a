// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Encodings

/// MD5, for formats that require it. It gives no security.
package enum MD5 {
    /// Returns the digest of the UTF-8 bytes of `text` in hexadecimal. Empty if OpenSSL is configured without MD5.
    package static func hexadecimal(_ text: String) -> String {
        var digest = [UInt8](repeating: 0, count: 16)
        var count: UInt32 = 0
        let bytes = [UInt8](text.utf8)
        guard unsafe EVP_Digest(bytes, bytes.count, &digest, &count, EVP_md5(), nil) == 1, count == 16 else {
            OpenSSLError.forget()
            return ""
        }
        return digest.hexadecimal
    }
}
