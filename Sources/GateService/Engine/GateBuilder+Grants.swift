// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeTokens
internal import KeySources
internal import Keys
internal import MediaTokens
internal import Platform
internal import PlaybackGate

// The keys, issuers and verifier of grants.

extension GateBuilder {
    /// The parts of a grant authority that a configuration describes.
    struct GrantParts: Sendable {
        /// The keys of the configuration and of its files.
        let keys: KeySet
        let issuers: [AcceptedIssuer]
        let policy: CATPolicy
        let signers: [GrantAuthority.Signer]
        let subjectKey: SubjectKey
        let cacheCapacity: Int
        /// The key sets to fetch.
        let remotes: [KeySetKeeper.Remote]
        /// The public keys for others.
        let published: PublishedKeys

        /// Returns the verifier with the keys of fetched sets. Of two keys with one identifier, that of the configuration counts.
        func verifier(with fetched: [TokenKey]) -> CATVerifier {
            let others = fetched.filter { key in !keys.keys.contains { $0.isTwin(of: key) } }
            let all = (try? KeySet(keys.keys + others)) ?? keys
            return CATVerifier(keys: all, issuers: issuers, policy: policy)
        }

        /// Creates the first authority of a service, with an empty mirror of revocations.
        func authority(_ keySets: KeySetKeeper) -> GrantAuthority {
            let key = subjectKey
            return authority(key, RevocationMirror { key.tag(storeKey: $0.bytes) }, keySets)
        }

        /// Creates an authority with the subject key and the mirror of the one before. Tags in the mirror are made by that
        /// key, so that a change of the key takes effect after a restart.
        func authority(inPlaceOf present: GrantAuthority, _ keySets: KeySetKeeper) -> GrantAuthority {
            authority(present.subjectKey, present.mirror, keySets)
        }

        private func authority(
            _ subjectKey: SubjectKey,
            _ mirror: RevocationMirror,
            _ keySets: KeySetKeeper
        ) -> GrantAuthority {
            GrantAuthority(
                verifier: verifier(with: keySets.keys),
                signers: signers,
                subjectKey: subjectKey,
                mirror: mirror,
                cacheCapacity: cacheCapacity,
                askForKey: { keySets.ask(for: $0, at: $1) }
            )
        }
    }

    /// Reads the keys of grants. Returns `nil` if there are problems.
    static func grants(
        _ configuration: GateConfiguration,
        _ grants: GateConfiguration.Grants,
        at now: Timestamp,
        _ problems: ProblemList,
        _ warnings: inout [String]
    ) -> GrantParts? {
        guard let subjectKey = try? SubjectKey(grants.subjectKey.value) else { return nil }
        let files = GrantKeyFiles(grants, problems)
        var (issuers, keys): ([AcceptedIssuer], [GrantKeyFiles.Member]) = ([], [])
        var (remotes, own): ([KeySetKeeper.Remote], [TokenKey]) = ([], [])
        for issuer in grants.allIssuers {
            let accepted = grants.accepted(issuer)
            issuers.append(accepted)
            let found = files.keys(of: issuer)
            keys += found
            if accepted.isOwn { own += found.filter { $0.name != nil }.map(\.key) }
            if let remote = remote(issuer, folder: configuration.keySetFolder, problems) { remotes.append(remote) }
        }
        let set: KeySet
        do throws(KeySetError) { set = try KeySet(keys.map(\.key)) } catch {
            problems.add(grants.subjectKey.place, "\(error)")
            return nil
        }
        var policy = CATPolicy()
        policy.audience = Array(Set(grants.issuers.flatMap(\.audience))).sorted()
        policy.hasReplayStore = true
        return GrantParts(
            keys: set,
            issuers: issuers,
            policy: policy,
            signers: signers(grants.profiles, keys, at: now, problems, &warnings),
            subjectKey: subjectKey,
            cacheCapacity: grants.cacheCapacity,
            remotes: remotes,
            published: PublishedKeys(own)
        )
    }

    private static func signers(
        _ profiles: [Located<GrantProfile>],
        _ keys: [GrantKeyFiles.Member],
        at now: Timestamp,
        _ problems: ProblemList,
        _ warnings: inout [String]
    ) -> [GrantAuthority.Signer] {
        profiles.flatMap { profile in
            let made = signers(profile, keys, problems)
            if !made.isEmpty, !made.contains(where: { $0.isUsable(at: now) }) {
                warnings.append("profile \(profile.value.name): none of its keys signs now, so it issues no grants")
            }
            return made
        }
    }

    private static func signers(
        _ profile: Located<GrantProfile>,
        _ keys: [GrantKeyFiles.Member],
        _ problems: ProblemList
    ) -> [GrantAuthority.Signer] {
        let (issuer, names) = (profile.value.issuer, profile.value.keyIDs)
        return keys.filter { $0.key.issuer == issuer && names.contains($0.name ?? "") }.compactMap { member in
            do throws(CATIssueError) {
                let signer = try CATIssuer(key: member.key)
                return GrantAuthority.Signer(signer, name: member.name, from: member.signFrom, until: member.signUntil)
            } catch {
                let id = member.key.id?.description ?? member.name ?? ""
                problems.add(profile.place, "key \(id) cannot sign: give its secret, or its private key")
                return nil
            }
        }
    }

    /// Returns the key set of an issuer that is to be fetched, with its fetcher.
    private static func remote(
        _ issuer: GateConfiguration.Grants.Issuer,
        folder: String?,
        _ problems: ProblemList
    ) -> KeySetKeeper.Remote? {
        #if KeySets
            guard let remote = issuer.remote else { return nil }
            do {
                let authorities = try remote.authorities.map { try $0.value.bytesOfFile(limit: 1 << 20) }
                return KeySetKeeper.Remote(
                    configuration: KeySource.Configuration(
                        remote.address,
                        binding: issuer.binding,
                        rules: remote.rules,
                        folder: folder
                    ),
                    networks: remote.networks,
                    authorities: authorities,
                    fetcher: try HTTPSKeySetFetcher(remote.networks, authorities: authorities)
                )
            } catch {
                let reason = (error as? FileFault)?.reason ?? "\(error)"
                let file = remote.authorities
                problems.add(file?.place ?? remote.place, "\(file?.value ?? ""): \(reason)")
            }
        #endif
        return nil
    }
}

extension TokenKey {
    /// True if both are for the same tokens under one identifier.
    fileprivate func isTwin(of other: TokenKey) -> Bool {
        issuer == other.issuer && format == other.format && id == other.id && algorithm == other.algorithm
    }
}

extension GateConfiguration.Grants {
    /// Returns how tokens of an issuer are accepted. Gates of one installation have the same issuer, and accept what they
    /// issue.
    fileprivate func accepted(_ issuer: Issuer) -> AcceptedIssuer {
        var accepted = issuer.accepted
        if profiles.contains(where: { $0.value.issuer == issuer.name && !$0.value.keyIDs.isEmpty }) {
            accepted.isOwn = true
        }
        return accepted
    }

    /// The listed issuers, and those of profiles that are not listed, with the keys of their profiles.
    fileprivate var allIssuers: [Issuer] {
        var all = issuers
        for profile in profiles.map(\.value) {
            for key in profile.keyIDs {
                if let place = all.firstIndex(where: { $0.name == profile.issuer }) {
                    if !all[place].keys.contains(key) { all[place].keys.append(key) }
                } else {
                    all.append(
                        Issuer(
                            name: profile.issuer,
                            keys: [key],
                            keySet: nil,
                            algorithms: [],
                            audience: [],
                            accepted: AcceptedIssuer(profile.issuer),
                            place: subjectKey.place
                        )
                    )
                }
            }
        }
        return all
    }
}

extension GateConfiguration.Grants.Issuer {
    /// The binding of its keys.
    var binding: KeyBinding {
        // COSE has PS256 alone for RSA.
        var binding = KeyBinding(issuer: name, format: .cat, rsaAlgorithm: .ps256)
        binding.algorithms = algorithms
        return binding
    }
}
