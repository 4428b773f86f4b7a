// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import GateConfiguration
internal import Keys
internal import Platform
internal import PlaybackGate
internal import ReplayStores

/// The keys of grants that a configuration names, each with the times at which it signs.
struct GrantKeyFiles {
    private let grants: GateConfiguration.Grants
    private let problems: ProblemList

    init(_ grants: GateConfiguration.Grants, problems: ProblemList) {
        self.grants = grants
        self.problems = problems
    }

    /// A key of an issuer.
    struct Member: Sendable {
        package let key: TokenKey
        /// The name of the key, or of its set, in `keys`; `nil` for a key of an issuer's key set.
        package let name: String?
        package var signFrom: Timestamp?
        package var signUntil: Timestamp?
    }

    /// Returns the keys of an issuer: those of the configuration, and those of its key set.
    ///
    /// - Parameter warnings: Receives the unused keys, and the reasons.
    func keys(of issuer: GateConfiguration.Grants.Issuer, _ warnings: inout [String]) -> [Member] {
        var keys: [Member] = []
        for key in grants.keys where issuer.keys.contains(key.id) {
            // The algorithms of an issuer are those of its key sets.
            do throws(KeySetError) { keys += try members(of: key, binding: issuer.ownBinding) } catch {
                problems.add(at: key.setLocation ?? key.location, message: "\(error)")
            }
        }
        guard let file = issuer.keySet else { return keys }
        do {
            let bytes = try file.value.bytesOfFile(limit: KeySetReading.maximumSize)
            let set = try KeySetReading(bytes, source: .local, binding: issuer.binding)
            keys += set.keys.map { Member(key: $0, name: nil) }
            warnings += set.skipped.map { "\(file.value): key \($0.index + 1) is not used: \($0.reason)" }
        } catch let fault as FileFault {
            problems.add(at: file.location, message: "\(file.value): \(fault.reason)")
        } catch {
            problems.add(at: file.location, message: "\(file.value): \(error)")
        }
        return keys
    }

    private func members(
        of key: GateConfiguration.Grants.Key,
        binding: KeyBinding
    ) throws(KeySetError) -> [Member] {
        guard case .set(let file) = key.material else {
            let made = try key.tokenKey(binding, validity: validity(key))
            return [Member(key: made, name: key.id, signFrom: key.signFrom, signUntil: key.signUntil)]
        }
        let bytes: [UInt8]
        do throws(FileFault) { bytes = try file.value.bytesOfFile(limit: KeySetReading.maximumSize) } catch {
            problems.add(at: file.location, message: "\(file.value): \(error.reason)")
            return []
        }
        return try KeyRing(bytes, binding: binding) { last in verificationEnd(key, after: last) }.members.map {
            member in
            Member(key: member.key, name: key.id, signFrom: member.signFrom, signUntil: member.signUntil)
        }
    }

    private func verificationEnd(_ key: GateConfiguration.Grants.Key, after last: Timestamp) -> Timestamp {
        let lives = grants.profiles.map(\.value).filter { $0.keyIDs.contains(key.id) }.map { profile in
            profile.rules.renewal == nil ? profile.rules.life : profile.rules.session
        }
        return last.advanced(byMilliseconds: (lives.max() ?? Revocation.longestSession).milliseconds)
    }

    /// The time in which grants are verified by a key. Without a configured end, it lasts until the end of the last
    /// grant that the key can have signed. A renewed grant ends with the longest session, another at the end of its
    /// life.
    private func validity(_ key: GateConfiguration.Grants.Key) -> ClosedRange<Timestamp>? {
        let end = key.verifyUntil ?? key.signUntil.map { verificationEnd(key, after: $0) }
        guard key.notBefore != nil || end != nil else { return nil }
        let start = key.notBefore ?? Timestamp(millisecondsSince1970: .min)
        return start...max(start, end ?? Timestamp(millisecondsSince1970: .max))
    }
}

extension GateConfiguration.Grants.Key {
    /// The location of the file with consecutive keys; `nil` for another key.
    fileprivate var setLocation: ConfigurationLocation? {
        if case .set(let file) = material { file.location } else { nil }
    }

    fileprivate func tokenKey(
        _ binding: KeyBinding,
        validity: ClosedRange<Timestamp>?
    ) throws(KeySetError) -> TokenKey {
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
        case .vendors: throw KeySetError(.malformed, reason: "a secret with an encoding is for vendors' formats alone")
        case .encryption: throw KeySetError(.malformed, reason: "a key for encryption signs nothing")
        case .set: throw KeySetError(.malformed, reason: "a set is not one key")
        }
    }
}
