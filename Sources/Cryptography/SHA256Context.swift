// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of a reusable SHA-256 context (`EVP_MD_CTX`), for one thread at a time.
@safe
package final class SHA256Context {
    private let context: OpaquePointer  // <EVP_MD_CTX>

    /// Creates a context. Returns `nil` if OpenSSL fails.
    package init?() {
        guard let context = unsafe makeDigestContext("SHA256") else { return nil }
        unsafe self.context = context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Returns the digest of `bytes`, or `nil` if OpenSSL fails.
    package func hash(_ bytes: Span<UInt8>) -> SHA256Digest? {
        let digest = unsafe SHA256Digest { digest in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe EVP_DigestInit_ex2(context, nil, nil) == 1
                    && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                    && EVP_DigestFinal_ex(context, digest, nil) == 1
            }
        }
        if digest == nil { OpenSSLError.forget() }
        return digest
    }
}
