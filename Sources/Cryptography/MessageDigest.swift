// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// A function of the SHA-2 family, or one of the two older ones that vendors' formats still have.
package enum MessageDigest: Int, Sendable, CaseIterable {
    case sha256, sha384, sha512
    /// SHA-512/256, with initial values of its own (FIPS 180-4 §5.3.6).
    case sha512_256
    /// SHA-1 and MD5, broken as digests: only for vendors' formats, within HMAC or where the format has nothing else.
    case sha1, md5

    /// The size of a digest in bytes.
    package var size: Int {
        switch self {
        case .sha256, .sha512_256: 32
        case .sha384: 48
        case .sha512: 64
        case .sha1: 20
        case .md5: 16
        }
    }

    /// The largest size of a digest in bytes.
    static let maximumSize = 64

    /// The name that OpenSSL knows the function by.
    var name: String {
        switch self {
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        case .sha512_256: "SHA512-256"
        case .sha1: "SHA1"
        case .md5: "MD5"
        }
    }

    /// Returns the digest of `bytes`, or `nil` if OpenSSL fails.
    package func digest(_ bytes: Span<UInt8>) -> [UInt8]? {
        let message = MessagePieces(bytes)
        return withContext { unsafe $0.digest(message).map { unsafe [UInt8]($0) } }
    }

    /// True if `digest` is the digest of `bytes`. Allocates nothing of its own. Not in constant time.
    package func isDigest(_ digest: Span<UInt8>, of bytes: Span<UInt8>) -> Bool {
        guard digest.count == size else { return false }
        let message = MessagePieces(bytes)
        return withContext { context in
            guard let computed = unsafe context.digest(message) else { return false }
            return unsafe ConstantTime.equals(digest, to: computed)
        } ?? false
    }

    private func withContext<Value>(_ body: (DigestContext) -> Value?) -> Value? {
        ContextSlots.withSlot { slot in
            let kept = slot.flatMap { slot in Self.kept[rawValue][slot].get { DigestContext(self) } }
            // Without a free slot, a context of its own.
            return (kept ?? DigestContext(self)).flatMap(body)
        }
    }

    private static let kept = allCases.map { _ in KeptContext<DigestContext>.forEachSlot() }
}

/// Returns a context (`EVP_MD_CTX`) that is initialised for a digest; `nil` if OpenSSL fails. The caller frees it.
@unsafe
func makeDigestContext(_ name: String) -> OpaquePointer? {
    guard let algorithm = unsafe EVP_MD_fetch(nil, name, nil) else { return nil }
    defer { unsafe EVP_MD_free(algorithm) }  // The context holds its own reference.
    guard let context = unsafe EVP_MD_CTX_new() else { return nil }
    guard unsafe EVP_DigestInit_ex2(context, algorithm, nil) == 1 else {
        unsafe EVP_MD_CTX_free(context)
        return nil
    }
    return unsafe context
}

/// The owner of a reusable digest context (`EVP_MD_CTX`) and of the last digest, for one thread at a time.
@safe
final class DigestContext {
    private let context: OpaquePointer  // <EVP_MD_CTX>
    private let output: UnsafeMutableBufferPointer<UInt8>

    /// Creates a context. Returns `nil` if OpenSSL fails.
    init?(_ function: MessageDigest) {
        guard let context = unsafe makeDigestContext(function.name) else { return nil }
        unsafe self.context = context
        unsafe output = .allocate(capacity: function.size)
        unsafe output.initialize(repeating: 0)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe output.deallocate()
    }

    /// Returns the digest of `message`, which is valid until the next one, or `nil` if OpenSSL fails.
    @unsafe
    func digest(_ message: MessagePieces) -> UnsafeBufferPointer<UInt8>? {
        let isDone =
            unsafe EVP_DigestInit_ex2(context, nil, nil) == 1
            && message.forEach { piece in
                unsafe piece.withUnsafeBufferPointer {
                    unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1
                }
            }
        guard isDone, unsafe EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1 else {
            OpenSSLError.forget()
            return nil
        }
        return unsafe UnsafeBufferPointer(output)
    }
}
