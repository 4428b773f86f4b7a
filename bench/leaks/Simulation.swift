// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform

/// The outcomes of many playbacks of a scenario.
struct Outcomes {
    let scenario: Scenario
    /// The number of playbacks.
    var count = 0
    var requests = 0
    /// The playbacks that were suspected.
    var suspected = 0
    var challenges = 0
    /// The bytes of reports between gates, and the seconds that were played.
    var sentBytes = 0
    var seconds = 0.0
    /// The times of the proofs, in seconds after a second viewer began to play; after the start for one jar.
    var proofs: [Double] = []

    /// The time in which a leak is to be found, in seconds.
    static let limit = 300.0

    /// The share of playbacks that were proven within ``limit``, from 0 to 1.
    var found: Double { Double(proofs.count { $0 <= Self.limit }) / Double(max(count, 1)) }

    /// The hours that were played.
    var hours: Double { Double(count) * scenario.duration / 3600 }

    /// Returns the time within which a share of the playbacks was proven; `nil` if fewer were.
    func time(of share: Double) -> Double? {
        let index = Int((share * Double(count)).rounded(.up)) - 1
        let sorted = proofs.sorted()
        return sorted.indices.contains(index) ? sorted[index] : nil
    }

    mutating func add(_ other: Outcomes) {
        count += other.count
        requests += other.requests
        suspected += other.suspected
        challenges += other.challenges
        sentBytes += other.sentBytes
        seconds += other.seconds
        proofs += other.proofs
    }
}

/// Runs playbacks of scenarios, each by a seed of its own.
struct Simulation {
    let setup: GateInstallation.Setup
    let seed: UInt64

    /// Runs a number of playbacks of a scenario on all cores.
    ///
    /// - Parameter report: Called with the number of playbacks that are done.
    func run(_ scenario: Scenario, count: Int, report: @Sendable (Int) -> Void = { _ in }) async -> Outcomes {
        let size = max(1, min(200, count / 16))
        return await withTaskGroup(of: Outcomes.self) { group in
            var (next, all) = (0, Outcomes(scenario: scenario))
            func addTask() {
                guard next < count else { return }
                let range = next..<min(next + size, count)
                next = range.upperBound
                group.addTask { run(scenario, numbers: range) }
            }
            for _ in 0..<usableCores() { addTask() }
            for await outcomes in group {
                all.add(outcomes)
                report(all.count)
                addTask()
            }
            return all
        }
    }

    private func run(_ scenario: Scenario, numbers: Range<Int>) -> Outcomes {
        var outcomes = Outcomes(scenario: scenario)
        for number in numbers {
            let own = seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number)
            var playback = scenario.makePlayback(seed: own)
            var installation = GateInstallation(setup, seed: own)
            let result = playback.run(with: &installation, until: scenario.duration)
            outcomes.count += 1
            outcomes.requests += result.requests
            outcomes.challenges += installation.challenges
            outcomes.sentBytes += installation.sentBytes
            outcomes.seconds += result.end
            if installation.isSuspected { outcomes.suspected += 1 }
            if let proven = installation.proven { outcomes.proofs.append(proven - (playback.sharedFrom ?? 0)) }
        }
        return outcomes
    }
}
