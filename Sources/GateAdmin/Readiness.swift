// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeListener
package import Encodings
package import HTTPServer
package import KeySources
internal import MediaTokens
package import Platform
internal import PlaybackGate
internal import ReplayStores
package import Telemetry

/// The readiness of the service. It is ready if a key is valid now, the store answers, and revocations of grants are
/// known. Every key set must be there, the catalogue must not be empty, and every listener must have room for a
/// connection.
package struct Readiness: Sendable {
    package let live: CurrentGate
    package let keySets: KeySetKeeper
    package let connectionLimits: [ConnectionLimit]
    package let reloads: ReloadCounts
    package let clock: @Sendable () -> Timestamp

    /// Creates a value of its members.
    package init(
        live: CurrentGate,
        keySets: KeySetKeeper,
        connectionLimits: [ConnectionLimit],
        reloads: ReloadCounts,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        self.keySets = keySets
        self.connectionLimits = connectionLimits
        self.reloads = reloads
        self.clock = clock
    }

    /// The state of the service at one moment.
    package struct Report: Sendable {
        /// The faults, by the part that has them; none if the service is ready.
        package var faults: [JSON.Member] = []
        /// True if the store has just proved that it can record uses.
        var isStoreUp = true
        /// The problems for which the last reload was rejected, each with its line; none if it was not. The service
        /// continues with its previous configuration.
        package let rejectedReload: [String]
    }

    /// Returns the faults, by the part that has them; none if the service is ready.
    package func faults() async -> [JSON.Member] { await report().faults }

    /// Finds out whether the service is ready.
    ///
    /// - Parameter limit: The longest wait for the store, if it is shorter than its deadline.
    package func report(within limit: Duration? = nil) async -> Report {
        var report = Report(rejectedReload: reloads.current.problems)
        let gate = live.current.gate
        let now = clock()
        let trusted = gate.verifier.trust.keys
        if !trusted.contains(where: { $0.isValid(at: now) }), !trusted.isEmpty || gate.starter == nil {
            report.faults.append(("trust", .string("no trusted key is currently valid")))
        }
        do throws(ReplayStoreError) { try await gate.checkStore(within: limit) } catch {
            report.isStoreUp = false
            report.faults.append(("store", .string("\(gate.store.name): \(error)")))
        }
        if let grants = gate.grants, !grants.areRevocationsRecent {
            report.faults.append(("revocations", .string("they were not read for 30 s: every grant is refused")))
        }
        let missing = keySets.missing(at: now)
        if !missing.isEmpty {
            report.faults.append(
                ("keySets", .string("no keys of \(missing.joined(separator: ", ")): their tokens are refused"))
            )
        }
        if gate.catalogue.count == 0 { report.faults.append(("catalogue", .string("the catalogue is empty"))) }
        for limit in connectionLimits where limit.isFull && !report.faults.contains(where: { $0.0 == limit.listener }) {
            report.faults.append((limit.listener, .string("all \(limit.limit) connections are open")))
        }
        return report
    }
}
