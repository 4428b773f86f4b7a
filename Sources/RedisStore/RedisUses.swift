// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if Redis
    internal import MediaTokens
    internal import ReplayStores

    /// The script for a use of a media token or of a grant.
    ///
    /// Each use has its own key (`SET … NX PXAT`), so that Redis deletes it by itself. Redis's clock decides. A use can be
    /// recorded until two minutes after its record may be deleted, because clocks differ; its key expires one minute later.
    ///
    /// No order of scripts records a use twice. A script sees the keys as of its start, and the time as of its start (7.2)
    /// or as of its call of `TIME` (6.2, 7.0), which is no earlier. A use that can still be recorded at that time has its
    /// key, even if Redis's clock was set back by up to one minute in between.
    enum RedisUses {
        /// The time for which the key of a use is stored after the use can no longer be recorded: one minute, in
        /// milliseconds.
        private static let keeping: Int64 = 60_000

        private static let recorded: Int64 = 0
        private static let repeated: Int64 = -1
        private static let usedUp: Int64 = -2
        private static let clocksDiffer: Int64 = -3
        private static let notRevoked: Int64 = -4

        /// The source of the script.
        ///
        /// - `use`: KEYS are the keys of the uses of a token, then those of the revocations that may apply to it.
        /// - `examine`: the same keys, and nothing is recorded.
        /// - `probe`: a key of its own is written, to prove that a use would be, and removed.
        static let script = """
            if ARGV[1] == 'probe' then
                redis.call('SET', KEYS[1], '', 'PX', 10000)
                redis.call('DEL', KEYS[1])
                return 0
            end
            local uses, issued, ends, playback = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
            for i = uses + 1, #KEYS do
                local before = redis.call('GET', KEYS[i])
                if before and issued < tonumber(before) then return i end
            end
            if ARGV[1] == 'examine' then return -4 end
            if now() >= ends then return -3 end
            for i = 1, uses do
                if redis.call('SET', KEYS[i], playback, 'NX', 'PXAT', ARGV[6]) then return 0 end
                if playback ~= '' and redis.call('GET', KEYS[i]) == playback then return -1 end
            end
            return -2
            """

        /// Returns the call for a use. Where keys are spread, it does not check revocations.
        ///
        /// - Parameter isRecorded: True if the use is recorded; false if only revocations are checked.
        static func use(_ use: TokenUse, isRecorded: Bool = true, under names: RedisKeys) -> RedisScript.Invocation {
            RedisScript.Invocation(script: .uses, recording: repeated...recorded) {
                words(of: use, isRecorded: isRecorded, under: names)
            }
        }

        private static func words(of use: TokenUse, isRecorded: Bool, under names: RedisKeys) -> RedisWords {
            let revocations = names.areSpread ? [] : Revocation.keys(of: use.token)
            let ends = use.forgettable.advanced(byMilliseconds: RedisScript.margin)
            // Room for one use and four revocations, with a prefix of the usual length.
            var words = RedisWords(capacity: 768)
            words.append(Int64(use.maximumUses + revocations.count))
            let (before, after) = ("use:" + names.tagMarks.open, names.tagMarks.close + ":")
            let fingerprint = use.token.fingerprint.bytes
            for number in 1...use.maximumUses {
                words.append(names.prefix, then: before, hexadecimal: fingerprint, suffix: after + String(number))
            }
            for revocation in revocations { RedisRevocations.append(revocation.key, under: names, to: &words) }
            words.append(isRecorded ? "use" : "examine")
            words.append(Int64(use.maximumUses))
            words.append(use.token.timeIssued.millisecondsSince1970)
            words.append(ends.millisecondsSince1970)
            words.append(use.playback.map { String($0, radix: 16) } ?? "")
            words.append(ends.advanced(byMilliseconds: keeping).millisecondsSince1970)
            return words
        }

        /// Returns the calls that check each revocation of a token by itself, where keys are spread.
        static func examinations(
            of use: TokenUse,
            under names: RedisKeys
        ) -> [(kind: Revocation.Kind, call: RedisScript.Invocation)] {
            let issued = "\(use.token.timeIssued.millisecondsSince1970)"
            return Revocation.keys(of: use.token).map { kind, key in
                let keys = [RedisRevocations.key(of: key, under: names)]
                return (
                    kind,
                    RedisScript.Invocation(script: .uses, keys: keys, arguments: ["examine", "0", issued, "0", ""])
                )
            }
        }

        /// Converts the reply to a call of ``examinations(of:under:)``: true if the token is revoked.
        static func isRevoked(_ reply: RedisReply) throws(ReplayStoreError) -> Bool {
            switch reply {
            case .integer(1): return true
            case .integer(notRevoked): return false
            default: throw .unexpected(reply)
            }
        }

        /// Returns the call that proves that uses can be recorded. Each number has a key of its own.
        static func probe(_ number: Int, under names: RedisKeys) -> RedisScript.Invocation {
            RedisScript.Invocation(
                script: .uses,
                keys: ["\(names.prefix)probe:\(number)"],
                arguments: ["probe"],
                recording: recorded...recorded
            )
        }

        /// Throws if a reply is not that of a proof.
        static func demandProof(in reply: RedisReply) throws(ReplayStoreError) {
            guard case .integer(recorded) = reply else { throw .unexpected(reply) }
        }

        /// Returns the call for a use of a grant, which no revocation key concerns.
        static func grant(
            _ identity: SHA256Digest,
            until expires: Timestamp,
            under names: RedisKeys
        ) -> RedisScript.Invocation {
            let ends = expires.advanced(byMilliseconds: RedisScript.margin)
            return RedisScript.Invocation(
                script: .uses,
                keys: ["\(names.prefix)grant:\(identity.hexadecimal)"],
                arguments: [
                    "use", "1", "0", "\(ends.millisecondsSince1970)", "",
                    "\(ends.advanced(byMilliseconds: keeping).millisecondsSince1970)",
                ],
                recording: recorded...recorded
            )
        }

        /// Converts the reply of the script to the outcome of a use of a grant.
        static func grantOutcome(of reply: RedisReply) throws(ReplayStoreError) -> GrantUseOutcome {
            switch reply {
            case .integer(recorded): return .first
            case .integer(usedUp): return .replayed
            case .integer(clocksDiffer): throw .clocksDiffer
            default: throw .unexpected(reply)
            }
        }

        /// Converts the reply of the script to the outcome of a use.
        static func outcome(of reply: RedisReply, _ use: TokenUse) throws(ReplayStoreError) -> UseOutcome {
            guard case .integer(let number) = reply else { throw .unexpected(reply) }
            switch number {
            case recorded: return .recorded
            case repeated: return .repeated
            case usedUp: return .usedUp
            case notRevoked: return .notRevoked
            case clocksDiffer: throw .clocksDiffer
            default:
                let kinds = Revocation.keys(of: use.token).map(\.kind)
                let index = Int(number) - use.maximumUses - 1
                guard kinds.indices.contains(index) else { throw .unexpected(reply) }
                return .revoked(kinds[index])
            }
        }
    }
#endif
