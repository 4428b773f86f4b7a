// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CPlaygate
internal import Platform
internal import Synchronization

/// The state of this process as regards forks. Locks note the number of their thread, which a child does not share.
enum Forks {
    private static let state = Atomic<UInt8>(0)

    private static let unsettled: UInt8 = 0
    private static let settled: UInt8 = 1
    private static let child: UInt8 = 2

    /// True if locks may be acquired.
    static var areOver: Bool { state.load(ordering: .acquiring) == settled }

    /// Notes that the process forks no more. Returns false in a child of a process that has noted it.
    static func end() -> Bool {
        let found = state.compareExchange(expected: unsettled, desired: settled, ordering: .acquiringAndReleasing)
        guard found.exchanged else { return found.original == settled }
        // A child has copies of locks that threads of its parent may hold.
        let isWatched = pthread_atfork(nil, nil) { Forks.noteChild() }
        guard isWatched == 0 else {
            state.store(unsettled, ordering: .releasing)
            return false
        }
        return true
    }

    private static func noteChild() { state.store(child, ordering: .releasing) }
}

/// See `playgate.h`.
@c @implementation
public func playgate_no_more_forks() -> Int32 { Forks.end() ? Result.ok : Result.fork }
