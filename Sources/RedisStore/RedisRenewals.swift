// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

#if Redis
    internal import ReplayStores

    /// The script for renewals of grants: the rules of ``ReplayStores/RenewalBranch``, where the branch is.
    ///
    /// The value of a key is the last generations, each with its number, a colon, the parents separated by commas, and a
    /// semicolon; all numbers are decimal.
    enum RedisRenewals {
        private static let forward: Int64 = 0
        private static let repeated: Int64 = -1
        private static let late: Int64 = -2

        /// The source of the script. KEYS is the branch; ARGV are the generation, the parent, the life in milliseconds, and the
        /// most parents and generations that are remembered.
        static let script = """
            local number, parent, life = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
            local most, window = tonumber(ARGV[4]), tonumber(ARGV[5])
            local parents, newest, outcome = {}, number, 0
            for name, list in (redis.call('GET', KEYS[1]) or ''):gmatch('(%d+):([%d,]+);') do
                local known = {}
                for word in list:gmatch('%d+') do known[#known + 1] = word end
                parents[tonumber(name)] = known
                newest = math.max(newest, tonumber(name))
            end
            if newest - number >= window then return -2 end
            local own = parents[number]
            if own then
                outcome = 1
                for _, known in ipairs(own) do
                    if known == parent then outcome = -1 end
                end
                if outcome == 1 and #own < most then own[#own + 1] = parent end
            else
                parents[number] = {parent}
            end
            if outcome == 1 then
                local function forked(at) return parents[at] and #parents[at] > 1 end
                local first, last = number, number
                while forked(last + 1) do last = last + 1 end
                while forked(first - 1) do first = first - 1 end
                outcome = last - first + 1
            end
            local text = ''
            for name = math.max(0, newest - window + 1), newest do
                if parents[name] then text = text .. whole(name) .. ':' .. table.concat(parents[name], ',') .. ';' end
            end
            life = math.max(life, redis.call('PTTL', KEYS[1]))
            redis.call('SET', KEYS[1], text, 'PXAT', whole(now() + life))
            return outcome
            """

        /// Returns the call that records a renewal.
        static func note(
            _ renewal: GrantRenewal,
            under names: RedisKeys,
            at now: Timestamp
        ) -> RedisScript.Invocation {
            let life = renewal.expires.millisecondsSince1970.subtractingReportingOverflow(now.millisecondsSince1970)
            return RedisScript.Invocation(
                script: .renewals,
                keys: ["\(names.prefix)branch:\(renewal.session.hexadecimal):\(renewal.chain)"],
                arguments: [
                    "\(renewal.generation)", "\(renewal.parent)",
                    "\(life.overflow ? longestLife : min(max(life.partialValue, 1), longestLife))",
                    "\(RenewalBranch.maximumParents)", "\(RenewalBranch.window)",
                ]
            )
        }

        /// Converts the reply of the script to an outcome.
        static func outcome(of reply: RedisReply) throws(ReplayStoreError) -> RenewalOutcome {
            switch reply {
            case .integer(forward): return .forward
            case .integer(repeated): return .repeated
            case .integer(late): return .late
            case .integer(let generations) where 1...Int64(RenewalBranch.window) ~= generations:
                return .sibling(generations: Int(generations))
            default: throw .unexpected(reply)
            }
        }

        /// Two days, in milliseconds: longer than two lives of any grant.
        private static let longestLife: Int64 = 2 * 86_400_000
    }
#endif
