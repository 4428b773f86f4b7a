// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeListener
package import GateConfiguration
package import KeySources
internal import MediaResources
package import MediaTokens
internal import Platform
package import PlaybackGate
package import ReplayStores

/// The objects that a configuration describes: trust, catalogue and verifier.
package struct GateLoader: Sendable {
    package let trust: TrustStore
    package let catalogue: Catalogue
    package let verifier: Verifier
    /// The keys and issuers of grants; `nil` for a gate without them.
    package let grants: GrantParts?
    /// The identity providers whose tokens start playbacks; `nil` for none.
    package let starts: StartParts?
    /// The entries whose playbacks get tokens for licence servers.
    package let licensed: LicensedEntries
    /// The state of the files before they were read.
    package let files: FileStamps
    /// Warnings for the operator that do not prevent operation.
    package let warnings: [String]

    /// Reads the files that `configuration` names.
    ///
    /// - Throws: ``ConfigurationError`` with all problems.
    package init(_ configuration: GateConfiguration, at now: Timestamp) throws(ConfigurationError) {
        files = FileStamps(before: configuration)
        let problems = ProblemList()
        let trust = Self.trust(from: configuration.trust, at: now, problems: problems)
        var warnings = trust.map { Self.warnings(about: $0, at: now) } ?? []
        let catalogue = Self.catalogue(from: configuration.catalogue, problems: problems, warnings: &warnings)
        let policy = Self.policy(from: configuration, problems: problems)
        Self.checkGrants(of: configuration.catalogue, catalogue: catalogue, problems: problems)
        grants = configuration.grants.flatMap {
            Self.grants(from: configuration, settings: $0, at: now, problems: problems, warnings: &warnings)
        }
        starts = Self.starts(from: configuration, problems: problems, warnings: &warnings)
        licensed = Self.licensed(by: configuration, problems: problems)
        if let formats = grants?.formats {
            Self.checkSigning(
                of: configuration.catalogue,
                catalogue: catalogue,
                formats: formats,
                at: now,
                problems: problems
            )
        }
        // Files that changed meanwhile may combine two versions into one that was never intended.
        if FileStamps(configuration) != files {
            let change = "this file or a file that it names changed during the reading: try again"
            problems.add(at: configuration.file.location(""), message: change)
        }
        try problems.throwIfAny()
        guard let trust, let policy else { throw ConfigurationError(problems: []) }
        self.trust = trust
        self.catalogue = catalogue
        self.warnings = warnings
        let capacity = configuration.cacheCapacity.tokens
        verifier = Verifier(
            trust: trust,
            policy: policy,
            cache: capacity > 0 ? AuthenticatedTokenCache(capacity: capacity) : nil
        )
    }

    /// Creates a gate from these objects.
    ///
    /// - Parameters:
    ///   - grants: The authority for grants; `nil` for a gate without them.
    ///   - starter: Starts playbacks by the tokens of identity providers; `nil` for a gate of media tokens only.
    package func gate(
        _ configuration: GateConfiguration,
        store: any ReplayStore,
        grants: GrantService?,
        starter: PlaybackStarter?,
        observer: any DecisionObserver
    ) -> Gate {
        Gate(
            catalogue: catalogue,
            verifier: verifier,
            starter: starter,
            policies: configuration.policies,
            store: store,
            rules: configuration.use.rules,
            grants: grants,
            observer: observer
        )
    }

    /// The key sets to fetch: those of issuers of grants, and those of identity providers.
    package var remotes: [KeySetKeeper.Remote] { (grants?.remotes ?? []) + (starts?.remotes ?? []) }

    // MARK: Parts

    /// Reads the trust store. Each key file is read once, and its first error is reported at its line.
    private static func trust(
        from trust: GateConfiguration.Trust,
        at now: Timestamp,
        problems: ProblemList
    ) -> TrustStore? {
        let loader: TrustLoader
        do throws(TrustError) {
            let anchors = trust.anchors.map { TrustSource.file($0.value) }
            loader = try TrustLoader(anchors: anchors, minimumKeySize: trust.minimumKeySize, at: now)
        } catch {
            let anchor = trust.anchors.first { $0.value == error.source } ?? trust.anchors.first
            if let anchor { problems.add(at: anchor.location, message: "\(error)") }
            return nil
        }
        if trust.keys.isEmpty { return .empty }
        var keys: [LoadedKey] = []
        var isWhole = true
        for key in trust.keys {
            do throws(TrustError) { keys += try loader.keys(TrustSource(key)) } catch {
                problems.add(at: key.file.location, message: "\(error)")
                isWhole = false
            }
        }
        guard isWhole, let first = trust.keys.first else { return nil }
        do throws(TrustError) { return try TrustStore(keys, minimumKeySize: trust.minimumKeySize) } catch {
            let key = trust.keys.first { $0.file.value == error.source } ?? first
            problems.add(at: key.file.location, message: "\(error)")
            return nil
        }
    }

    /// Returns warnings about the keys that are not used because of the time.
    private static func warnings(about trust: TrustStore, at now: Timestamp) -> [String] {
        let warnings = trust.keys.compactMap { key in
            key.obstacle(at: now).map { "\(key.source): the key \(key.name) \($0), and is not used" }
        }
        guard warnings.count == trust.keys.count, !warnings.isEmpty else { return warnings }
        return warnings + ["no trusted key is valid now: every media token is refused"]
    }

    private static func policy(from configuration: GateConfiguration, problems: ProblemList) -> VerificationPolicy? {
        let verification = configuration.trust.verification
        var requestors: [String] = []
        let entries = configuration.catalogue.entries.compactMap(\.value.protection.requestor)
        for requestor in entries + configuration.catalogue.feeds.map(\.requestor)
        where !requestors.contains(where: { $0.utf8.elementsEqual(requestor.utf8) }) {
            requestors.append(requestor)
        }
        // A catalogue without protected entries names no requestor, but the verifier requires one.
        if requestors.isEmpty { requestors = ["(none)"] }
        do throws(PolicyError) {
            return try VerificationPolicy(
                requestors: requestors,
                earlyLeeway: verification.earlyLeeway,
                lateLeeway: verification.lateLeeway,
                maximumTimeToLive: verification.maximumTimeToLive,
                minimumKeySize: configuration.trust.minimumKeySize,
                matchOptions: verification.matchOptions
            )
        } catch {
            problems.add(at: configuration.file.location("trust"), message: "\(error)")
            return nil
        }
    }

    private static func catalogue(
        from configuration: GateConfiguration.Catalogue,
        problems: ProblemList,
        warnings: inout [String]
    ) -> Catalogue {
        var catalogue = Catalogue()
        for entry in configuration.entries {
            do throws(Catalogue.DuplicateEntry) { try catalogue.add(entry.value) } catch {
                problems.add(at: entry.location, message: "duplicate entry for \(error.key.text)")
            }
        }
        for feed in configuration.feeds { read(feed, into: &catalogue, problems: problems, warnings: &warnings) }
        if catalogue.count == 0, problems.problems.isEmpty {
            warnings.append("the catalogue is empty: no media can be played")
        }
        return catalogue
    }

    private static func read(
        _ feed: GateConfiguration.Catalogue.Feed,
        into catalogue: inout Catalogue,
        problems: ProblemList,
        warnings: inout [String]
    ) {
        var reader = FeedReader(channel: feed.channel)
        var fresh = catalogue
        var refused: [FeedRefusal] = []
        var conflicts: [Catalogue.Entry.Key] = []
        let add = { (item: FeedItem) in
            switch item {
            case .entry(let entry):
                conflicts += fresh.add(
                    entry,
                    requestor: feed.requestor,
                    source: feed.file.value,
                    scope: feed.paths,
                    grants: feed.grants
                )
            case .refused(let refusal): refused.append(refusal)
            }
        }
        do {
            try feed.file.value.readFile { chunk throws(FileFault) in
                do throws(FeedError) { try reader.read(chunk.span, body: add) } catch {
                    throw FileFault(reason: "\(error)")
                }
            }
            try reader.finish(add)
        } catch let fault as FileFault {
            return problems.add(at: feed.file.location, message: "\(feed.file.value): \(fault.reason)")
        } catch {
            return problems.add(at: feed.file.location, message: "\(feed.file.value): \(error)")
        }
        catalogue = fresh
        warnings += Self.warnings(about: feed, refusals: refused, conflicts: conflicts)
        warnings += reader.foreignElements.map { "\(feed.file.value): \($0) is not Media RSS, and was not read" }
    }

    /// Returns warnings about the items of a feed that cannot be played.
    private static func warnings(
        about feed: GateConfiguration.Catalogue.Feed,
        refusals refused: [FeedRefusal],
        conflicts: [Catalogue.Entry.Key]
    ) -> [String] {
        var warnings: [String] = []
        for refusal in refused.prefix(20) {
            let name = refusal.name.map { " (\($0))" } ?? ""
            warnings.append(
                "\(feed.file.value):\(refusal.line): item\(name) cannot be played: \(refusal.reason.rawValue)"
            )
        }
        if refused.count > 20 {
            warnings.append("\(feed.file.value): \(refused.count - 20) more items cannot be played")
        }
        for key in conflicts.prefix(20) {
            warnings.append("\(feed.file.value): items contradict each other about \(key.text), so it cannot be played")
        }
        return warnings
    }
}

extension TrustSource {
    fileprivate init(_ key: GateConfiguration.Trust.Key) {
        self = .file(
            key.file.value,
            name: key.name,
            requestors: key.requestors.map { .only($0) } ?? .any,
            validity: key.validity,
            tokens: key.tokens
        )
    }
}
