// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import CoreMetrics
internal import EdgeTokens
internal import Keys
internal import MediaTokens
internal import Platform
internal import PlaybackGate

// The keys, issuers and verifier of grants.

extension GateBuilder {
    /// The parts of a grant authority that a configuration describes.
    struct GrantParts: Sendable {
        let verifier: CATVerifier
        let signers: [GrantAuthority.Signer]
        let subjectKey: SubjectKey
        let cacheCapacity: Int
        let profiles: [GrantProfile]

        /// Creates the first authority of a service, with an empty mirror of revocations.
        func authority(_ metrics: any MetricsFactory) -> GrantAuthority {
            let key = subjectKey
            return authority(key, RevocationMirror { key.tag(storeKey: $0.bytes) }, RejectionList(), metrics)
        }

        /// Creates an authority with the subject key and the mirror of the one before. Tags in the mirror are made by that
        /// key, so that a change of the key takes effect after a restart.
        func authority(inPlaceOf present: GrantAuthority, _ metrics: any MetricsFactory) -> GrantAuthority {
            authority(present.subjectKey, present.mirror, present.rejections, metrics)
        }

        private func authority(
            _ subjectKey: SubjectKey,
            _ mirror: RevocationMirror,
            _ rejections: RejectionList,
            _ metrics: any MetricsFactory
        ) -> GrantAuthority {
            GrantAuthority(
                verifier,
                signers,
                subjectKey,
                mirror,
                rejections,
                cacheCapacity,
                GrantMetrics(profiles.filter { $0.keyID != nil }, factory: metrics)
            )
        }
    }

    /// Reads the keys of grants. Returns `nil` if there are problems.
    static func grants(_ grants: GateConfiguration.Grants, at now: Timestamp, _ problems: ProblemList) -> GrantParts? {
        guard let subjectKey = try? SubjectKey(grants.subjectKey.value) else { return nil }
        var (issuers, keys): ([AcceptedIssuer], [TokenKey]) = ([], [])
        for issuer in grants.allIssuers {
            var accepted = issuer.accepted
            // Gates of one installation have the same issuer, and accept what they issue.
            if grants.profiles.contains(where: { $0.value.issuer == issuer.name && $0.value.keyID != nil }) {
                accepted.isOwn = true
            }
            issuers.append(accepted)
            keys += self.keys(of: issuer, grants, problems)
        }
        let set: KeySet
        do throws(KeySetError) { set = try KeySet(keys) } catch {
            problems.add(grants.subjectKey.place, "\(error)")
            return nil
        }
        var policy = CATPolicy()
        policy.audience = Array(Set(grants.issuers.flatMap(\.audience))).sorted()
        policy.hasReplayStore = true
        policy.hasRejectionList = true
        var signers: [GrantAuthority.Signer] = []
        for profile in grants.profiles {
            guard let signer = signer(profile, grants, set, problems) else { continue }
            signers.append(signer)
        }
        return GrantParts(
            verifier: CATVerifier(keys: set, issuers: issuers, policy: policy),
            signers: signers,
            subjectKey: subjectKey,
            cacheCapacity: grants.cacheCapacity,
            profiles: grants.profiles.map(\.value)
        )
    }

    private static func signer(
        _ profile: Located<GrantProfile>,
        _ grants: GateConfiguration.Grants,
        _ set: KeySet,
        _ problems: ProblemList
    ) -> GrantAuthority.Signer? {
        guard let id = profile.value.keyID,
            let key = set.keys.first(where: { $0.issuer == profile.value.issuer && $0.id == KeyID(id) })
        else { return nil }
        do throws(CATIssueError) {
            let until = grants.keys.first { $0.id == id }?.signUntil
            return GrantAuthority.Signer(try CATIssuer(key: key), until: until)
        } catch {
            problems.add(profile.place, "key \(id) cannot sign: give its secret, or its private key")
            return nil
        }
    }

    private static func keys(
        of issuer: GateConfiguration.Grants.Issuer,
        _ grants: GateConfiguration.Grants,
        _ problems: ProblemList
    ) -> [TokenKey] {
        let binding = KeyBinding(issuer: issuer.name, format: .cat, rsaAlgorithm: .ps256)
        var keys: [TokenKey] = []
        for key in grants.keys where issuer.keys.contains(key.id) {
            do throws(KeySetError) { keys.append(try key.tokenKey(binding)) } catch {
                problems.add(key.place, "\(error)")
            }
        }
        guard let file = issuer.keySet else { return keys }
        do {
            let bytes = [UInt8](try file.value.contentsOfFile(limit: KeySetReading.maximumSize).utf8)
            keys += try KeySetReading(bytes, source: .local, binding: binding).keys
        } catch let fault as FileFault {
            problems.add(file.place, "\(file.value): \(fault.reason)")
        } catch {
            problems.add(file.place, "\(file.value): \(error)")
        }
        return keys
    }
}

extension GateConfiguration.Grants {
    /// The listed issuers, and those of profiles that are not listed, with the keys of their profiles.
    fileprivate var allIssuers: [Issuer] {
        var all = issuers
        for profile in profiles.map(\.value) {
            guard let key = profile.keyID else { continue }
            if let place = all.firstIndex(where: { $0.name == profile.issuer }) {
                if !all[place].keys.contains(key) { all[place].keys.append(key) }
            } else {
                let accepted = AcceptedIssuer(profile.issuer)
                all.append(
                    Issuer(
                        name: profile.issuer,
                        keys: [key],
                        keySet: nil,
                        audience: [],
                        accepted: accepted,
                        place: subjectKey.place
                    )
                )
            }
        }
        return all
    }
}

extension GateConfiguration.Grants.Key {
    fileprivate func tokenKey(_ binding: KeyBinding) throws(KeySetError) -> TokenKey {
        let validity = verifyUntil.map { Timestamp(millisecondsSince1970: .min)...$0 }
        switch material {
        case .secret(let bytes):
            return try TokenKey(
                secret: bytes,
                id: KeyID(id),
                algorithm: algorithm ?? .hs256,
                binding: binding,
                validity: validity
            )
        case .pem(let text):
            return try TokenKey(
                pem: [UInt8](text.text.utf8),
                id: KeyID(id),
                algorithm: algorithm,
                binding: binding,
                validity: validity
            )
        }
    }
}
