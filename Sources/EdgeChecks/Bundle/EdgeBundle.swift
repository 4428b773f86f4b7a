// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import CommonAccessTokens
package import EdgeTokens
package import Keys
package import MediaTokens
package import Platform
package import PlaybackGate
package import ReplayStores
package import URISigning

/// Everything by which a gate decides without a store, for processes that check requests by themselves.
///
/// A service writes it, and an edge reads it: one line for each entry and key. It contains the symmetric keys of grants, because
/// nobody can check a code without its key. Private keys of signatures are never in it.
package struct EdgeBundle: Sendable {
    /// The time at which the document was written.
    package var issued: Timestamp
    /// The time for which the policy may be used without being confirmed.
    package var goodFor: Duration
    /// True if refusals do not apply.
    package var isShadow: Bool
    /// The catalogue.
    package var catalogue: Catalogue
    /// The keys of media tokens.
    package var trust: [LoadedKey]
    /// The requirements beside a trusted signature.
    package var verification: VerificationPolicy
    /// The tokens beside media tokens that start playbacks, about which only the service can decide; `nil` for none.
    package var starts: PlaybackStarter.Deferral?
    /// The requirements beyond a valid token.
    package var policies: [PlaybackPolicy]
    /// The keys and issuers of grants; `nil` for a gate without them.
    package var grants: Grants?
    /// The key that makes the tags of media tokens; `nil` if only the service can decide whether they are revoked.
    package var subjectKey: SubjectKey?
    /// The revoked subjects.
    package var revocations: [RevokedTag]

    /// The keys and issuers of grants.
    package struct Grants: Sendable {
        /// The keys.
        package var keys: [Key]
        /// The issuers of Common Access Tokens.
        package var issuers: [AcceptedIssuer]
        /// The issuers of signed URIs.
        package var signers: [AcceptedSigner]
        /// The own names that `aud` may hold.
        package var audience: [String]
        /// The profiles, which entries of the catalogue refer to.
        package var profiles: [GrantProfile]
    }

    /// A key of grants.
    package struct Key: Sendable {
        /// The key.
        package var key: TokenKey
        /// The terms by which an edge renews grants with the key; `nil` if it may not.
        package var renewing: Renewing?

        /// The terms by which an edge renews grants with a key.
        package struct Renewing: Hashable, Sendable {
            /// The name by which profiles name the key.
            package var name: String?
            /// The first time at which the key signs; `nil` for always.
            package var from: Timestamp?
            /// The last time at which the key signs; `nil` for always.
            package var until: Timestamp?
        }
    }

    /// The version of the document's form.
    package static let version: Int64 = 1
    /// The largest document, in bytes.
    package static let maximumSize = 256 << 20
    /// The range of ``goodFor``.
    package static let goodForRange: ClosedRange<Duration> = .seconds(5)...(.seconds(30 * 86_400))
}

extension EdgeBundle {
    /// Creates the policy of a gate.
    ///
    /// - Parameters:
    ///   - gate: The gate.
    ///   - profiles: The profiles of the configuration.
    ///   - revocationCache: The revocations by tags of `subjectKey`.
    ///   - subjectKey: The key of the cache's tags.
    ///   - goodFor: The time for which the policy may be used without being confirmed.
    ///   - now: The present time.
    package init(
        of gate: Gate,
        revokedBy revocationCache: RevocationCache?,
        subjectKey: SubjectKey?,
        goodFor: Duration,
        at now: Timestamp
    ) {
        issued = now
        self.goodFor = goodFor
        isShadow = gate.rules.isShadow
        catalogue = gate.catalogue
        trust = gate.verifier.trust.loaded
        verification = gate.verifier.policy
        starts = gate.starter?.deferral
        policies = gate.policies
        grants = gate.grants.map { Grants($0, catalogue: gate.catalogue) }
        // Grants carry their tags. The key is needed for media tokens that edges accept until they expire.
        let needsTags = gate.catalogue.entries.contains { $0.use == .withinTTL }
        self.subjectKey = needsTags && revocationCache != nil ? subjectKey : nil
        revocations = revocationCache?.tags ?? []
    }
}

extension EdgeBundle.Grants {
    /// The keys and issuers of an authority, with the profiles of a catalogue.
    fileprivate init(_ authority: GrantService, catalogue: Catalogue) {
        // A document has no operations: a key that verifies nothing here must not verify there.
        keys = authority.verifier.keys.keys.filter { $0.operations.contains(.verify) }.map { key in
            EdgeBundle.Key(key: key, renewing: authority.renewing(key))
        }
        issuers = authority.verifier.issuers
        signers = authority.signedURIs?.issuers ?? []
        audience = authority.verifier.policy.audience
        var known: [String: GrantProfile] = [:]
        for entry in catalogue.entries {
            for profile in entry.grants?.profiles ?? [] { known[profile.name] = profile }
        }
        profiles = known.values.sorted { $0.name < $1.name }
    }
}

extension GrantService {
    /// The terms by which edges renew grants with a key: those of the service. Only a symmetric key is known to edges.
    fileprivate func renewing(_ key: TokenKey) -> EdgeBundle.Key.Renewing? {
        guard key.secret != nil, key.operations.contains(.sign) else { return nil }
        if let signer = signers.first(where: { $0.issuer.key === key }) {
            return .init(name: signer.name?.text, from: signer.from, until: signer.until)
        }
        for case .uriSigning(let signers, _) in formats.values {
            guard let signer = signers.first(where: { $0.issuer.key === key }) else { continue }
            return .init(name: signer.name?.text, from: signer.from, until: signer.until)
        }
        return nil
    }
}
