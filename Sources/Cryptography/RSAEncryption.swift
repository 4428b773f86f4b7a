// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

// RSA encryption block by block. A block holds the size of the key less the padding.

/// The padding of a text before it is encrypted.
package enum RSAPadding: Sendable {
    /// RSAES-PKCS1-v1_5 (RFC 8017 §7.2).
    case pkcs1
    /// RSAES-OAEP with SHA-1 (RFC 8017 §7.1).
    case oaep
}

extension RSAPadding {
    fileprivate var number: Int32 { self == .pkcs1 ? RSA_PKCS1_PADDING : RSA_PKCS1_OAEP_PADDING }

    /// The smallest number of padding bytes in a block.
    fileprivate var overhead: Int { self == .pkcs1 ? 11 : 42 }
}

extension RSAPrivateKey {
    /// Decrypts 1 to 64 blocks. Returns `nil` if they are not encrypted, or are encrypted for another key.
    package func decrypt(_ bytes: [UInt8], padding: RSAPadding) -> [UInt8]? {
        let size = Int(unsafe EVP_PKEY_get_size(key))
        guard !bytes.isEmpty, bytes.count.isMultiple(of: size), bytes.count <= 64 * size else { return nil }
        defer { OpenSSLError.forget() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_decrypt_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, padding.number) == 1
        else { return nil }
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            var output = [UInt8](repeating: 0, count: size)
            var count = size
            guard unsafe EVP_PKEY_decrypt(context, &output, &count, Array(bytes[start..<start + size]), size) == 1
            else {
                return nil
            }
            text += output.prefix(count)
        }
        return text
    }
}

extension RSAPublicKey {
    /// Encrypts bytes for the holder of the private key, in at most 64 blocks.
    package borrowing func encrypt(_ bytes: [UInt8], padding: RSAPadding) -> [UInt8]? {
        let most = signatureSize - padding.overhead
        guard bytes.count <= 64 * most else { return nil }
        defer { OpenSSLError.forget() }
        return unsafe withKey { key in
            guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
            defer { unsafe EVP_PKEY_CTX_free(context) }
            guard unsafe EVP_PKEY_encrypt_init(context) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, padding.number) == 1
            else { return nil }
            var blocks: [UInt8] = []
            for start in stride(from: 0, to: max(bytes.count, 1), by: most) {
                let part = Array(bytes[start..<min(start + most, bytes.count)])
                var output = [UInt8](repeating: 0, count: signatureSize)
                var count = output.count
                guard unsafe EVP_PKEY_encrypt(context, &output, &count, part, part.count) == 1 else { return nil }
                blocks += output.prefix(count)
            }
            return blocks
        }
    }
}
