// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Cryptography
internal import EdgeTokens
internal import Keys
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import URISigning

extension EdgeBundle {
    /// The objects of a gate that a policy makes, except its revocation cache.
    struct Parts {
        let trust: TrustStore
        let cat: CATVerifier?
        let signedURIs: URISigningVerifier?
        let signers: [GrantService.Signer<CATIssuer>]
        let formats: [String: FormatIssuer]
        let subjectKey: SubjectKey
    }

    /// Makes the objects of a gate. It acquires no lock, so that its process may fork.
    func parts() throws(EdgeBundleError) -> Parts {
        let store: TrustStore
        do throws(TrustError) {
            // Where identity providers start playbacks, no media token needs to.
            store =
                trust.isEmpty && starts != nil
                ? .empty : try TrustStore(trust, minimumKeySize: verification.minimumKeySize)
        } catch { throw EdgeBundleError("trust: \(error)") }
        let subjectKey = try usedKey()
        guard let grants else {
            return Parts(
                trust: store,
                cat: nil,
                signedURIs: nil,
                signers: [],
                formats: [:],
                subjectKey: subjectKey
            )
        }
        let set: KeySet
        do throws(KeySetError) { set = try KeySet(grants.keys.map(\.key)) } catch {
            throw EdgeBundleError("keys: \(error)")
        }
        var policy = CATPolicy()
        policy.audience = grants.audience
        // The service has both: a check that needs its store is sent to it.
        policy.hasReplayStore = true
        policy.hasRejectionList = true
        var signing = URISigningPolicy()
        signing.audience = grants.audience
        signing.hasReplayStore = true
        return Parts(
            trust: store,
            cat: CATVerifier(keys: set, issuers: grants.issuers, policy: policy),
            signedURIs: grants.signers.isEmpty
                ? nil : URISigningVerifier(keys: set, issuers: grants.signers, policy: signing),
            signers: grants.signers(of: .cat) { try? CATIssuer(key: $0) },
            formats: grants.formats,
            subjectKey: subjectKey
        )
    }

    /// The key of sessions. No grant is issued here, so no session needs the key of the installation.
    private func usedKey() throws(EdgeBundleError) -> SubjectKey {
        if let subjectKey { return subjectKey }
        let random = try? RandomBytes.make(SubjectKey.minimumSize)
        guard let key = random.flatMap({ try? SubjectKey($0) }) else { throw EdgeBundleError("no subject key") }
        return key
    }

    /// The number of tokens, and of grants, whose signatures are remembered.
    private static var cacheCapacity: Int { 16_384 }

    /// Makes a gate.
    ///
    /// - Parameter rejections: The ids of randomly refused grants, which outlive a policy.
    func gate(rejections: RejectionList) throws(EdgeBundleError) -> Gate {
        let parts = try parts()
        let revocationCache = RevocationCache(of: revocations)
        let authority = parts.cat.map { verifier in
            GrantService(
                verifier: verifier,
                signedURIs: parts.signedURIs,
                signers: parts.signers,
                formats: parts.formats,
                subjectKey: parts.subjectKey,
                revocationCache: revocationCache,
                rejections: rejections,
                cacheCapacity: Self.cacheCapacity
            )
        }
        return Gate(
            catalogue: catalogue,
            verifier: Verifier(
                trust: parts.trust,
                policy: verification,
                cache: AuthenticatedTokenCache(capacity: Self.cacheCapacity)
            ),
            starter: starts.map { PlaybackStarter(deferring: $0) },
            policies: policies,
            store: PolicyStore(subjectKey: subjectKey, revocationCache: revocationCache),
            rules: Gate.Rules(isShadow: isShadow),
            grants: authority
        )
    }
}

extension EdgeBundle.Grants {
    /// Returns the signers of a format, by the keys that edges may renew with.
    fileprivate func signers<Issuer: KeyedIssuer>(
        of format: TokenFormat,
        make: (TokenKey) -> Issuer?
    ) -> [GrantService.Signer<Issuer>] {
        keys.compactMap { key in
            guard key.key.format == format, let terms = key.renewing, let issuer = make(key.key) else { return nil }
            return GrantService.Signer(issuer, name: terms.name, from: terms.from, until: terms.until)
        }
    }

    /// The issuers of signed URIs, by the names of their profiles.
    fileprivate var formats: [String: FormatIssuer] {
        let all = signers(of: .uriSigning) { try? URISigningIssuer(key: $0) }
        var formats: [String: FormatIssuer] = [:]
        // Encryption, digests and headers beside tokens are the service's: it renews such tokens.
        let signing = GrantProfile.SignedURIs()
        for profile in profiles where profile.format == .uriSigning && profile.rules.signing == signing {
            let own = all.filter { signer in
                signer.issuer.key.issuer == profile.issuer && signer.name.map { profile.keys.contains($0) } ?? false
            }
            if !own.isEmpty { formats[profile.name] = .uriSigning(own) }
        }
        return formats
    }
}

/// The store of a process that has none: it knows the revocations of its policy, and records nothing.
final class PolicyStore: ReplayStore {
    let name = "policy"
    private let subjectKey: SubjectKey?
    private let revocationCache: RevocationCache

    init(subjectKey: SubjectKey?, revocationCache: RevocationCache) {
        self.subjectKey = subjectKey
        self.revocationCache = revocationCache
    }

    /// Adds revocations.
    func add(_ tags: [RevokedTag]) { revocationCache.add(tags) }

    func immediateOutcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome? {
        guard !isConsumed, let subjectKey else { return nil }
        guard revocationCache.count > 0 else { return .notRevoked }
        for (_, key) in Revocation.keys(of: use.token) {
            // The service decides about a revocation that may be over for media tokens.
            guard let tag = subjectKey.tag(storeKey: key), !revocationCache.isRevoked(tag, issued: use.token.timeIssued)
            else {
                return nil
            }
        }
        return .notRevoked
    }

    func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome { throw .none }
    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome { throw .none }
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) { throw .none }
    func check() async throws(ReplayStoreError) { throw .none }
}

extension ReplayStoreError {
    fileprivate static let none = ReplayStoreError(.unavailable, reason: "this process has no store")
}
