// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of an initialised verification context (`EVP_PKEY_CTX`), for any number of signatures by one key.
///
/// The initialisation costs as much as a seventh of a verification with RSA and 2048 bits, so it is done once. Not
/// thread-safe: it belongs to a context that one thread holds at a time.
@safe
package final class VerificationKeyContext {
    private let context: OpaquePointer  // <EVP_PKEY_CTX>

    /// Assumes ownership of a key, and frees it on failure too.
    ///
    /// - Parameter scheme: A scheme with a function of its own, so not Ed25519.
    @unsafe
    package init(owning key: OpaquePointer, _ scheme: SignatureScheme) throws(OpenSSLError) {
        defer { unsafe EVP_PKEY_free(key) }  // The context holds its own reference.
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { throw .drained() }
        guard unsafe EVP_PKEY_verify_init(context) == 1, unsafe scheme.prepare(context) else {
            unsafe EVP_PKEY_CTX_free(context)
            throw .drained()
        }
        unsafe self.context = context
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

    /// True if `signature` is the signature over the SHA-256 `digest`.
    ///
    /// Only OpenSSL's result 1 counts as valid. A bad signature and a failed check both return false.
    package func verify(signature: Span<UInt8>, digest: SHA256Digest) -> Bool {
        unsafe digest.withUnsafeBytes { digest in
            unsafe verify(signature, over: UnsafeBufferPointer(start: digest, count: SHA256Digest.size))
        }
    }

    /// True if `signature`, in the form that OpenSSL accepts, is the signature over `digest`.
    @unsafe
    func verify(_ signature: Span<UInt8>, over digest: UnsafeBufferPointer<UInt8>) -> Bool {
        let result = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe EVP_PKEY_verify(context, signature.baseAddress, signature.count, digest.baseAddress, digest.count)
        }
        guard result == 1 else {
            OpenSSLError.forget()
            return false
        }
        return true
    }
}

extension SignatureScheme {
    /// Sets padding and function of an initialised context (`EVP_PKEY_CTX`). Returns false if OpenSSL fails.
    @unsafe
    func prepare(_ context: OpaquePointer) -> Bool {
        switch self {
        case .rs256:
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        case .rs1:
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, EVP_sha1()) == 1
        case .ps256:
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, 32) == 1
        case .es256: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1
        case .es384: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha384()) == 1
        case .es512: unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_sha512()) == 1
        case .ed25519: false
        }
    }
}
