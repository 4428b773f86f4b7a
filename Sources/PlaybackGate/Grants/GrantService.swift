// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import CommonAccessTokens
public import EdgeTokens
public import Keys
internal import MediaTokens
public import Platform
public import ReplayStores
public import SharedGrants
internal import Synchronization
public import URISigning

/// The issue, check and renewal of grants. One authority serves all grants of a gate.
///
/// No session is stored: a grant carries the id of its session, the session's end, and the tags by which it can be revoked.
/// Source: CTA-5007 for the tokens.
public final class GrantService: Sendable {
    /// The verifier of grants.
    public let verifier: CATVerifier
    /// The verifier of signed URIs; `nil` if none are accepted.
    public let signedURIs: URISigningVerifier?
    /// The cache of revocations, by which grants are refused without a call to the store.
    public let revocationCache: RevocationCache
    /// The key that names sessions and subjects.
    public let subjectKey: SubjectKey
    /// The signing keys of Common Access Tokens.
    package let signers: [Signer<CATIssuer>]
    /// The issuers of other formats, by the names of their profiles.
    package let formats: [String: FormatIssuer]
    /// Authentic grants by their text. Their restrictions are evaluated on every call.
    let authentic: TokenTable?
    /// The cache of grants with a bad signature, because the check of an asymmetric signature is costly.
    let forged: TokenTable?
    let renewed: RenewedGrants
    /// The ids that grants were refused by at random. It outlives the authority.
    public let rejections: RejectionList
    let metrics: (any GrantObserver)?
    /// A number that the entries of the caches carry.
    let generation: UInt64
    /// Receives each renewal of a grant whose renewals are counted; `nil` if they are not.
    let leaks: LeakWatch?
    /// Asks for a key that the verifier does not have: see the initializer.
    let askForKey: @Sendable (KeyID, Timestamp) -> Bool

    private static let generations = Atomic<UInt64>(0)

    /// A key that signs grants.
    public struct Signer<Issuer: KeyedIssuer>: Sendable {
        /// The issuer with its key.
        public let issuer: Issuer
        /// The name by which profiles refer to the key: its identifier, or the common name of its set.
        package let name: KeyID?
        /// The first time at which the key signs; `nil` for always.
        public let from: Timestamp?
        /// The last time at which the key signs; `nil` for always.
        public let until: Timestamp?

        /// Creates a signer.
        ///
        /// - Parameters:
        ///   - issuer: The issuer with its key.
        ///   - name: The name by which profiles name the key; `nil` for its identifier.
        ///   - from: The first time at which the key signs; `nil` for always.
        ///   - until: The last time at which the key signs; `nil` for always.
        public init(_ issuer: Issuer, name: String? = nil, from: Timestamp? = nil, until: Timestamp? = nil) {
            self.issuer = issuer
            self.name = name.flatMap { KeyID($0) } ?? issuer.key.id
            self.from = from
            self.until = until
        }

        /// The time from which on the key signs.
        var start: Timestamp { from ?? Timestamp(millisecondsSince1970: .min) }

        /// True if the key signs at `now`.
        package func isUsable(at now: Timestamp) -> Bool {
            from.map { $0 <= now } ?? true && until.map { now <= $0 } ?? true
        }
    }

    /// Creates an authority.
    ///
    /// - Parameters:
    ///   - verifier: The verifier of grants, with the keys of all issuers.
    ///   - signedURIs: The verifier of signed URIs; `nil` if none are accepted.
    ///   - signers: The keys that sign grants.
    ///   - formats: The issuers of other formats than Common Access Tokens, by the names of their profiles.
    ///   - subjectKey: The key that names sessions and subjects, the same at all gates of an installation.
    ///   - revocationCache: The cache of revocations.
    ///   - rejections: The list of rejected ids, which survives a reload.
    ///   - cacheCapacity: The number of authentic grants that are cached; 0 for none.
    ///   - metrics: Counts the grants; `nil` for nothing.
    ///   - leaks: Receives the renewals that are counted; `nil` for none.
    ///   - askForKey: Called with the identifier of a key that the verifier does not have, and the time. Returns true if a key
    ///     set is being fetched that may bring it: see `GrantRefusal.Detail.keySetAwaited`. It must not wait.
    public init(
        verifier: CATVerifier,
        signedURIs: URISigningVerifier? = nil,
        signers: [Signer<CATIssuer>],
        formats: [String: FormatIssuer] = [:],
        subjectKey: SubjectKey,
        revocationCache: RevocationCache,
        rejections: RejectionList = RejectionList(),
        cacheCapacity: Int = 16_384,
        metrics: (any GrantObserver)? = nil,
        leaks: LeakWatch? = nil,
        askForKey: @escaping @Sendable (KeyID, Timestamp) -> Bool = { _, _ in false }
    ) {
        self.rejections = rejections
        self.verifier = verifier
        self.signedURIs = signedURIs
        self.signers = signers
        self.formats = formats
        self.subjectKey = subjectKey
        self.revocationCache = revocationCache
        authentic = cacheCapacity > 0 ? TokenTable(capacity: cacheCapacity) : nil
        forged = cacheCapacity > 0 ? TokenTable(capacity: 1024) : nil
        renewed = RenewedGrants()
        self.metrics = metrics
        self.leaks = leaks
        generation = Self.generations.add(1, ordering: .relaxed).newValue
        self.askForKey = askForKey
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

    /// Creates an authority with the settings of another one and other keys of verification. Renewed grants stay known.
    /// Results about signatures by the former keys are discarded.
    ///
    /// - Parameters:
    ///   - present: The authority.
    ///   - verifier: The verifier that replaces its own.
    ///   - signedURIs: The verifier of signed URIs that replaces its own.
    public init(_ present: GrantService, verifier: CATVerifier, signedURIs: URISigningVerifier?) {
        self.verifier = verifier
        self.signedURIs = signedURIs
        signers = present.signers
        formats = present.formats
        subjectKey = present.subjectKey
        revocationCache = present.revocationCache
        rejections = present.rejections
        authentic = present.authentic
        forged = present.forged
        renewed = present.renewed
        generation = Self.generations.add(1, ordering: .relaxed).newValue
        metrics = present.metrics
        leaks = present.leaks
        askForKey = present.askForKey
    }

    /// Returns the signer of a profile, or `nil` if it has none that is usable at `now`. Of several, the one that began to
    /// sign last signs; of two that began together, the one that the profile names first.
    func signer(_ profile: GrantProfile, at now: Timestamp) -> CATIssuer? {
        var found: Signer<CATIssuer>?
        for id in profile.keys {
            for signer in signers where signer.name == id && signer.issuer.key.issuer == profile.issuer {
                guard signer.isUsable(at: now), found.map({ $0.start < signer.start }) ?? true else { continue }
                found = signer
            }
        }
        return found?.issuer
    }
}

/// A counter of the grants that a gate issues and renews. Called on the thread of the decision, so it must not wait.
public protocol GrantObserver: Sendable {
    /// Counts a grant of a playback that starts, or of an exchange.
    func countIssued(_ profile: GrantProfile)

    /// Counts a grant that a playback lacks because the format cannot express its path.
    func countNotIssued(_ profile: GrantProfile)

    /// Counts a renewed grant. A grant that parallel requests share counts once.
    func countRenewed(_ profile: GrantProfile)
}
