// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeChecks
internal import EdgeListener
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import Synchronization

/// Makes the policy of the active gate, for edges that check requests by themselves.
package final class PolicyPublisher: Sendable {
    private let live: CurrentGate
    private let revocationCache: RevocationCache?
    private let made = Mutex<Edition?>(nil)
    /// The requests that wait for a change.
    let waits = ConcurrencyLimit(256)

    /// A policy with its tag.
    final class Edition: Sendable {
        let snapshot: CurrentGate.Snapshot
        let revision: UInt64
        let policy: EdgeBundle
        /// The tag of the members that no part replaces.
        let rules: String
        /// The entity tag, with its quotes: that of the rules, and that of the parts.
        let tag: String

        init(snapshot: CurrentGate.Snapshot, revision: UInt64, policy: EdgeBundle) {
            self.snapshot = snapshot
            self.revision = revision
            self.policy = policy
            // The time of writing is no change.
            var timeless = policy
            timeless.issued = Timestamp(millisecondsSince1970: 0)
            let parts = Self.digest(timeless.json(parts: [.keys, .revocations]))
            timeless.revocations = []
            timeless.grants?.keys = []
            rules = "\"\(Self.digest(timeless.json()))-"
            tag = rules + parts + "\""
        }

        private static func digest(_ text: [UInt8]) -> String { Array(SHA256.digest(text).prefix(12)).hexadecimal }
    }

    init(_ live: CurrentGate, revocationCache: RevocationCache?) {
        self.live = live
        self.revocationCache = revocationCache
    }

    /// True if the revocations are not known: a policy without them would allow revoked tokens.
    var isBlind: Bool { revocationCache.map { !$0.isRecent() } ?? false }

    /// True if there may be another edition.
    func isOutdated(_ edition: Edition) -> Bool {
        edition.snapshot !== live.current || edition.revision != revocationCache?.revision ?? 0
    }

    /// Returns the present policy.
    func edition(at now: Timestamp) -> Edition {
        let known = made.withLock { $0 }
        if let known, !isOutdated(known) { return known }
        // The number is read first: what is revoked meanwhile makes another edition.
        let (snapshot, revision) = (live.current, revocationCache?.revision ?? 0)
        let gate = snapshot.gate
        let policy = EdgeBundle(
            of: gate,
            revokedBy: revocationCache,
            subjectKey: gate.grants?.subjectKey,
            goodFor: snapshot.configuration.advanced.bundleMaxAge,
            at: now
        )
        let edition = Edition(snapshot: snapshot, revision: revision, policy: policy)
        made.withLock { $0 = edition }
        return edition
    }
}

/// The parameters of `GET /v1/policy`.
struct PolicyQuery {
    /// The longest wait for a change.
    static let longestWait = 55

    /// The wait for a change, in seconds.
    private(set) var wait = 0
    /// The parts to answer with if nothing else has changed; `nil` for the whole policy.
    private(set) var parts: Set<EdgeBundle.Part>?

    /// Reads the query of a target; `nil` if it has anything else.
    init?(target: String) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return }
        var names: Set<Substring> = []
        for pair in target[target.utf8.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false) {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, names.insert(halves[0]).inserted else { return nil }
            switch halves[0] {
            case "wait":
                guard 1...2 ~= halves[1].utf8.count, halves[1].utf8.allSatisfy(\.isASCIIDigit),
                    let seconds = Int(halves[1]), seconds <= Self.longestWait
                else { return nil }
                wait = seconds
            case "parts":
                let named = halves[1].split(separator: ",").map { EdgeBundle.Part(rawValue: String($0)) }
                guard !named.isEmpty, !named.contains(nil) else { return nil }
                parts = Set(named.compactMap(\.self))
            default: return nil
            }
        }
    }
}
