// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Encodings

/// A private key that signs with one scheme.
package final class SignatureMaker: Sendable {
    /// The key.
    package let key: PrivateKey
    /// The scheme of all its signatures.
    package let scheme: SignatureScheme
    private let kept = KeptContext<SigningContext>.forEachSlot()

    /// Creates a maker of signatures. Returns `nil` if `scheme` is not one for keys of this type.
    package init?(_ key: PrivateKey, scheme: SignatureScheme) {
        guard scheme.suits(key.publicKey.type) else { return nil }
        self.key = key
        self.scheme = scheme
    }

    /// Returns the signature over `message`, of fixed size.
    ///
    /// - Parameter prefersLowS: True for the lower of the two values of s that ECDSA permits.
    package func sign(_ message: MessagePieces, prefersLowS: Bool = false) throws(OpenSSLError) -> [UInt8] {
        let signature = ContextSlots.withSlot { slot in
            (slot.flatMap { slot in kept[slot].get(makeContext) } ?? makeContext())?.sign(message)
        }
        guard let signature else { throw .drained() }
        guard let curve = scheme.curve else { return signature }
        guard let raw = ECDSASignature.raw(der: signature, size: curve.size) else { throw .drained() }
        return prefersLowS ? ECDSASignature.lowered(raw, on: curve) : raw
    }

    private func makeContext() -> SigningContext? {
        guard let copy = unsafe key.copy() else { return nil }
        return unsafe SigningContext(owning: copy, scheme)
    }
}

/// The owner of a private key with the contexts to sign with it, for one thread at a time.
@safe
private final class SigningContext {
    private let key: OpaquePointer  // <EVP_PKEY>
    private let digest: DigestContext?
    /// An `EVP_PKEY_CTX`, if the scheme signs a digest.
    private let context: OpaquePointer?

    @unsafe
    init?(owning key: OpaquePointer, _ scheme: SignatureScheme) {
        let guardian = unsafe KeyGuardian(key)
        var context: OpaquePointer?
        var digest: DigestContext?
        if let function = scheme.function {
            digest = DigestContext(function)
            unsafe context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
            guard let made = unsafe context, digest != nil, unsafe EVP_PKEY_sign_init(made) == 1,
                unsafe scheme.prepare(made)
            else {
                unsafe EVP_PKEY_CTX_free(context)
                return nil
            }
        }
        unsafe self.context = context
        self.digest = digest
        unsafe self.key = guardian.release()
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
        unsafe EVP_PKEY_free(key)
    }

    func sign(_ message: MessagePieces) -> [UInt8]? {
        var size = Int(unsafe EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: size)
        if let context = unsafe context {
            guard let digest = unsafe digest?.digest(message),
                unsafe EVP_PKEY_sign(context, &signature, &size, digest.baseAddress, digest.count) == 1
            else { return nil }
        } else {
            guard unsafe signWhole(message, into: &signature, size: &size) else { return nil }
        }
        return Array(signature.prefix(size))
    }

    @unsafe
    private func signWhole(_ message: MessagePieces, into signature: inout [UInt8], size: inout Int) -> Bool {
        var whole: [UInt8] = []
        whole.reserveCapacity(message.count)
        _ = message.forEach { piece in
            whole.append(copying: piece)
            return true
        }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
            && EVP_DigestSign(context, &signature, &size, whole, whole.count) == 1
    }
}
