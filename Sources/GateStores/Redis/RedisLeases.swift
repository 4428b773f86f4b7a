// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if Redis
    internal import MediaTokens
    internal import PlaybackGate

    /// The script for leases.
    ///
    /// The leases of a viewer are a sorted set of sessions by their ends. The key of a session names that set, so that a
    /// session can be freed by its identity alone. Ends are counted from the time of Redis: gates with different clocks give
    /// each lease the same life, and none of them ends another's lease early.
    enum RedisLeases {
        private static let taken: Int64 = 0
        private static let renewed: Int64 = -1

        /// The source of the script.
        ///
        /// - `take`: KEYS are the set of the viewer and the key of the session.
        /// - `free`: KEYS is the key of the session.
        static let script = """
            local time = now()
            local function leave(set, session)
                local ends = redis.call('ZSCORE', set, session)
                redis.call('ZREM', set, session)
                return ends and tonumber(ends) > time
            end
            if ARGV[1] == 'free' then
                local set = redis.call('GET', KEYS[1])
                redis.call('DEL', KEYS[1])
                return set and leave(set, ARGV[2]) and 1 or 0
            end
            local session, limit, ends = ARGV[2], tonumber(ARGV[3]), time + tonumber(ARGV[4])
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(time))
            local present, outcome = redis.call('ZSCORE', KEYS[1], session), 0
            if present then
                ends, outcome = math.max(ends, tonumber(present)), -1
            else
                local count = redis.call('ZCARD', KEYS[1])
                if count >= limit then return count end
                local other = redis.call('GET', KEYS[2])
                if other and other ~= KEYS[1] then leave(other, session) end
            end
            redis.call('ZADD', KEYS[1], whole(ends), session)
            redis.call('SET', KEYS[2], KEYS[1], 'PXAT', whole(ends))
            local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
            redis.call('PEXPIREAT', KEYS[1], whole(tonumber(last[2])))
            return outcome
            """

        /// Returns the call that takes or prolongs a lease.
        static func take(_ lease: StreamLease, prefix: String, at now: Timestamp) -> RedisScript.Invocation {
            let ends = lease.ends(at: now)
            let life = ends.millisecondsSince1970.subtractingReportingOverflow(now.millisecondsSince1970)
            return RedisScript.Invocation(
                script: .leases,
                keys: ["\(prefix)leases:\(lease.key.digest.hexadecimal)", sessionKey(lease.session, prefix)],
                arguments: [
                    "take", lease.session.hexadecimal, "\(lease.limit)",
                    "\(life.overflow ? longestLife : min(life.partialValue, longestLife))",
                ]
            )
        }

        /// Returns the call that frees the lease of a session.
        static func free(_ session: SessionID, prefix: String) -> RedisScript.Invocation {
            RedisScript.Invocation(
                script: .leases,
                keys: [sessionKey(session, prefix)],
                arguments: ["free", session.hexadecimal]
            )
        }

        /// A year, in milliseconds: Lua's numbers hold the sum of it and a time exactly.
        private static let longestLife: Int64 = 366 * 86_400_000

        private static func sessionKey(_ session: SessionID, _ prefix: String) -> String {
            "\(prefix)session:\(session.hexadecimal)"
        }

        /// Converts the reply of the script to the outcome of taking a lease.
        static func outcome(of reply: RedisReply) throws(ReplayStoreError) -> LeaseOutcome {
            switch reply {
            case .integer(taken): return .taken
            case .integer(renewed): return .renewed
            case .integer(let count) where 1...Int64(Int32.max) ~= count: return .limitReached(current: Int(count))
            default: throw .unexpected(reply)
            }
        }
    }
#endif
