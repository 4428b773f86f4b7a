// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Encodings

/// MD5 of texts that documents want hashed by it. It protects nothing.
package enum MD5 {
    /// The digest of the UTF-8 bytes of `text` in hexadecimal; empty where OpenSSL is set up to have no MD5.
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
