// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform

#if Redis
    internal import MediaTokens
    internal import PlaybackGate

    /// The script that Redis runs atomically for a use or a revocation.
    ///
    /// Each use has its own key (`SET … NX PXAT`), so that Redis deletes it by itself. Redis's clock decides. A use can be
    /// recorded until two minutes after its record may be deleted, because clocks differ; its key expires one minute later.
    ///
    /// No order of scripts records a use twice. A script sees the keys as of its start, and the time as of its start (7.2)
    /// or as of its call of `TIME` (6.2, 7.0), which is no earlier. A use that can still be recorded at that time has its
    /// key, even if Redis's clock was set back by up to one minute in between.
    enum RedisScript {
        /// The time for which a use may be recorded, and a revocation is kept, after its end, because clocks differ: two
        /// minutes, in milliseconds.
        private static let margin: Int64 = 120_000
        /// The time for which the key of a use is kept after the use can no longer be recorded: one minute, in milliseconds.
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
        /// - `revoke`: KEYS is the key of the revocation.
        private static let text = """
            local function now()
                local time = redis.call('TIME')
                return time[1] * 1000 + math.floor(time[2] / 1000)
            end
            local function revoke(key, before, ends)
                if now() >= tonumber(ends) then return -3 end
                local present = redis.call('GET', key)
                if present and tonumber(present) > tonumber(before) then before = present end
                local kept = now() + redis.call('PTTL', key)
                if present and kept > tonumber(ends) then ends = kept end
                redis.call('SET', key, before, 'PXAT', string.format('%.0f', ends))
                return 1
            end
            if ARGV[1] == 'revoke' then return revoke(KEYS[1], ARGV[2], ARGV[3]) end
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

        /// The command that loads the script and returns its digest.
        static var load: RedisCommand? { RedisCommand("SCRIPT", "LOAD", text) }

        /// A call of the script.
        struct Invocation {
            let keys: [String]
            let arguments: [String]

            /// The command that calls the script by its digest.
            func command(digest: String) -> RedisCommand? { command(["EVALSHA", digest]) }

            /// The command that calls the script by its text.
            func command() -> RedisCommand? { command(["EVAL", RedisScript.text]) }

            private func command(_ head: [String]) -> RedisCommand? {
                RedisCommand((head + ["\(keys.count)"] + keys + arguments).map { [UInt8]($0.utf8) })
            }
        }

        /// Returns the call for a use.
        ///
        /// - Parameter isRecorded: True if the use is recorded; false if only revocations are checked.
        static func use(_ use: TokenUse, isRecorded: Bool = true, prefix: String) -> Invocation {
            let fingerprint = use.token.fingerprint.hexadecimal
            let ends = use.forgettable.advanced(byMilliseconds: margin)
            return Invocation(
                keys: (1...use.maximumUses).map { "\(prefix)use:\(fingerprint):\($0)" }
                    + Revocation.keys(of: use.token).map { revocationKey($0.key, prefix) },
                arguments: [
                    isRecorded ? "use" : "examine", "\(use.maximumUses)",
                    "\(use.token.timeIssued.millisecondsSince1970)",
                    "\(ends.millisecondsSince1970)", use.playback.map { String($0, radix: 16) } ?? "",
                    "\(ends.advanced(byMilliseconds: keeping).millisecondsSince1970)",
                ]
            )
        }

        static func revocation(_ revocation: Revocation, prefix: String, at now: Timestamp) -> Invocation {
            // Lua numbers are doubles: clamp the time to their exact integers.
            let before = min(revocation.issuedBefore.millisecondsSince1970, 1 << 53)
            let ends = revocation.expires.advanced(byMilliseconds: margin)
            return Invocation(
                keys: [revocationKey(revocation.key, prefix)],
                arguments: ["revoke", "\(before)", "\(ends.millisecondsSince1970)"]
            )
        }

        /// Converts the reply of the script to the outcome of a use.
        static func outcome(of reply: RedisReply, _ use: TokenUse) throws(ReplayStoreError) -> UseOutcome {
            guard case .integer(let number) = reply else {
                throw ReplayStoreError(.unavailable, "the reply of Redis is not an integer")
            }
            switch number {
            case recorded: return .recorded
            case repeated: return .repeated
            case usedUp: return .usedUp
            case notRevoked: return .notRevoked
            case clocksDiffer:
                throw ReplayStoreError(
                    .unavailable,
                    "the clock of the Redis server is minutes ahead of this machine's clock: synchronise both with NTP"
                )
            default:
                let kinds = Revocation.keys(of: use.token).map(\.kind)
                let place = Int(number) - use.maximumUses - 1
                guard kinds.indices.contains(place) else {
                    throw ReplayStoreError(.unavailable, "the reply of Redis is an unexpected number: \(number)")
                }
                return .revoked(kinds[place])
            }
        }

        private static func revocationKey(_ key: [UInt8], _ prefix: String) -> String {
            prefix + "revoked:" + key.hexadecimal
        }
    }
#endif
