// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// A key of AES in Galois/Counter Mode, for small texts (NIST SP 800-38D): nonces of 96 bits, tags of 128.
package struct AuthenticatedCipher: Sendable {
    private let key: [UInt8]

    /// The size of a nonce in bytes.
    package static let nonceSize = 12
    /// The size of a tag in bytes.
    package static let tagSize = 16
    /// The largest text, in bytes.
    package static let maximumSize = 64 << 10

    /// Creates a cipher; `nil` if the key has neither 16 nor 32 bytes.
    package init?(_ key: [UInt8]) {
        guard key.count == 16 || key.count == 32 else { return nil }
        self.key = key
    }

    /// Encrypts a text of at most ``maximumSize`` bytes. Returns the text and its tag; `nil` if OpenSSL fails.
    ///
    /// - Parameters:
    ///   - nonce: ``nonceSize`` bytes that no other text under this key has.
    ///   - data: The bytes that the tag covers besides the text.
    package func seal(_ text: [UInt8], nonce: [UInt8], authenticating data: [UInt8]) -> (text: [UInt8], tag: [UInt8])? {
        guard let context = CipherContext(gcm: key, nonce, isEncrypting: true), context.authenticate(data),
            let output = context.update(text), context.finish(), let tag = context.tag(Self.tagSize)
        else { return nil }
        return (output, tag)
    }

    /// Decrypts a text of at most ``maximumSize`` bytes; `nil` if the tag is not one of this text, nonce and data.
    package func open(_ text: [UInt8], nonce: [UInt8], authenticating data: [UInt8], tag: [UInt8]) -> [UInt8]? {
        guard tag.count == Self.tagSize, let context = CipherContext(gcm: key, nonce, isEncrypting: false),
            context.authenticate(data), let output = context.update(text), context.expect(tag), context.finish()
        else { return nil }
        return output
    }
}

/// A key of AES-256 in CBC mode with the padding of PKCS #7. It authenticates nothing: only for a vendor's format.
package struct BlockCipher: Sendable {
    private let key: [UInt8]

    /// The size of a block, and of an initial vector, in bytes.
    package static let blockSize = 16

    /// Creates a cipher; `nil` if the key has not 32 bytes.
    package init?(_ key: [UInt8]) {
        guard key.count == 32 else { return nil }
        self.key = key
    }

    /// Encrypts a text of fewer than ``AuthenticatedCipher/maximumSize`` bytes; `nil` for a larger one, or if OpenSSL fails.
    package func encrypt(_ text: [UInt8], initialVector: [UInt8]) -> [UInt8]? {
        guard initialVector.count == Self.blockSize else { return nil }
        let rest = Self.blockSize - text.count % Self.blockSize
        let padded = text + [UInt8](repeating: UInt8(rest), count: rest)
        return CipherContext(cbc: key, initialVector)?.update(padded)
    }
}

/// A key that wraps other keys with AES (RFC 3394), and its initial value.
package struct KeyWrap: Sendable {
    private let key: [UInt8]

    /// Creates a key; `nil` if it has neither 16 nor 32 bytes.
    package init?(_ key: [UInt8]) {
        guard key.count == 16 || key.count == 32 else { return nil }
        self.key = key
    }

    /// Wraps a key of 16 to 64 bytes, a multiple of 8; `nil` for others, or if OpenSSL fails.
    package func wrap(_ other: [UInt8]) -> [UInt8]? {
        guard 16...64 ~= other.count, other.count.isMultiple(of: 8) else { return nil }
        return CipherContext(wrap: key, isEncrypting: true)?.update(other, growingBy: 8)
    }

    /// Unwraps a key; `nil` if it was not wrapped by this one.
    package func unwrap(_ wrapped: [UInt8]) -> [UInt8]? {
        guard 24...72 ~= wrapped.count, wrapped.count.isMultiple(of: 8) else { return nil }
        return CipherContext(wrap: key, isEncrypting: false)?.update(wrapped, growingBy: -8)
    }
}

/// The owner of a cipher context (`EVP_CIPHER_CTX`) for one text.
@safe
private final class CipherContext {
    private let context: OpaquePointer  // <EVP_CIPHER_CTX>

    convenience init?(gcm key: [UInt8], _ nonce: [UInt8], isEncrypting: Bool) {
        guard nonce.count == AuthenticatedCipher.nonceSize else { return nil }
        self.init(
            name: key.count == 16 ? "AES-128-GCM" : "AES-256-GCM",
            key: key,
            nonce: nonce,
            isEncrypting: isEncrypting
        )
    }

    convenience init?(cbc key: [UInt8], _ initialVector: [UInt8]) {
        self.init(name: "AES-256-CBC", key: key, nonce: initialVector, isEncrypting: true)
        // The caller pads, so that all output comes at once.
        unsafe EVP_CIPHER_CTX_set_padding(context, 0)
    }

    convenience init?(wrap key: [UInt8], isEncrypting: Bool) {
        self.init(
            name: key.count == 16 ? "AES-128-WRAP" : "AES-256-WRAP",
            key: key,
            nonce: nil,
            isEncrypting: isEncrypting
        )
    }

    private init?(name: String, key: [UInt8], nonce: [UInt8]?, isEncrypting: Bool) {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
            OpenSSLError.forget()
            return nil
        }
        defer { unsafe EVP_CIPHER_free(cipher) }  // The context holds its own reference.
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        unsafe self.context = context
        unsafe EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        guard unsafe EVP_CipherInit_ex2(context, cipher, key, nonce, isEncrypting ? 1 : 0, nil) == 1 else {
            OpenSSLError.forget()
            return nil
        }
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Adds bytes that only the tag covers.
    func authenticate(_ data: [UInt8]) -> Bool {
        var count: Int32 = 0
        guard data.count <= AuthenticatedCipher.maximumSize else { return false }
        return isDone(unsafe EVP_CipherUpdate(context, nil, &count, data, Int32(data.count)))
    }

    /// Returns the output for a text, which has as many bytes, or `growth` more.
    func update(_ text: [UInt8], growingBy growth: Int = 0) -> [UInt8]? {
        guard text.count <= AuthenticatedCipher.maximumSize, text.count + growth >= 0 else { return nil }
        guard !text.isEmpty else { return [] }
        // Room for a block more, in which modes with blocks could write.
        var output = [UInt8](repeating: 0, count: text.count + max(0, growth) + 16)
        var count: Int32 = 0
        guard isDone(unsafe EVP_CipherUpdate(context, &output, &count, text, Int32(text.count))),
            Int(count) == text.count + growth
        else { return nil }
        return Array(output.prefix(Int(count)))
    }

    /// Ends the text. Returns false if the expected tag is not the one of the text.
    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        return isDone(unsafe EVP_CipherFinal_ex(context, &rest, &count)) && count == 0
    }

    func tag(_ size: Int) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: size)
        return isDone(unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(size), &tag)) ? tag : nil
    }

    func expect(_ tag: [UInt8]) -> Bool {
        var tag = tag
        return isDone(unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag))
    }

    private func isDone(_ result: Int32) -> Bool {
        guard result != 1 else { return true }
        OpenSSLError.forget()
        return false
    }
}
