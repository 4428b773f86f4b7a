// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The keys of one signer that follow each other, in a file of their owner. It is a JWK Set whose keys may have three
/// further members: `signFrom`, `signUntil` and `verifyUntil`. Each is a whole number of seconds since 1970 (RFC 7517
/// §4 permits them).
public struct KeyRing: Sendable {
    /// The keys, in the order of the file: 1 to 32.
    public let members: [Member]

    /// A key with its times.
    public struct Member: Sendable {
        /// The key. It verifies until ``verifyUntil``.
        public let key: TokenKey
        /// The first time at which it signs; `nil` for always.
        public let signFrom: Timestamp?
        /// The last time at which it signs; `nil` for always.
        public let signUntil: Timestamp?
        /// The last time at which tokens are verified by it; `nil` for always.
        public let verifyUntil: Timestamp?
    }

    /// Reads a ring. All of its keys must have an identifier, and be good.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - binding: The issuer and the format that the keys are for.
    ///   - defaultEnd: The end of verification for a key with an end of signing, but without an end of verification.
    /// - Throws: ``KeySetError``.
    public init(
        _ bytes: [UInt8],
        binding: KeyBinding,
        defaultEnd: (Timestamp) -> Timestamp? = { _ in nil }
    ) throws(KeySetError) {
        var members: [Member] = []
        for (index, entry) in try JWKReader.list(bytes).enumerated() {
            do throws(EntryFault) {
                members.append(try Self.member(from: entry, binding: binding, defaultEnd: defaultEnd))
            } catch {
                throw KeySetError(.unusableKey, reason: "key \(index + 1): \(error.reason)")
            }
        }
        guard !members.isEmpty else { throw KeySetError(.noUsableKey, reason: "the set has no key") }
        guard members.count <= KeySetReading.maximumKeys else {
            throw KeySetError(
                .tooManyKeys,
                reason: "the set has \(members.count) keys, more than \(KeySetReading.maximumKeys)"
            )
        }
        _ = try KeySet(members.map(\.key))
        self.members = members
    }

    private static func member(
        from entry: JSON,
        binding: KeyBinding,
        defaultEnd: (Timestamp) -> Timestamp?
    ) throws(EntryFault) -> Member {
        let record = try JWKReader.record(entry)
        guard record.id != nil else { throw EntryFault("it has no identifier") }
        let (from, until) = (try time(named: "signFrom", in: entry), try time(named: "signUntil", in: entry))
        let end = try time(named: "verifyUntil", in: entry) ?? until.flatMap(defaultEnd)
        let key: TokenKey
        do throws(KeySetError) {
            key = try TokenKey(
                record.material,
                id: record.id,
                algorithm: record.algorithm,
                operations: record.operations,
                binding: binding,
                validity: end.map { Timestamp(millisecondsSince1970: .min)...$0 }
            )
        } catch { throw EntryFault(error.reason) }
        return Member(key: key, signFrom: from, signUntil: until, verifyUntil: end)
    }

    private static func time(named name: String, in entry: JSON) throws(EntryFault) -> Timestamp? {
        guard case .object(let members) = entry, let value = members.first(where: { $0.name == name })?.value else {
            return nil
        }
        // 1970 to 9999.
        guard case .number(let seconds) = value, 0...253_402_300_799 ~= seconds else {
            throw EntryFault("its \"\(name)\" is not a number of seconds since 1970")
        }
        return Timestamp(secondsSince1970: seconds)
    }
}
