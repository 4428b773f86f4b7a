// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import EdgeTokens
internal import GateAPI
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import ServiceLifecycle
internal import SharedGrants
internal import Telemetry

/// The task that records renewals of grants, and revokes playbacks that are proven to be shared.
struct LeakService: Service {
    let leaks: LeakWatch
    let live: CurrentGate
    let journal: RevocationJournal
    let environment: GateServer.ServiceEnvironment

    func run() async throws {
        let (live, journal, environment) = (live, journal, environment)
        await cancelWhenGracefulShutdown { [leaks] in
            await leaks.run(
                store: live.current.gate.store,
                clock: environment.clock,
                sleep: { await environment.sleep($0.milliseconds) }
            ) { session, end in
                let (gate, now) = (live.current.gate, environment.clock())
                // Another gate may have proven it too.
                if gate.grants?.revocationCache.isRevoked(session) ?? false { return true }
                let revocation = Revocation(.sharedPlayback(session), expires: max(end, now))
                do throws(APIRefusal) {
                    try await gate.record(revocation, cache: gate.grants?.revocationCache, at: now)
                } catch { return false }
                journal.noteRevoked(revocation, by: "leaks")
                return true
            }
        }
    }
}
