// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Encodings
internal import Platform

/// SHA-256 of bytes other than tokens, such as session names and API keys.
package enum SHA256 {
    /// Returns the digest of the UTF-8 bytes of `text`: 32 bytes.
    package static func digest(_ text: String) -> [UInt8] { digest([UInt8](text.utf8)) }

    /// Returns the digest of `bytes`: 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        if let digest = pooled(bytes.span) { return digest.bytes }
        // No context is free. OpenSSL's one-shot function looks the algorithm up on every call, and cannot fail for
        // bytes in memory.
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                _ = unsafe COpenSSL.SHA256(bytes.baseAddress, bytes.count, digest.baseAddress)
            }
        }
        return digest
    }

    /// Returns the digest by a context of the pool; `nil` if none is free, or OpenSSL fails.
    private static func pooled(_ bytes: Span<UInt8>) -> SHA256Digest? {
        let slot = contexts.slots.acquire()
        defer { contexts.slots.release(slot) }
        return slot.flatMap { contexts.all[$0]?.hash(bytes) }
    }

    private static let contexts = Contexts()

    /// Reusable contexts, each for the holder of its slot.
    private final class Contexts: @unchecked Sendable {
        let slots = SlotPool()
        let all: [SHA256Context?]

        init() { all = (0..<slots.count).map { _ in SHA256Context() } }
    }
}

extension SHA256 {
    /// Returns the digest of `bytes`, or `nil` if OpenSSL fails.
    package static func fingerprint(_ bytes: [UInt8]) -> SHA256Digest? {
        pooled(bytes.span) ?? SHA256Context()?.hash(bytes.span)
    }
}
