// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CoreMetrics
internal import EdgeChecks
internal import KeySources
internal import Logging
package import Platform
internal import PlaybackGate
internal import ReplayStores

internal import struct SystemPackage.FileDescriptor

extension GateServer {
    /// Returns the policy of the configuration as `GET /v1/policy` has it, but without revocations and without fetched
    /// keys. No store and no connection is opened.
    ///
    /// - Parameters:
    ///   - goodFor: The time for which the policy may be used, from 5 s to 30 days.
    ///   - now: The present time.
    package func policy(goodFor: Duration, at now: Timestamp) -> [UInt8] {
        let environment = ServiceEnvironment(log: .standardError, clock: { now })
        let keySets = KeySetKeeper(
            clock: environment.clock,
            sleep: environment.sleep,
            fetcher: environment.keySetFetcher,
            logger: Logger(label: "playgate") { _ in SwiftLogNoOpLogHandler() }
        )
        let gate = builder.gate(
            configuration,
            store: MemoryReplayStore(capacity: 1, leaseCapacity: 1),
            grants: builder.grants?.authority(keySets: keySets, metrics: NOOPMetricsHandler.instance),
            observer: NoObserver()
        )
        let range = EdgeBundle.goodForRange
        let life = min(max(goodFor, range.lowerBound), range.upperBound)
        return EdgeBundle(of: gate, revokedBy: nil, subjectKey: nil, goodFor: life, at: now).json()
    }
}
