// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Platform
internal import Synchronization

/// The ids of rejected grants with a chance of rejection (`catpor`), each until its time.
///
/// Each gate holds the list in memory, over reloads. A full list refuses without storing the id. Source: CTA-5007.
public final class RejectionList: Sendable {
    private let capacity: Int
    private let state = Mutex(State())

    /// The ids of different issuers are different.
    private struct Key: Hashable {
        let issuer: String
        let id: [UInt8]
    }

    private struct State {
        var ends: [Key: Timestamp] = [:]
        /// The time before which a full list has nothing to forget.
        var nextSweep = Timestamp(millisecondsSince1970: .min)
    }

    /// Creates an empty list.
    ///
    /// - Parameter capacity: The maximum number of ids.
    public init(capacity: Int = 100_000) { self.capacity = capacity }

    /// The number of ids, including expired ones.
    package var count: Int { state.withLock { $0.ends.count } }

    /// True if a request is refused: its id is on the list, or the chance strikes and adds it.
    ///
    /// - Parameter chance: A random number from 0 up to, but not including 1.
    package func rejects(
        _ rejection: GrantObligations.Rejection,
        of issuer: String,
        chance: Double = .random(in: 0..<1),
        at now: Timestamp
    ) -> Bool {
        let key = Key(issuer: issuer, id: rejection.id)
        return state.withLock { state in
            if let end = state.ends[key] {
                if now < end { return true }
                state.ends[key] = nil
            }
            guard chance < rejection.probability else { return false }
            guard now < rejection.until else { return true }
            if state.ends.count >= capacity, now >= state.nextSweep {
                state.ends = state.ends.filter { now < $0.value }
                state.nextSweep = now.advanced(byMilliseconds: 1000)
            }
            if state.ends.count < capacity { state.ends[key] = rejection.until }
            return true
        }
    }
}
