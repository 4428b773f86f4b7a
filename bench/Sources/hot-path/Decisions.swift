// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import MediaTokens
import PlaybackGate
import ReplayStores

extension HotPath {
    /// Measures a whole decision: catalogue, verification, replay store.
    static func gate(_ options: Options) throws -> [String] {
        let issued = try SignedToken()
        let token = String(decoding: issued.token, as: UTF8.self)
        let resource = try MediaResource("TNT")
        var catalogue = Catalogue()
        let protection = Catalogue.Entry.Protection.resource(resource, requestor: "REF30")
        try catalogue.add(Catalogue.Entry(key: .media("tnt"), protection: protection, use: .withinTTL))
        try catalogue.add(
            Catalogue.Entry(key: .path(try PathPattern("/live/tnt/")), protection: protection, use: .withinTTL)
        )
        try catalogue.add(Catalogue.Entry(key: .media("once"), protection: protection))
        let uncached = Gate(
            catalogue: catalogue,
            verifier: try issued.verifier(),
            store: MemoryReplayStore(capacity: 1000)
        )
        let cached = Gate(
            catalogue: catalogue,
            verifier: try issued.verifier(cache: AuthenticatedTokenCache()),
            store: MemoryReplayStore(capacity: 1000)
        )
        // One token is consumed before the measurement.
        precondition(
            cached.decision(PlaybackRequest(.media("once"), token: token), at: SignedToken.time)?.isAllowed == true
        )
        let table = Table("Decisions of a gate with a store in memory", options: options)
        issued.addLimits(to: table)
        let rows: [(String, Int, Gate, PlaybackRequest.Target, Bool)] = [
            ("within its TTL, a media id", 300, uncached, .media("tnt"), true),
            ("within its TTL, a media id, cached", 3000, cached, .media("tnt"), true),
            ("within its TTL, a path, cached", 3000, cached, .path("/live/tnt/low/seg1.ts"), true),
            ("used up, cached", 3000, cached, .media("once"), false),
        ]
        for (name, count, gate, target, isAllowed) in rows {
            let request = PlaybackRequest(target, token: token)
            precondition(gate.decision(request, at: SignedToken.time)?.isAllowed == isAllowed, name)
            table.measure(name, count: count) { n in
                for _ in 0..<n { precondition(gate.decision(request, at: SignedToken.time)?.isAllowed == isAllowed) }
            }
        }
        table.run()
        return table.faults([
            ("a cached decision", table["within its TTL, a media id, cached"], 0),
            ("a cached decision of a path", table["within its TTL, a path, cached"], 0),
        ])
    }

    static func catalogues(_ options: Options) throws {
        let resource = try MediaResource("TNT")
        let protection = Catalogue.Entry.Protection.resource(resource, requestor: "REF30")
        let table = Table("Looking up in catalogues", options: options)
        // A plain dictionary is the lower bound of a lookup.
        let names = Dictionary(uniqueKeysWithValues: (0..<10_000).map { ("media-\($0)", $0) })
        table.measure("a Dictionary of 10,000 strings", count: 3000) { n in
            for _ in 0..<n { precondition(names["media-7"] != nil) }
        }
        for size in [10, 10_000, 1_000_000] {
            var catalogue = Catalogue()
            for number in 0..<(size / 2) {
                try catalogue.add(Catalogue.Entry(key: .media("media-\(number)"), protection: protection))
                let folder = try PathPattern("/vod/title-\(number)/")
                try catalogue.add(Catalogue.Entry(key: .path(folder), protection: protection))
            }
            let built = catalogue
            for (name, target) in [
                ("media id", PlaybackRequest.Target.media("media-3")), ("path", .path("/vod/title-3/low/seg1.ts")),
            ] {
                table.measure("\(name), \(size) entries", count: 3000) { n in
                    for _ in 0..<n {
                        guard case .entry = built.find(target) else { fatalError("not found") }
                    }
                }
            }
        }
        table.run()
    }
}

extension Gate {
    /// The decision of a gate with a store in memory, which takes one step.
    func decision(_ request: PlaybackRequest, at now: Timestamp) -> Decision? {
        if case .decided(let decision) = begin(request, at: now) { decision } else { nil }
    }
}
