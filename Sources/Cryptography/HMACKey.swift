// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// A secret key for HMAC (RFC 2104), with a cached context for each slot.
@safe
package final class HMACKey: @unchecked Sendable {
    // Unchecked: the template is only read after creation, to copy it.
    private let template: OpaquePointer  // <EVP_MAC_CTX>
    private let kept = KeptContext<HMACContext>.forEachSlot()

    /// The function of the hash.
    package let function: MessageDigest

    /// Creates a key of any length. OpenSSL holds the only copy of it. Throws if OpenSSL fails.
    package init(_ secret: [UInt8], function: MessageDigest) throws(OpenSSLError) {
        guard let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { throw .drained() }
        defer { unsafe EVP_MAC_free(algorithm) }  // The context holds its own reference.
        guard let context = unsafe EVP_MAC_CTX_new(algorithm) else { throw .drained() }
        // OpenSSL reads a key without an address as no key at all.
        let isDone = unsafe (secret.isEmpty ? [0] : secret).withUnsafeBufferPointer { key in
            unsafe copenssl_hmac_init(context, function.name, key.baseAddress, secret.count) == 1
        }
        guard isDone else {
            unsafe EVP_MAC_CTX_free(context)
            throw .drained()
        }
        unsafe template = context
        self.function = function
    }

    deinit { unsafe EVP_MAC_CTX_free(template) }

    /// The size of an authentication code in bytes.
    package var size: Int { function.size }

    /// True if `code` is the authentication code of `message`, compared in constant time.
    ///
    /// - Parameter length: The number of bytes that `code` must have, of the first ones: all by default. RFC 9053 §3.1
    ///   cuts codes to 8.
    package func isValid(_ code: Span<UInt8>, of message: MessagePieces, length: Int? = nil) -> Bool {
        let length = length ?? size
        guard length > 0, length <= size, code.count == length else { return false }
        return withContext { context in
            guard let computed = unsafe context.code(message) else { return false }
            return unsafe ConstantTime.equals(code, to: UnsafeBufferPointer(rebasing: computed[..<length]))
        } ?? false
    }

    /// Returns the authentication code of `message`, or `nil` if OpenSSL fails.
    package func code(of message: MessagePieces) -> [UInt8]? {
        withContext { unsafe $0.code(message).map { unsafe [UInt8]($0) } }
    }

    private func withContext<Value>(_ body: (HMACContext) -> Value?) -> Value? {
        ContextSlots.withSlot { slot in
            (slot.flatMap { slot in kept[slot].get(makeContext) } ?? makeContext()).flatMap(body)
        }
    }

    private func makeContext() -> HMACContext? {
        guard let copy = unsafe EVP_MAC_CTX_dup(template) else {
            OpenSSLError.forget()
            return nil
        }
        return unsafe HMACContext(owning: copy, size: size)
    }
}

/// The owner of an HMAC context (`EVP_MAC_CTX`) with its key, for one thread at a time.
///
/// A restart without the key needs a fifth of the time of OpenSSL's one-shot function.
@safe
private final class HMACContext {
    private let context: OpaquePointer  // <EVP_MAC_CTX>
    private let output: UnsafeMutableBufferPointer<UInt8>

    @unsafe
    init(owning context: OpaquePointer, size: Int) {
        unsafe self.context = context
        unsafe output = .allocate(capacity: size)
        unsafe output.initialize(repeating: 0)
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
        unsafe output.deallocate()
    }

    /// Returns the code of `message`, which is valid until the next one, or `nil` if OpenSSL fails.
    @unsafe
    func code(_ message: MessagePieces) -> UnsafeBufferPointer<UInt8>? {
        let isDone =
            unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            && message.forEach { piece in
                unsafe piece.withUnsafeBufferPointer {
                    unsafe EVP_MAC_update(context, $0.baseAddress, $0.count) == 1
                }
            }
        var count = 0
        guard isDone, unsafe EVP_MAC_final(context, output.baseAddress, &count, output.count) == 1,
            unsafe count == output.count
        else {
            OpenSSLError.forget()
            return nil
        }
        return unsafe UnsafeBufferPointer(output)
    }
}
