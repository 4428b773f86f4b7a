// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Encodings

/// A public key that verifies signatures of one scheme, with a cached context for each slot.
package final class SignatureVerifier: Sendable {
    /// The key.
    package let key: PublicKey
    /// The scheme of all its signatures.
    package let scheme: SignatureScheme
    private let kept = KeptContext<VerificationContext>.forEachSlot()

    /// Creates a verifier. Returns `nil` if `scheme` is not one for keys of this type.
    package init?(_ key: PublicKey, scheme: SignatureScheme) {
        guard scheme.suits(key.type) else { return nil }
        self.key = key
        self.scheme = scheme
    }

    /// The size of every signature in bytes.
    package var signatureSize: Int { scheme.signatureSize(key.type) }

    /// True if `signature` is one over `message`. False also if its size is wrong, or OpenSSL fails.
    package func isValid(_ signature: Span<UInt8>, over message: MessagePieces) -> Bool {
        guard signature.count == signatureSize else { return false }
        return ContextSlots.withSlot { slot in
            // Without a free slot, a context of its own.
            let context = slot.flatMap { slot in kept[slot].get(makeContext) } ?? makeContext()
            return context?.isValid(signature, over: message) ?? false
        }
    }

    private func makeContext() -> VerificationContext? {
        guard let copy = unsafe key.copy() else {
            OpenSSLError.forget()
            return nil
        }
        guard let function = scheme.function else { return unsafe MessageVerificationContext(owning: copy) }
        guard let key = try? unsafe VerificationKeyContext(owning: copy, scheme),
            let digest = DigestContext(function)
        else { return nil }
        return DigestVerificationContext(key: key, digest: digest, isECDSA: scheme.curve != nil)
    }
}

/// A reusable context that verifies one signature at a time, for one thread at a time.
private class VerificationContext {
    func isValid(_ signature: Span<UInt8>, over message: MessagePieces) -> Bool { false }
}

/// A context for schemes that sign a digest.
private final class DigestVerificationContext: VerificationContext {
    private let key: VerificationKeyContext
    private let digest: DigestContext
    private let isECDSA: Bool

    init(key: VerificationKeyContext, digest: DigestContext, isECDSA: Bool) {
        self.key = key
        self.digest = digest
        self.isECDSA = isECDSA
    }

    override func isValid(_ signature: Span<UInt8>, over message: MessagePieces) -> Bool {
        guard let digest = unsafe digest.digest(message) else { return false }
        guard isECDSA else { return unsafe key.verify(signature, over: digest) }
        var der: [144 of UInt8] = .init(repeating: 0)
        var output = der.mutableSpan
        guard let count = ECDSASignature.writeDER(signature, into: &output) else { return false }
        return unsafe key.verify(der.span.extracting(first: count), over: digest)
    }
}

/// A context for Ed25519 (`EVP_MD_CTX`), which processes the whole message at once.
@safe
private final class MessageVerificationContext: VerificationContext {
    private let key: OpaquePointer  // <EVP_PKEY>
    private let context: OpaquePointer  // <EVP_MD_CTX>
    private var message: [UInt8] = []

    @unsafe
    init?(owning key: OpaquePointer) {
        let guardian = unsafe KeyGuardian(key)
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        unsafe self.context = context
        unsafe self.key = guardian.release()
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_PKEY_free(key)
    }

    override func isValid(_ signature: Span<UInt8>, over message: MessagePieces) -> Bool {
        self.message.removeAll(keepingCapacity: true)
        _ = message.forEach { piece in
            self.message.append(copying: piece)
            return true
        }
        let isValid = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
                && EVP_DigestVerify(context, signature.baseAddress, signature.count, self.message, self.message.count)
                    == 1
        }
        if !isValid { OpenSSLError.forget() }
        return isValid
    }
}
