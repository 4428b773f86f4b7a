// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

#if Redis
    internal import MediaTokens
    internal import ReplayStores

    /// The script for leases.
    ///
    /// The leases of a viewer are a sorted set of sessions by their ends. The key of a session names that set, so that
    /// a session can be freed only by its identity. Ends are counted from the time of Redis. Gates with different
    /// clocks therefore give each lease the same life, and none of them ends another's lease early.
    enum RedisLeases {
        private static let taken: Int64 = 0
        private static let renewed: Int64 = -1

        /// The source of the script.
        ///
        /// - `take`: KEYS are the set of the viewer and the key of the session.
        /// - `free`: KEYS is the key of the session.
        ///
        /// In a cluster a call has one key, and there are more of them:
        ///
        /// - `take`: KEYS is the set of the viewer; then `bind` for the key of the session, which returns the set in which it
        ///   was before, and `leave` for that set.
        /// - `unbind`: KEYS is the key of the session; then `leave` for the set that it returns.
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
            if ARGV[1] == 'leave' then return leave(KEYS[1], ARGV[2]) and 1 or 0 end
            if ARGV[1] == 'unbind' then
                local set = redis.call('GET', KEYS[1])
                redis.call('DEL', KEYS[1])
                return set or ''
            end
            if ARGV[1] == 'bind' then
                local set = redis.call('GET', KEYS[1])
                local ends = math.max(time + tonumber(ARGV[4]), time + redis.call('PTTL', KEYS[1]))
                redis.call('SET', KEYS[1], ARGV[3], 'PXAT', whole(ends))
                return set or ''
            end
            local session, limit, ends = ARGV[2], tonumber(ARGV[3]), time + tonumber(ARGV[4])
            redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(time))
            local present, outcome = redis.call('ZSCORE', KEYS[1], session), 0
            if present then
                ends, outcome = math.max(ends, tonumber(present)), -1
            else
                local count = redis.call('ZCARD', KEYS[1])
                if count >= limit then return count end
                local other = KEYS[2] and redis.call('GET', KEYS[2])
                if other and other ~= KEYS[1] then leave(other, session) end
            end
            redis.call('ZADD', KEYS[1], whole(ends), session)
            if KEYS[2] then redis.call('SET', KEYS[2], KEYS[1], 'PXAT', whole(ends)) end
            local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
            redis.call('PEXPIREAT', KEYS[1], whole(tonumber(last[2])))
            return outcome
            """

        /// Returns the call that acquires or prolongs a lease.
        static func bind(
            _ lease: StreamLease,
            under names: RedisKeys,
            at now: Timestamp
        ) -> RedisScript.Invocation {
            let (set, session) = (setKey(of: lease, under: names), sessionKey(of: lease.session, under: names))
            return call(
                "take",
                keys: names.areSpread ? [set] : [set, session],
                session: lease.session,
                more: ["\(lease.limit)", "\(life(lease, at: now))"]
            )
        }

        /// Returns the call that notes the set of a session, where keys are spread.
        static func acquire(_ lease: StreamLease, under names: RedisKeys, at now: Timestamp) -> RedisScript.Invocation {
            call(
                "bind",
                keys: [sessionKey(of: lease.session, under: names)],
                session: lease.session,
                more: [setKey(of: lease, under: names), "\(life(lease, at: now))"]
            )
        }

        /// Returns the call that frees the lease of a session.
        static func free(_ session: SessionID, under names: RedisKeys) -> RedisScript.Invocation {
            call(names.areSpread ? "unbind" : "free", keys: [sessionKey(of: session, under: names)], session: session)
        }

        /// Returns the call that removes a session from a set, where keys are spread.
        static func leave(_ set: String, by session: SessionID) -> RedisScript.Invocation {
            call("leave", keys: [set], session: session)
        }

        /// Reads the set that `bind` and `unbind` reply; `nil` if the session was in none.
        static func set(in reply: RedisReply) throws(ReplayStoreError) -> String? {
            guard case .text(let bytes) = reply else { throw .unexpected(reply) }
            return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        }

        private static func call(
            _ action: String,
            keys: [String],
            session: SessionID,
            more: [String] = []
        ) -> RedisScript.Invocation {
            RedisScript.Invocation(script: .leases, keys: keys, arguments: [action, session.hexadecimal] + more)
        }

        private static func life(_ lease: StreamLease, at now: Timestamp) -> Int64 {
            let ends = lease.ends(at: now)
            let life = ends.millisecondsSince1970.subtractingReportingOverflow(now.millisecondsSince1970)
            return life.overflow ? longestLife : min(life.partialValue, longestLife)
        }

        /// The key of the set of a lease.
        static func setKey(of lease: StreamLease, under names: RedisKeys) -> String {
            "\(names.prefix)leases:\(lease.key.digest.hexadecimal)"
        }

        /// A year, in milliseconds: Lua's numbers hold the sum of it and a time exactly.
        private static let longestLife: Int64 = 366 * 86_400_000

        private static func sessionKey(of session: SessionID, under names: RedisKeys) -> String {
            "\(names.prefix)session:\(session.hexadecimal)"
        }

        /// Converts the reply of the script to the outcome of acquiring a lease.
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
