// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL
internal import Platform

/// SHA-256 of bytes that are no token: names of sessions, API keys.
package enum SHA256 {
    /// The digest of the UTF-8 bytes of `text`.
    package static func digest(_ text: String) -> [UInt8] { digest([UInt8](text.utf8)) }

    /// The digest of `bytes`: 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        let slot = contexts.slots.take()
        defer { contexts.slots.release(slot) }
        if let slot, let digest = contexts.all[slot]?.hash(bytes.span) { return digest.bytes }
        // All contexts are in use: OpenSSL's one-shot function, which looks the algorithm up on every call, and cannot fail
        // for bytes in memory.
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                _ = unsafe COpenSSL.SHA256(bytes.baseAddress, bytes.count, digest.baseAddress)
            }
        }
        return digest
    }

    private static let contexts = Contexts()

    /// Contexts that are kept, each for the holder of its slot.
    private final class Contexts: @unchecked Sendable {
        let slots = SlotPool()
        let all: [SHA256Context?]

        init() { all = (0..<slots.count).map { _ in SHA256Context() } }
    }
}
