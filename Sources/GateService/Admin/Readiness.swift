// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer
internal import MediaTokens
internal import Platform
internal import PlaybackGate

/// The readiness of the service: it is ready if a key is valid now, the store answers, revocations of grants are known, every
/// key set is there, the catalogue is not empty, and every listener has room for a connection.
struct Readiness: Sendable {
    let live: LiveGate
    let keySets: KeySetKeeper
    let places: [ConnectionPlaces]
    let clock: @Sendable () -> Timestamp

    /// Returns the faults, by the part that has them; none if the service is ready.
    func faults() async -> [JSON.Member] {
        let gate = live.current.gate
        let now = clock()
        var faults: [JSON.Member] = []
        if !gate.verifier.trust.keys.contains(where: { $0.isValid(at: now) }) {
            faults.append(("trust", .string("no trusted key is currently valid")))
        }
        do throws(ReplayStoreError) { try await gate.checkStore() } catch {
            faults.append(("store", .string("\(gate.store.name): \(error)")))
        }
        if let grants = gate.grants, !grants.isMirrorRecent {
            faults.append(("revocations", .string("they were not read for 30 s: every grant is refused")))
        }
        let missing = keySets.missing(at: now)
        if !missing.isEmpty {
            faults.append(
                ("keySets", .string("no keys of \(missing.joined(separator: ", ")): their grants are refused"))
            )
        }
        if gate.catalogue.count == 0 { faults.append(("catalogue", .string("the catalogue is empty"))) }
        for places in places where places.isFull && !faults.contains(where: { $0.0 == places.listener }) {
            faults.append((places.listener, .string("all \(places.limit) connections are open")))
        }
        return faults
    }
}
