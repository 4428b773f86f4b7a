// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import EdgeTokens
internal import GateAPI
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import SharedGrants
internal import ServiceLifecycle
internal import Telemetry

/// The task that records renewals of grants, and revokes playbacks that are proven to be shared.
struct LeakService: Service {
    let leaks: LeakWatch
    let live: CurrentGate
    let journal: RevocationJournal
    let clock: @Sendable () -> Timestamp

    func run() async throws {
        let (live, journal, clock) = (live, journal, clock)
        await cancelWhenGracefulShutdown { [leaks] in
            await leaks.run(store: live.current.gate.store) { session, end in
                let (gate, now) = (live.current.gate, clock())
                let revocation = Revocation(.playback(session), expires: max(end, now))
                do throws(APIRefusal) {
                    try await gate.record(revocation, cache: gate.grants?.revocationCache, at: now)
                } catch { return false }
                journal.noteRevoked(revocation, by: "leaks")
                return true
            }
        }
    }
}
