// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import CommonAccessTokens
package import ConfigurationReading
package import CoreMetrics
package import EdgeListener
package import EdgeTokens
package import GateConfiguration
package import KeySources
package import Keys
internal import MediaTokens
package import Platform
package import PlaybackGate
internal import ReplayStores
package import SharedGrants
internal import Telemetry
package import URISigning

// The keys, issuers and verifier of grants.

extension GateLoader {
    /// The parts of a grant authority that a configuration describes.
    package struct GrantParts: Sendable {
        /// The keys of the configuration and of its files.
        package let keys: KeySet
        package let issuers: [AcceptedIssuer]
        let signedIssuers: [AcceptedSigner]
        package let audience: [String]
        package let signers: [GrantService.Signer<CATIssuer>]
        /// The issuers of other formats, by the names of their profiles.
        package let formats: [String: FormatIssuer]
        package let subjectKey: SubjectKey
        package let cacheCapacity: Int
        package let profiles: [GrantProfile]
        /// The key sets to fetch.
        package let remotes: [KeySetKeeper.Remote]
        /// The public keys for others.
        package let published: PublishedKeys

        /// Returns the verifiers with the keys of fetched sets. Of two keys with one identifier, that of the configuration counts.
        package func verifiers(with fetched: [TokenKey]) -> (cat: CATVerifier, signedURIs: URISigningVerifier?) {
            let others = fetched.filter { key in
                key.format != .accessToken && !keys.keys.contains { $0.isTwin(of: key) }
            }
            let all = (try? KeySet(keys.keys + others)) ?? keys
            var policy = CATPolicy()
            policy.audience = audience
            policy.hasReplayStore = true
            policy.hasRejectionList = true
            var signing = URISigningPolicy()
            signing.audience = audience
            signing.hasReplayStore = true
            return (
                CATVerifier(keys: all, issuers: issuers, policy: policy),
                signedIssuers.isEmpty ? nil : URISigningVerifier(keys: all, issuers: signedIssuers, policy: signing)
            )
        }

        /// Creates the first authority of a service, with an empty cache of revocations.
        ///
        /// - Parameters:
        ///   - leaks: Receives the renewals that are counted; `nil` for none.
        ///   - greatestAge: The age above which the cache is too old to allow playbacks.
        package func authority(
            keySets: KeySetKeeper,
            metrics: any MetricsFactory,
            leaks: LeakWatch? = nil,
            greatestAge: Duration = RevocationCache.greatestAge
        ) -> GrantService {
            let key = subjectKey
            let revocationCache = RevocationCache(greatestAge: greatestAge) { key.tag(storeKey: $0.bytes) }
            return authority(
                subjectKey: key,
                revocationCache: revocationCache,
                rejections: RejectionList(),
                keySets: keySets,
                leaks: leaks,
                metrics: metrics
            )
        }

        /// Creates an authority with the subject key and the revocation cache of the one before. Tags in the cache are
        /// made by that key, so that a change of the key becomes effective after a restart.
        package func authority(
            replacing present: GrantService,
            keySets: KeySetKeeper,
            leaks: LeakWatch?,
            metrics: any MetricsFactory
        ) -> GrantService {
            authority(
                subjectKey: present.subjectKey,
                revocationCache: present.revocationCache,
                rejections: present.rejections,
                keySets: keySets,
                leaks: leaks,
                metrics: metrics
            )
        }

        private func authority(
            subjectKey: SubjectKey,
            revocationCache: RevocationCache,
            rejections: RejectionList,
            keySets: KeySetKeeper,
            leaks: LeakWatch?,
            metrics: any MetricsFactory
        ) -> GrantService {
            let verifiers = verifiers(with: keySets.keys)
            return GrantService(
                verifier: verifiers.cat,
                signedURIs: verifiers.signedURIs,
                signers: signers,
                formats: formats,
                subjectKey: subjectKey,
                revocationCache: revocationCache,
                rejections: rejections,
                cacheCapacity: cacheCapacity,
                metrics: GrantMetrics(profiles.filter(\.isIssued), factory: metrics),
                leaks: leaks,
                askForKey: { keySets.ask(for: $0, of: { $0 != .accessToken }, at: $1) }
            )
        }
    }

    /// Reads the keys of grants. Returns `nil` if there are problems.
    package static func grants(
        from configuration: GateConfiguration,
        settings grants: GateConfiguration.Grants,
        at now: Timestamp,
        problems: ProblemList,
        warnings: inout [String]
    ) -> GrantParts? {
        guard let subjectKey = try? SubjectKey(grants.subjectKey.value) else { return nil }
        let files = GrantKeyFiles(grants, problems: problems)
        var keys: [GrantKeyFiles.Member] = []
        var (remotes, own, signed): ([KeySetKeeper.Remote], [TokenKey], [AcceptedSigner]) = ([], [], [])
        let all = grants.allIssuers
        for issuer in all {
            let accepted = grants.accepted(issuer)
            let found = files.keys(of: issuer, &warnings)
            keys += found
            if issuer.format == .uriSigning {
                signed.append(grants.signer(of: issuer, keys: found, problems: problems))
            }
            if accepted.isOwn { own += found.filter { $0.name != nil }.map(\.key) }
            if let remote = remote(of: issuer, folder: configuration.keySetFolder, problems: problems) {
                remotes.append(remote)
            }
            if let warning = issuer.remote?.warning { warnings.append(warning) }
        }
        guard let set = keySet(of: keys, grants: grants, problems: problems) else { return nil }
        let issuing = signers(of: grants, keys: keys, at: now, problems: problems, warnings: &warnings)
        return GrantParts(
            keys: set,
            issuers: all.filter { $0.format == .cat }.map(grants.accepted),
            signedIssuers: signed,
            audience: Array(Set(grants.issuers.flatMap(\.audience))).sorted(),
            signers: issuing.signers,
            formats: issuing.formats,
            subjectKey: subjectKey,
            cacheCapacity: configuration.cacheCapacity.grants,
            profiles: grants.profiles.map(\.value),
            remotes: remotes,
            published: PublishedKeys(own)
        )
    }

    private static func keySet(
        of keys: [GrantKeyFiles.Member],
        grants: GateConfiguration.Grants,
        problems: ProblemList
    ) -> KeySet? {
        do throws(KeySetError) { return try KeySet(keys.map(\.key)) } catch {
            problems.add(at: grants.subjectKey.location, message: "\(error)")
            return nil
        }
    }

    /// Returns the signers of Common Access Tokens, and the issuers of other formats by the names of their profiles.
    private static func signers(
        of grants: GateConfiguration.Grants,
        keys: [GrantKeyFiles.Member],
        at now: Timestamp,
        problems: ProblemList,
        warnings: inout [String]
    ) -> (signers: [GrantService.Signer<CATIssuer>], formats: [String: FormatIssuer]) {
        var (signers, formats): ([GrantService.Signer<CATIssuer>], [String: FormatIssuer]) = ([], [:])
        for profile in grants.profiles {
            let name = profile.value.name
            var isIdle = false
            switch profile.value.format {
            case .cat:
                let made = Self.signers(of: profile, keys: keys, problems: problems) { (key) throws(CATIssueError) in
                    try CATIssuer(key: key)
                }
                isIdle = !made.isEmpty && !made.contains { $0.isUsable(at: now) }
                signers += made
            case .uriSigning:
                let rules = profile.value.rules.signing
                let made = Self.signers(of: profile, keys: keys, problems: problems) {
                    (key) throws(URISigningIssueError) in
                    var issuer = try URISigningIssuer(key: key)
                    issuer.form = JWSForm(omitsHeader: rules.omitsHeader)
                    return issuer
                }
                isIdle = !made.isEmpty && !made.contains { $0.isUsable(at: now) }
                formats[name] = .uriSigning(made, encryption: grants.encryptionKey(rules.encryptionKey))
            case .vendor:
                formats[name] = VendorIssuers.make(
                    for: profile,
                    grants: grants,
                    problems: problems,
                    warnings: &warnings
                ).map { .vendor($0) }
            }
            if isIdle { warnings.append("profile \(name): none of its keys signs now, so it issues no grants") }
        }
        return (signers, formats)
    }

    private static func signers<Issuer: KeyedIssuer, Fault>(
        of profile: Located<GrantProfile>,
        keys: [GrantKeyFiles.Member],
        problems: ProblemList,
        make: (TokenKey) throws(Fault) -> Issuer
    ) -> [GrantService.Signer<Issuer>] {
        let (issuer, names) = (profile.value.issuer, profile.value.keyIDs)
        let format = AcceptedFormat(profile.value.format)?.tokenFormat
        let own = keys.filter { $0.key.issuer == issuer && $0.key.format == format && names.contains($0.name ?? "") }
        return own.compactMap { member in
            do {
                let signer = try make(member.key)
                return GrantService.Signer(signer, name: member.name, from: member.signFrom, until: member.signUntil)
            } catch {
                let id = member.key.id?.description ?? member.name ?? ""
                problems.add(
                    at: profile.location,
                    message: "key \(id) cannot sign: give its secret, or its private key"
                )
                return nil
            }
        }
    }

    /// Returns the key set of an issuer that is to be fetched, with its fetcher.
    private static func remote(
        of issuer: GateConfiguration.Grants.Issuer,
        folder: String?,
        problems: ProblemList
    ) -> KeySetKeeper.Remote? {
        issuer.remote.flatMap { remote($0, binding: issuer.binding, folder: folder, problems: problems) }
    }

    /// Returns a key set that is to be fetched, with its fetcher.
    static func remote(
        _ remote: GateConfiguration.Grants.RemoteKeySet,
        binding: KeyBinding,
        folder: String?,
        problems: ProblemList
    ) -> KeySetKeeper.Remote? {
        #if Service
            do {
                let authorities = try remote.authorities.map { try $0.value.bytesOfFile(limit: 1 << 20) }
                return KeySetKeeper.Remote(
                    configuration: KeySource.Configuration(
                        remote.address,
                        binding: binding,
                        rules: remote.rules,
                        folder: folder
                    ),
                    networks: remote.networks,
                    authorities: authorities,
                    fetcher: try HTTPSKeySetFetcher(remote.networks, authorities: authorities),
                    isDiscovered: binding.format == .accessToken && remote.address.isDiscoveryDocument
                )
            } catch {
                let reason = (error as? FileFault)?.reason ?? "\(error)"
                let file = remote.authorities
                problems.add(at: file?.location ?? remote.location, message: "\(file?.value ?? ""): \(reason)")
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
    /// Returns the key for encryption with a name; `nil` if there is none.
    fileprivate func encryptionKey(_ name: String?) -> EncryptionKey? {
        name.flatMap { name in keys.first { $0.id == name }?.encryptionKey }
    }

    /// Returns how signed URIs of an issuer are accepted. The issuer's profiles add their decryption keys and headers.
    fileprivate func signer(
        of issuer: Issuer,
        keys: [GrantKeyFiles.Member],
        problems: ProblemList
    ) -> AcceptedSigner {
        let accepted = accepted(issuer)
        var signer = AcceptedSigner(issuer.name)
        signer.isOwn = accepted.isOwn
        signer.requiresExpiration = accepted.requiresExpiration
        signer.maximumSession = accepted.maximumSession
        signer.isNameOptional = !issuer.signed.requiresName
        signer.requiresContainer = issuer.signed.requiresContainer
        signer.match = issuer.signed.match
        let own = profiles.map(\.value).filter { issuer.isIssuer(of: $0) }.compactMap(\.rules.signing.encryptionKey)
        signer.decryptionKeys = Set(own + issuer.signed.decryptionKeys).sorted().compactMap { encryptionKey($0) }
        signer.headers = headers(of: issuer, keys: keys, problems: problems)
        if signer.headers.count > URISigningVerifier.maximumHeaders {
            let most = URISigningVerifier.maximumHeaders
            problems.add(
                at: issuer.location,
                message: "\(issuer.name): more than \(most) keys have profiles with omitHeader"
            )
        }
        return signer
    }

    /// Returns the headers of an issuer's tokens without one: those of its profiles' keys, and the configured one.
    private func headers(
        of issuer: Issuer,
        keys: [GrantKeyFiles.Member],
        problems: ProblemList
    ) -> [JWSHeader] {
        var headers: [JWSHeader] = []
        for profile in profiles.map(\.value) where issuer.isIssuer(of: profile) && profile.rules.signing.omitsHeader {
            for member in keys where profile.keyIDs.contains(member.name ?? "") {
                guard let header = member.key.jwsHeader.flatMap({ try? JWSHeader($0) }) else { continue }
                if !headers.contains(header) { headers.append(header) }
            }
        }
        guard let header = issuer.signed.header else { return headers }
        // A key that is fetched is known later.
        if issuer.remote == nil, !keys.contains(where: { header.value.selects($0.key) }) {
            let key = header.value.keyID.map { " \($0)" } ?? ""
            problems.add(
                at: header.location,
                message:
                    "\(issuer.name): has no key\(key) for \(header.value.algorithm.rawValue), which the header demands"
            )
        }
        return headers + [header.value]
    }

    /// Returns how tokens of an issuer are accepted. Gates of one installation have the same issuer, and accept each
    /// other's tokens.
    fileprivate func accepted(_ issuer: Issuer) -> AcceptedIssuer {
        var accepted = issuer.accepted
        if profiles.contains(where: { issuer.isIssuer(of: $0.value) && $0.value.isIssued }) {
            accepted.isOwn = true
        }
        return accepted
    }

    /// The listed issuers, and those of profiles that are not listed, with the keys of their profiles.
    fileprivate var allIssuers: [Issuer] {
        var all = issuers
        for profile in profiles.map(\.value) {
            guard let format = AcceptedFormat(profile.format) else { continue }
            for key in profile.keyIDs {
                if let index = all.firstIndex(where: { $0.isIssuer(of: profile) }) {
                    if !all[index].keys.contains(key) { all[index].keys.append(key) }
                } else {
                    all.append(
                        Issuer(
                            name: profile.issuer,
                            format: format,
                            keys: [key],
                            keySet: nil,
                            algorithms: [],
                            audience: [],
                            accepted: AcceptedIssuer(profile.issuer),
                            location: subjectKey.location
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
    package var binding: KeyBinding {
        var binding = ownBinding
        binding.algorithms = algorithms
        return binding
    }

    /// The binding of the keys of the configuration, of any algorithm.
    var ownBinding: KeyBinding {
        // For RSA, COSE has only PS256. An RSA key that names no algorithm has one of the two, and never both (RFC 8725
        // §3.1).
        let isPKCS1 = format == .uriSigning && algorithms.contains(.rs256) && !algorithms.contains(.ps256)
        return KeyBinding(issuer: name, format: format.tokenFormat, rsaAlgorithm: isPKCS1 ? .rs256 : .ps256)
    }

    /// True if grants of `profile` are this issuer's.
    fileprivate func isIssuer(of profile: GrantProfile) -> Bool {
        name == profile.issuer && format.grantFormat == profile.format
    }
}

extension GateConfiguration.Grants.RemoteKeySet {
    /// A warning about an address that will be refused with each fetch.
    var warning: String? {
        networks.refusedAddress(of: address).map { refused in
            "line \(location.line): \(address.url) will be refused: \(refused) is private; name its network in source.networks"
        }
    }
}
