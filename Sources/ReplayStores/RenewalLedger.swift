// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
public import Platform

// The ledger of renewals, by which a grant that two hold is found. A holder only goes forward: it renews the grant that the
// last renewal gave it. Two holders of one grant get two successors, each of which is renewed once more: then the same
// generation of a playback has two parents.

/// A renewal of a grant whose renewals are counted.
public struct GrantRenewal: Hashable, Sendable {
    /// The playback.
    public let session: SessionID
    /// The number of the chain: separate starts of a playback, and other profiles, have others.
    public let chain: UInt64
    /// The generation of the grant that was renewed: the number of renewals before.
    public let generation: UInt32
    /// The grant that was renewed: 8 bytes of the digest of its identity.
    public let parent: UInt64
    /// The time until which the record is stored: twice the life of grants is enough.
    public let expires: Timestamp

    /// Creates a renewal of its members.
    public init(session: SessionID, chain: UInt64, generation: UInt32, parent: UInt64, expires: Timestamp) {
        self.session = session
        self.chain = chain
        self.generation = generation
        self.parent = parent
        self.expires = expires
    }
}

/// The outcome of recording a renewal.
@nonexhaustive
public enum RenewalOutcome: Hashable, Sendable {
    /// The first renewal of this generation.
    case forward
    /// Another renewal of the same grant, such as a parallel request.
    case repeated
    /// A renewal of another grant of a generation that was renewed before: two successors of one grant were renewed.
    ///
    /// - Parameter generations: The number of generations running in which that has happened, at least 1.
    case sibling(generations: Int)
    /// A renewal of a generation that is too old to be remembered.
    case late
}

/// The renewals of the last generations of a chain.
package struct RenewalBranch: Hashable, Sendable {
    /// The generations that are remembered, in ascending order; never empty, at most ``window``.
    package private(set) var generations: [Generation]

    /// The grants of a generation that were renewed.
    package struct Generation: Hashable, Sendable {
        /// The number of renewals before.
        package let number: UInt32
        /// The grants, at most ``RenewalBranch/maximumParents``.
        package fileprivate(set) var parents: [UInt64]

        /// Creates a generation of its members.
        package init(number: UInt32, parents: [UInt64]) { (self.number, self.parents) = (number, parents) }
    }

    /// The number of generations that are remembered: two holders need not renew in the same minute.
    package static let window = 8
    /// The maximum number of parents: more prove no more.
    package static let maximumParents = 8

    /// Creates the branch of a first renewal.
    package init(_ renewal: GrantRenewal) {
        generations = [Generation(number: renewal.generation, parents: [renewal.parent])]
    }

    /// Creates a branch of its generations; `nil` if they cannot be those of one.
    package init?(_ generations: [Generation]) {
        guard 1...Self.window ~= generations.count else { return nil }
        for (earlier, later) in zip(generations, generations.dropFirst()) where earlier.number >= later.number {
            return nil
        }
        guard generations.allSatisfy({ 1...Self.maximumParents ~= $0.parents.count }) else { return nil }
        self.generations = generations
    }

    /// Records a renewal.
    package mutating func note(_ renewal: GrantRenewal) -> RenewalOutcome {
        let number = renewal.generation
        let newest = max(generations.last?.number ?? number, number)
        guard newest - number < UInt32(Self.window) else { return .late }
        guard let index = generations.firstIndex(where: { $0.number == number }) else {
            generations.append(Generation(number: number, parents: [renewal.parent]))
            generations = generations.filter { newest - $0.number < UInt32(Self.window) }.sorted {
                $0.number < $1.number
            }
            return .forward
        }
        if generations[index].parents.contains(renewal.parent) { return .repeated }
        if generations[index].parents.count < Self.maximumParents { generations[index].parents.append(renewal.parent) }
        return .sibling(generations: forked(around: number))
    }

    /// The number of generations running with more than one parent, one of which has this number.
    private func forked(around number: UInt32) -> Int {
        let forks = Set(generations.filter { $0.parents.count > 1 }.map { Int64($0.number) })
        let (up, down) = (Int64(number)..., (0...Int64(number)).reversed().dropFirst())
        return up.prefix { forks.contains($0) }.count + down.prefix { forks.contains($0) }.count
    }
}

/// The branches in memory.
struct RenewalTable {
    private struct Name: Hashable {
        let session: SessionID
        let chain: UInt64
    }

    private var branches: [Name: (branch: RenewalBranch, expires: Timestamp)] = [:]
    private let capacity: Int
    /// The time before which expired branches are not looked for again.
    private var nextSweep = Timestamp(millisecondsSince1970: .min)

    /// The time between two searches for expired branches, in milliseconds.
    private static let pause: Int64 = 5000

    /// Creates a table.
    ///
    /// - Parameter capacity: The maximum number of branches.
    init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// The number of stored branches, including expired ones.
    var count: Int { branches.count }

    /// Records a renewal. Without room, some branch gives way: a shared grant is found later then.
    mutating func note(_ renewal: GrantRenewal, at now: Timestamp) -> RenewalOutcome {
        let name = Name(session: renewal.session, chain: renewal.chain)
        if var present = branches[name], now < present.expires {
            let outcome = present.branch.note(renewal)
            branches[name] = (present.branch, max(present.expires, renewal.expires))
            return outcome
        }
        if branches.count >= capacity, now >= nextSweep {
            nextSweep = now.advanced(byMilliseconds: Self.pause)
            branches = branches.filter { now < $0.value.expires }
        }
        if branches.count >= capacity { branches.remove(at: branches.startIndex) }
        branches[name] = (RenewalBranch(renewal), renewal.expires)
        return .forward
    }
}
