// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateConfiguration
internal import Platform
internal import PlaybackGate

// What the grants of an entry would open beside it, and whether they can be counted: faults of the configuration, which nobody
// would notice before a viewer does.

extension GateLoader {
    /// Notes the entries and feeds whose grants would open other media, and those whose playbacks cannot be counted.
    static func checkGrants(
        of configuration: GateConfiguration.Catalogue,
        catalogue: Catalogue,
        problems: ProblemList
    ) {
        guard
            configuration.feeds.contains(where: { !$0.grants.isEmpty })
                || configuration.entries.contains(where: { $0.value.hasGrants })
        else {
            return
        }
        let granting = catalogue.entries.filter { $0.hasGrants }
        let isSurveyed = granting.contains {
            $0.grants?.profiles.contains { $0.isIssued && $0.isCheckedByOthers } ?? false
        }
        let survey = isSurveyed ? ScopeSurvey(catalogue) : nil
        let limited = LimitedProtections(granting)
        for entry in configuration.entries where entry.value.hasGrants {
            for fault in faults(of: entry.value, survey: survey, limited: limited) {
                problems.add(at: entry.location, message: fault)
            }
        }
        for feed in configuration.feeds where !feed.grants.isEmpty {
            // One item is enough: its siblings have the same fault.
            let items = granting.lazy.filter { entry in
                if case .feed(feed.file.value, _) = entry.origin { true } else { false }
            }
            if let fault = items.compactMap({ faults(of: $0, survey: survey, limited: limited).first }).first {
                problems.add(at: feed.file.location, message: fault)
            }
        }
    }

    /// Notes the entries and feeds for which a vendor's format can sign nothing: their playbacks would have no such
    /// grant.
    static func checkSigning(
        of configuration: GateConfiguration.Catalogue,
        catalogue: Catalogue,
        formats: [String: FormatIssuer],
        at now: Timestamp,
        problems: ProblemList
    ) {
        func fault(_ entry: Catalogue.Entry) -> String? {
            entry.grants?.profiles.lazy.compactMap { profile in
                formats[profile.name]?.fault(signing: entry, by: profile, at: now).map { error in
                    "profile \(profile.name): \(profile.format.name) cannot sign the paths of \(entry.key.text): \(error)"
                }
            }.first
        }
        for entry in configuration.entries {
            if let fault = fault(entry.value) { problems.add(at: entry.location, message: fault) }
        }
        for feed in configuration.feeds where !feed.grants.isEmpty {
            // Signing for every item of a large feed would need minutes, and its siblings have the same fault.
            let item = catalogue.entries.first { entry in
                if case .feed(feed.file.value, _) = entry.origin { true } else { false }
            }
            if let fault = item.flatMap(fault) { problems.add(at: feed.file.location, message: fault) }
        }
    }

    private static func faults(
        of entry: Catalogue.Entry,
        survey: ScopeSurvey?,
        limited: LimitedProtections
    ) -> [String] {
        (entry.grants?.profiles ?? []).compactMap { profile in
            if let fault = limited.fault(for: entry, by: profile) { return fault }
            guard profile.isIssued else { return nil }
            if entry.opensEverything(profile) {
                return "profile \(profile.name): the grants of \(entry.key.text) would open every path: "
                    + "name their paths, or say scope: /"
            }
            if profile.needsHost(for: entry) {
                return "profile \(profile.name): requires host, as a signed URI of a file has one"
            }
            guard profile.isCheckedByOthers, let other = survey?.stranger(to: entry, by: profile) else { return nil }
            return "profile \(profile.name): who checks its grants without this catalogue lets those of "
                + "\(entry.key.text) open \(other.key.text), which needs another resource or requestor: give the entry a scope of its own"
        }
    }
}

/// The resources and requestors whose playbacks are limited.
private struct LimitedProtections {
    private var all: Set<Catalogue.Entry.Protection> = []

    init(_ entries: [Catalogue.Entry]) {
        for entry in entries where entry.grants?.profiles.contains(where: { $0.rules.streamLimit != nil }) ?? false {
            all.insert(entry.protection)
        }
    }

    /// Returns the fault of a profile whose grants do not name the viewer of a playback that is counted.
    func fault(for entry: Catalogue.Entry, by profile: GrantProfile) -> String? {
        guard !all.isEmpty, profile.isIssued, !profile.rules.isRevocable, all.contains(entry.protection) else {
            return nil
        }
        return "profile \(profile.name): revocation must be tags, because streams limits the playbacks of "
            + "\(entry.key.text)'s resource, and a grant without tags finds no slot"
    }
}

extension GrantProfile {
    /// True if the signed URIs of an entry are for files, which need a host.
    fileprivate func needsHost(for entry: Catalogue.Entry) -> Bool {
        format == .uriSigning && rules.host == nil && entry.grants?.isOfFiles ?? false
    }
}
