// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The slots of the cached OpenSSL contexts of keys: a thread holds one while it computes.
///
/// All keys share them, and have one context for each slot that was used with them.
enum ContextSlots {
    static let pool = SlotPool()

    /// Calls `body` with a slot of this thread's own, or `nil` if none is free.
    static func withSlot<Value>(_ body: (Int?) -> Value) -> Value {
        let slot = pool.acquire()
        defer { pool.release(slot) }
        return body(slot)
    }
}

/// The storage of an object that is made on first use, for the holder of one slot.
final class KeptContext<Context: AnyObject>: @unchecked Sendable {  // Used only by the holder of its slot.
    private var context: Context?

    /// Returns the object, made by `make` if there is none yet.
    func get(_ make: () -> Context?) -> Context? {
        if let context { return context }
        let made = make()
        context = made
        return made
    }

    /// Returns a storage for each slot.
    static func forEachSlot() -> [KeptContext] { (0..<ContextSlots.pool.count).map { _ in KeptContext() } }
}
