// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// A token of the table, and its value: one allocation with the bytes of the token behind the facts. Of 10,000 tokens, each is out of
/// the processor's caches when it is looked up, and each further piece of memory would be waited for.
///
/// A reference, so that a look-up copies nothing. Used only under the lock of its shard.
final class TokenEntry: ManagedBuffer<TokenEntry.Facts, UInt8> {
    /// The facts about a token.
    struct Facts {
        /// The number of bytes of the token.
        fileprivate let count: Int
        let generation: UInt64
        let life: ClosedRange<Timestamp>
        let value: any TokenTable.Value
        fileprivate(set) var lastUse: UInt64
    }

    /// Creates an entry with a copy of a token.
    static func make(
        for token: Span<UInt8>,
        value: any TokenTable.Value,
        generation: UInt64,
        life: ClosedRange<Timestamp>,
        lastUse: UInt64
    ) -> TokenEntry {
        let facts = Facts(count: token.count, generation: generation, life: life, value: value, lastUse: lastUse)
        let buffer = create(minimumCapacity: token.count) { _ in facts }
        let entry = unsafe unsafeDowncast(buffer, to: TokenEntry.self)
        unsafe entry.withUnsafeMutablePointerToElements { bytes in
            unsafe token.withUnsafeBufferPointer { source in
                guard let start = source.baseAddress else { return }
                unsafe bytes.initialize(from: start, count: source.count)
            }
        }
        return entry
    }

    // The facts are read by their address. Reading `header` costs a check of exclusive access, which the lock makes
    // needless.

    /// True if the value was stored under `generation`, and its period contains `now`.
    func isGood(_ generation: UInt64, at now: Timestamp) -> Bool {
        unsafe withUnsafeMutablePointerToHeader { facts in
            unsafe facts.pointee.generation == generation && facts.pointee.life.contains(now)
        }
    }

    /// Returns the value, and marks the entry as the last one that was used.
    func use(at clock: UInt64) -> any TokenTable.Value {
        unsafe withUnsafeMutablePointerToHeader { facts in
            unsafe facts.pointee.lastUse = clock
            return unsafe facts.pointee.value
        }
    }

    /// True if this is the entry of a token.
    func isOf(_ token: Span<UInt8>) -> Bool {
        unsafe withUnsafeMutablePointers { facts, bytes in
            guard unsafe facts.pointee.count == token.count else { return false }
            return unsafe token.withUnsafeBytes { other in
                guard let start = other.baseAddress else { return true }
                return unsafe memcmp(bytes, start, other.count) == 0
            }
        }
    }
}
