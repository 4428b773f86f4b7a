// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeListener
package import HTTPServer
package import KeySources
package import MediaTokens
package import Platform
internal import PlaybackGate
package import ReplayStores
package import Telemetry

/// The values that are read when metrics are requested.
package struct ServiceGauges: Sendable {
    package let inFlight: ConcurrencyLimit
    package let reloads: ReloadCounts
    package let sink: LogSink
    package let connectionLimits: [ConnectionLimit]
    package let revocationCache: RevocationCache?
    package let keySets: KeySetKeeper

    /// Creates a value of its members.
    package init(
        inFlight: ConcurrencyLimit,
        reloads: ReloadCounts,
        sink: LogSink,
        connectionLimits: [ConnectionLimit],
        revocationCache: RevocationCache?,
        keySets: KeySetKeeper
    ) {
        self.inFlight = inFlight
        self.reloads = reloads
        self.sink = sink
        self.connectionLimits = connectionLimits
        self.revocationCache = revocationCache
        self.keySets = keySets
    }

    package func values(
        of snapshot: CurrentGate.Snapshot,
        report: Readiness.Report,
        at now: Timestamp
    ) -> [PrometheusGauge] {
        let gate = snapshot.gate
        return [
            service, readiness(report), catalogue(snapshot, at: now), reloadResults, logAndMemory, connections,
            keys(gate.verifier.trust, at: now),
            store(gate.store), revocations, cache(gate.verifier.cache), grantCache(gate.grants),
            repeatedAnswers(snapshot.answers), keySets(at: now),
        ].flatMap { $0 }
    }

    package var service: [PrometheusGauge] {
        [
            PrometheusGauge(
                name: "playgate_build_info",
                help: "Always 1, with the version as a label.",
                labels: [("version", GateVersion.current)],
                value: 1
            ),
            PrometheusGauge(name: "playgate_in_flight", help: "Decisions in flight.", value: Double(inFlight.inFlight)),
        ]
    }

    package func readiness(_ report: Readiness.Report) -> [PrometheusGauge] {
        [
            PrometheusGauge(
                name: "playgate_ready",
                help: "1 if the gate is ready, as /readyz tells.",
                value: report.faults.isEmpty ? 1 : 0
            ),
            PrometheusGauge(
                name: "playgate_store_up",
                help: "1 if the store has just recorded something.",
                value: report.isStoreUp ? 1 : 0
            ),
        ]
    }

    package func catalogue(_ snapshot: CurrentGate.Snapshot, at now: Timestamp) -> [PrometheusGauge] {
        [
            PrometheusGauge(
                name: "playgate_catalogue_entries",
                help: "Entries of the catalogue.",
                value: Double(snapshot.gate.catalogue.count)
            ),
            PrometheusGauge(
                name: "playgate_catalogue_age_seconds",
                help: "Time since the catalogue was loaded.",
                value: Double(now.millisecondsSince1970 - snapshot.loaded.millisecondsSince1970) / 1000
            ),
        ]
    }

    package var reloadResults: [PrometheusGauge] {
        let reloads = reloads.current
        let results = [("succeeded", reloads.succeeded), ("failed", reloads.failed)].map { result, count in
            PrometheusGauge(
                name: "playgate_reloads_total",
                type: "counter",
                help: "Reloads by result.",
                labels: [("result", result)],
                value: Double(count)
            )
        }
        return results + [
            PrometheusGauge(
                name: "playgate_config_reload_success",
                help: "0 if the last reload was rejected and the previous configuration is active.",
                value: reloads.problems.isEmpty ? 1 : 0
            )
        ]
    }

    package var logAndMemory: [PrometheusGauge] {
        [
            PrometheusGauge(
                name: "playgate_log_lines_dropped_total",
                type: "counter",
                help: "Log lines dropped because the output was too slow.",
                value: Double(sink.dropped)
            ),
            PrometheusGauge(
                name: "process_resident_memory_bytes",
                help: "Resident memory.",
                value: Double(Self.residentMemory)
            ),
        ]
    }

    private var connections: [PrometheusGauge] {
        // A listener with several addresses has slots for each.
        var names: [String] = []
        for limit in connectionLimits where !names.contains(limit.listener) { names.append(limit.listener) }
        return names.map { name in
            PrometheusGauge(
                name: "playgate_connections_open",
                help: "Open connections.",
                labels: [("listener", name)],
                value: Double(connectionLimits.reduce(0) { $0 + ($1.listener == name ? $1.count : 0) })
            )
        }
    }

    package func keys(_ trust: TrustStore, at now: Timestamp) -> [PrometheusGauge] {
        trust.keys.flatMap { key in
            [
                PrometheusGauge(
                    name: "playgate_trusted_key_expiry_timestamp_seconds",
                    help: "Expiry of a trusted key in Unix seconds; +Inf if it does not expire.",
                    labels: [("key", key.name)],
                    value: key.validity.map { Double($0.upperBound.millisecondsSince1970) / 1000 } ?? .infinity
                ),
                PrometheusGauge(
                    name: "playgate_trusted_key_usable",
                    help: "1 if a trusted key is valid now, 0 if it is loaded and not used.",
                    labels: [("key", key.name)],
                    value: key.isValid(at: now) ? 1 : 0
                ),
            ]
        }
    }

    package func store(_ store: any ReplayStore) -> [PrometheusGauge] {
        store.gauges.map { gauge in
            PrometheusGauge(
                name: gauge.name,
                type: gauge.isCounter ? "counter" : "gauge",
                help: gauge.help,
                value: gauge.value
            )
        }
    }

    package var revocations: [PrometheusGauge] {
        guard let revocationCache else { return [] }
        return [
            PrometheusGauge(
                name: "playgate_revocation_mirror_entries",
                help: "Revocations that are mirrored for grants.",
                value: Double(revocationCache.count)
            ),
            PrometheusGauge(
                name: "playgate_revocation_mirror_age_seconds",
                help: "Time since the mirror of revocations was refreshed; +Inf if it is incomplete.",
                value: revocationCache.age()?.seconds ?? .infinity
            ),
        ]
    }

    package func keySets(at now: Timestamp) -> [PrometheusGauge] {
        keySets.statuses(at: now).flatMap { issuer, status in
            [
                PrometheusGauge(
                    name: "playgate_key_set_age_seconds",
                    help: "Time since the key set was confirmed by its server; +Inf if there is none.",
                    labels: [("issuer", issuer)],
                    value: status.age?.seconds ?? .infinity
                )
            ]
                + KeySetOutcome.allCases.map { outcome in
                    PrometheusGauge(
                        name: "playgate_key_set_fetches_total",
                        type: "counter",
                        help: "Fetches of key sets by result.",
                        labels: [("issuer", issuer), ("result", outcome.name)],
                        value: Double(status.fetches[outcome] ?? 0)
                    )
                }
        }
    }

    private func cache(_ cache: AuthenticatedTokenCache?) -> [PrometheusGauge] {
        guard let statistics = cache?.statistics else { return [] }
        return Self.lookups(
            "playgate_cache_lookups_total",
            help: "Lookups in the cache of authenticated tokens.",
            hits: statistics.hits,
            forgedHits: statistics.forgedHits,
            misses: statistics.misses
        ) + [
            PrometheusGauge(
                name: "playgate_cache_entries",
                help: "Tokens in the cache of authenticated tokens.",
                value: Double(statistics.count)
            )
        ]
    }

    private func grantCache(_ grants: GrantService?) -> [PrometheusGauge] {
        guard let lookups = grants?.cacheLookUps else { return [] }
        return Self.lookups(
            "playgate_grant_cache_lookups_total",
            help: "Lookups in the cache of authentic grants.",
            hits: lookups.hits,
            forgedHits: lookups.forgedHits,
            misses: lookups.misses
        )
    }

    package func repeatedAnswers(_ answers: EdgeAnswerCache?) -> [PrometheusGauge] {
        guard let answers else { return [] }
        return [
            PrometheusGauge(
                name: "playgate_edge_repeated_answers_total",
                type: "counter",
                help: "Checks that were answered as an earlier one for another file of the same folder.",
                value: Double(answers.found)
            )
        ]
    }

    private static func lookups(
        _ name: String,
        help: String,
        hits: Int,
        forgedHits: Int,
        misses: Int
    ) -> [PrometheusGauge] {
        [("hit", hits), ("forged_hit", forgedHits), ("miss", misses)].map { result, count in
            PrometheusGauge(
                name: name,
                type: "counter",
                help: help,
                labels: [("result", result)],
                value: Double(count)
            )
        }
    }

    /// The resident memory in bytes; 0 if the system does not report it.
    private static var residentMemory: Int {
        guard let text = try? "/proc/self/statm".contentsOfFile(limit: 4096) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }
}
