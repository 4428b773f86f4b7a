// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Keys
internal import MediaTokens
public import Platform
internal import Synchronization

/// The issue, check and renewal of grants. One authority serves all grants of a gate.
///
/// No session is stored: a grant carries the id of its session, the session's end, and the tags by which it can be revoked.
/// Source: CTA-5007 for the tokens.
public final class GrantAuthority: Sendable {
    /// The verifier of grants.
    public let verifier: CATVerifier
    /// The mirror of revocations, by which grants are refused without asking the store.
    public let mirror: RevocationMirror
    /// The key that names sessions and subjects.
    public let subjectKey: SubjectKey
    /// The signing keys.
    let signers: [Signer]
    /// Authentic grants by their text. Their restrictions are evaluated on every call.
    let authentic: TokenTable?
    /// Grants that were refused for their signature, which is costly to check for asymmetric keys.
    let forged: TokenTable?
    let renewed: RenewedGrants
    /// The ids that grants were refused by at random. It outlives the authority.
    package let rejections: RejectionList
    let metrics: GrantMetrics?
    /// A number that the entries of the caches carry.
    let generation: UInt64

    private static let generations = Atomic<UInt64>(0)

    /// A key that signs grants.
    public struct Signer: Sendable {
        /// The issuer with its key.
        public let issuer: CATIssuer
        /// The last time at which the key signs; `nil` for always.
        public let until: Timestamp?

        /// Creates a signer.
        public init(_ issuer: CATIssuer, until: Timestamp? = nil) {
            self.issuer = issuer
            self.until = until
        }

        func isUsable(at now: Timestamp) -> Bool { until.map { now <= $0 } ?? true }
    }

    /// Creates an authority.
    ///
    /// - Parameters:
    ///   - verifier: The verifier of grants, with the keys of all issuers.
    ///   - signers: The keys that sign grants.
    ///   - subjectKey: The key that names sessions and subjects, the same at all gates of an installation.
    ///   - mirror: The mirror of revocations.
    ///   - cacheCapacity: The number of authentic grants that are cached; 0 for none.
    ///   - metrics: The counters of grants; `nil` for none.
    public convenience init(
        verifier: CATVerifier,
        signers: [Signer],
        subjectKey: SubjectKey,
        mirror: RevocationMirror,
        cacheCapacity: Int = 16_384,
        metrics: GrantMetrics? = nil
    ) {
        self.init(verifier, signers, subjectKey, mirror, RejectionList(), cacheCapacity, metrics)
    }

    /// Creates an authority that goes on with the list of rejected ids of another.
    package init(
        _ verifier: CATVerifier,
        _ signers: [Signer],
        _ subjectKey: SubjectKey,
        _ mirror: RevocationMirror,
        _ rejections: RejectionList,
        _ cacheCapacity: Int,
        _ metrics: GrantMetrics?
    ) {
        self.rejections = rejections
        self.verifier = verifier
        self.signers = signers
        self.subjectKey = subjectKey
        self.mirror = mirror
        authentic = cacheCapacity > 0 ? TokenTable(capacity: cacheCapacity) : nil
        forged = cacheCapacity > 0 ? TokenTable(capacity: 1024) : nil
        renewed = RenewedGrants()
        self.metrics = metrics
        generation = Self.generations.add(1, ordering: .relaxed).newValue
    }

    /// The look-ups in the cache of authentic grants since it was created; `nil` without a cache.
    public var cacheLookUps: CacheLookUps? {
        guard let authentic, let forged else { return nil }
        let (good, bad) = (authentic.counters, forged.counters)
        // A grant that is not found among the authentic ones is looked up among the others.
        return CacheLookUps(hits: good.hits, forgedHits: bad.hits, misses: bad.misses)
    }

    /// The counts of a cache of grants.
    public struct CacheLookUps: Hashable, Sendable {
        /// The number of look-ups that found an authentic grant.
        public let hits: Int
        /// The number of look-ups that found a bad signature.
        public let forgedHits: Int
        /// The number of look-ups that found nothing.
        public let misses: Int
    }

    /// Returns the signer of a profile, or `nil` if it has none that is usable at `now`.
    func signer(_ profile: GrantProfile, at now: Timestamp) -> CATIssuer? {
        guard let id = profile.keyID.flatMap({ KeyID($0) }) else { return nil }
        return signers.first { signer in
            signer.issuer.key.issuer == profile.issuer && signer.issuer.key.id == id && signer.isUsable(at: now)
        }?.issuer
    }
}

extension GrantAuthority {
    /// The key of a viewer whose concurrent playbacks are counted; `nil` if the session carries no tags.
    static func leaseKey(_ session: PlaybackSession, requestor: String) -> LeaseKey? {
        guard let tags = session.revocation?.tags, tags.count >= 3 else { return nil }
        return LeaseKey(requestor: requestor, mvpd: tags[2], viewer: tags[1])
    }
}
