// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import MediaResources
package import PlaybackGate
internal import Synchronization

/// The settings of a location of an edge, which determine the media of its requests.
///
/// The required resource comes from the edge's configuration, never from a request.
package final class EdgeLocation: Sendable {
    /// The rule that decides instead of the path.
    private let subject: Subject
    /// The name of the only profile whose grants are accepted; `nil` for those of the entry.
    private let profile: String?
    /// The entry by the policy of a gate. It is not made again after a revocation.
    private let made = Mutex<(gate: Gate, match: Catalogue.Finding)?>(nil)

    /// The rule that decides instead of the path.
    package enum Subject: Sendable {
        /// The path.
        case path
        /// The entry of a media id.
        case media(String)
        /// A resource of a requestor, and the use of its tokens.
        case resource(MediaResource, requestor: String, use: Catalogue.Entry.Use)
    }

    /// Creates settings.
    package init(_ subject: Subject, profile: String?) {
        self.subject = subject
        self.profile = profile
    }

    /// Checks that a policy has the media and the profile which are named, so that a configuration can be refused at its load.
    package func check(by policy: EdgeBundle) throws(EdgeBundleError) {
        if case .media(let media) = subject, policy.catalogue.entry(media: media) == nil {
            throw EdgeBundleError("the policy has no media \(media)")
        }
        let profiles = policy.grants?.profiles ?? []
        if let profile, !profiles.contains(where: { $0.name.hasSameBytes(as: profile) }) {
            throw EdgeBundleError("the policy has no profile \(profile)")
        }
    }

    /// True if all requests have one entry, for any path.
    var isOneEntry: Bool { if case .path = subject { false } else { true } }

    /// Returns the match of a request in this location.
    ///
    /// - Parameters:
    ///   - found: The match of the catalogue for its path. An invalid path stays so.
    ///   - snapshot: The bundle in force.
    func match(_ found: Catalogue.Finding, by snapshot: EmbeddedChecker.Snapshot) -> Catalogue.Finding {
        if case .invalidPath = found { return found }
        if case .path = subject {
            guard case .entry(let entry) = found, let profile else { return found }
            return .entry(entry.accepting(profile))
        }
        return made.withLock { made in
            if let made, made.gate === snapshot.gate { return made.match }
            let match = makeMatch(by: snapshot.gate, profiles: snapshot.policy.grants?.profiles ?? [])
            made = (snapshot.gate, match)
            return match
        }
    }

    private func makeMatch(by gate: Gate, profiles all: [GrantProfile]) -> Catalogue.Finding {
        switch subject {
        case .path: return .unknown
        case .media(let id):
            guard let entry = gate.catalogue.entry(media: id) else { return .unknown }
            return .entry(profile.map { entry.accepting($0) } ?? entry)
        case .resource(let resource, let requestor, let use):
            let profiles = all.filter { own in profile.map { own.name.hasSameBytes(as: $0) } ?? false }
            let protection = Catalogue.Entry.Protection.resource(resource, requestor: requestor)
            let entry = Catalogue.Entry(key: .media(resource.text), protection: protection, use: use)
            // An edge has no key to make a tag. Without one from the catalogue, no grant of this installation opens the entry.
            let known = gate.catalogue.unorderedEntries.first { other in
                other.protection == protection && other.madeTag != nil
            }
            return .entry(Catalogue.Entry(entry, grants: profiles.isEmpty ? nil : .init(profiles), tag: known?.madeTag))
        }
    }
}

extension Catalogue.Entry {
    /// The entry with the grants of only one of its profiles; with none if it has no such profile.
    fileprivate func accepting(_ name: String) -> Self {
        guard var terms = grants else { return self }
        terms.profiles = terms.profiles.filter { $0.name.hasSameBytes(as: name) }
        return Self(self, grants: terms.profiles.isEmpty ? nil : terms, tag: madeTag)
    }
}
