// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import Platform

#if Redis
    internal import MediaTokens
    internal import ReplayStores

    /// The script for revocations and the list of them.
    ///
    /// A revocation that applies to media tokens has a key of its own, which expires. Revocations of grants are one
    /// list: a sorted set of subjects by the number of their last change, with their facts in a hash. A second set has
    /// the times until which they are stored.
    ///
    /// The order is that of a counter, and not of time. No two changes have the same number, and none gets a lower one
    /// than a gate has read already, even if the clock of Redis changes. A server may lose its last writes, in a
    /// failover or a restart. A gate therefore reads the whole list again on each new connection, and if the list has
    /// another name than before.
    enum RedisRevocations {
        /// The source of the script.
        ///
        /// - `revoke`: KEYS are the key of the revocation, and those of the list if they are on the same server.
        /// - `note`: KEYS are those of the list.
        /// - `lift`: KEYS as for `revoke`, or as for `note`.
        /// - `list`: KEYS are those of the list.
        static let script = """
            local function revoke(key, before, ends)
                local present = redis.call('GET', key)
                if present and tonumber(present) > tonumber(before) then before = present end
                local kept = now() + redis.call('PTTL', key)
                if present and kept > tonumber(ends) then ends = kept end
                redis.call('SET', key, before, 'PXAT', whole(ends))
            end
            local function note(order, ends, facts, subject, kind, session, before, kept)
                for _, old in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', whole(now()), 'LIMIT', 0, 16)) do
                    redis.call('ZREM', order, old)
                    redis.call('ZREM', ends, old)
                    redis.call('HDEL', facts, old)
                end
                local present = redis.call('HGET', facts, subject)
                if present then
                    local known, until_ = string.match(present, '(%S+) (%S+)$')
                    if tonumber(known) > tonumber(before) then before = known end
                    if tonumber(until_) > tonumber(kept) then kept = until_ end
                end
                local number = redis.call('HINCRBY', facts, 'number', 1)
                redis.call('ZADD', order, number, subject)
                redis.call('ZADD', ends, kept, subject)
                redis.call('HSET', facts, subject, kind .. ' ' .. session .. ' ' .. before .. ' ' .. kept)
            end
            local function list(order, facts, newName, name, after, limit)
                redis.call('HSETNX', facts, 'name', newName)
                local present = redis.call('HGET', facts, 'name')
                local last = tonumber(redis.call('HGET', facts, 'number') or '0')
                if name ~= present or after > last then after = 0 end
                local members = redis.call('ZRANGEBYSCORE', order, '(' .. whole(after), '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
                local reply = {present, whole(after)}
                for place = 1, #members, 2 do
                    reply[2] = members[place + 1]
                    reply[#reply + 1] = members[place]
                    reply[#reply + 1] = redis.call('HGET', facts, members[place]) or ''
                end
                return reply
            end
            if ARGV[1] == 'lift' then
                local wasRevoked = 0
                if ARGV[3] == 'key' then wasRevoked = redis.call('DEL', KEYS[1]) end
                if #KEYS > 1 then
                    local facts, present = KEYS[#KEYS], redis.call('HGET', KEYS[#KEYS], ARGV[2])
                    local head, before, kept = string.match(present or '', '^(%S+ %S+) (%S+) (%S+)$')
                    if head and tonumber(before) > -9007199254740992 and tonumber(kept) > now() then
                        wasRevoked = 1
                        redis.call('ZADD', KEYS[#KEYS - 2], redis.call('HINCRBY', facts, 'number', 1), ARGV[2])
                        redis.call('HSET', facts, ARGV[2], head .. ' -9007199254740992 ' .. kept)
                    end
                end
                return wasRevoked
            end
            if ARGV[1] == 'list' then return list(KEYS[1], KEYS[2], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]) end
            if now() >= tonumber(ARGV[3]) then return -3 end
            if ARGV[1] == 'revoke' then revoke(KEYS[1], ARGV[2], ARGV[3]) end
            if #KEYS > 1 then
                note(KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8])
            end
            return 1
            """

        private static let name = "revoked:"

        /// The key of a revocation that applies to media tokens.
        static func key(of key: [UInt8], under names: RedisKeys) -> String { names.prefix + name + key.hexadecimal }

        /// Appends the key of a revocation that applies to media tokens to the words of a call.
        static func append(_ key: [UInt8], under names: RedisKeys, to words: inout RedisWords) {
            words.append(names.prefix, then: name, hexadecimal: key)
        }

        /// Returns the calls that record a revocation: one, or where keys are spread, one for the key and one for the list.
        static func record(
            _ revocation: Revocation,
            under names: RedisKeys,
            at now: Timestamp
        ) -> [RedisScript.Invocation] {
            let (own, list) = ([key(of: revocation.key, under: names)], listKeys(names))
            let parts = names.areSpread ? [("revoke", own), ("note", list)] : [("revoke", own + list)]
            return parts.map { call($0, keys: $1, revocation: revocation, at: now) }
        }

        /// Returns the calls that lift a revocation: one, or where keys are spread, one for the key and one for the list.
        static func lift(_ key: SHA256Digest, under names: RedisKeys) -> [RedisScript.Invocation] {
            let (own, list) = ([Self.key(of: key.bytes, under: names)], listKeys(names))
            let parts = names.areSpread ? [("key", own), ("list", list)] : [("key", own + list)]
            return parts.map { part, keys in
                RedisScript.Invocation(
                    script: .revocations,
                    keys: keys,
                    arguments: ["lift", key.hexadecimal, part],
                    recording: 1...1
                )
            }
        }

        private static func call(
            _ action: String,
            keys: [String],
            revocation: Revocation,
            at now: Timestamp
        ) -> RedisScript.Invocation {
            let record = RevocationRecord(revocation, at: now)
            let kept = record.kept.advanced(byMilliseconds: RedisScript.margin).millisecondsSince1970
            return RedisScript.Invocation(
                script: .revocations,
                keys: keys,
                arguments: [
                    action, "\(exact(revocation.issuedBefore.millisecondsSince1970))",
                    "\(exact(revocation.expires.advanced(byMilliseconds: RedisScript.margin).millisecondsSince1970))",
                    record.key.hexadecimal, revocation.kind.rawValue, record.session?.hexadecimal ?? "-",
                    "\(exact(record.issuedBefore.millisecondsSince1970))", "\(exact(kept))",
                ],
                recording: 1...1
            )
        }

        /// The keys of the list: the order, the ends and the facts.
        private static func listKeys(_ names: RedisKeys) -> [String] {
            let name = names.prefix + names.tag("revocations")
            return [name, name + ":ends", name + ":facts"]
        }

        /// Lua numbers are doubles: the largest of their exact integers stands for all later times.
        private static let end: Int64 = 1 << 53

        private static func exact(_ time: Int64) -> Int64 { min(max(time, -end), end) }

        // MARK: Listing

        /// A position in the list.
        struct Position {
            package let connection: Int
            package let name: String
            package let number: Int64

            /// Reads a cursor of this connection; others are the beginning of the list.
            package init(_ cursor: RevocationCursor?, connection: Int) {
                self.connection = connection
                let parts = cursor?.generation.split(separator: ":") ?? []
                if let cursor, parts.count == 2, parts[0] == "\(connection)" {
                    (name, number) = (String(parts[1]), cursor.number)
                } else {
                    (name, number) = ("", 0)
                }
            }
        }

        /// Returns the call that lists the next changes after a position.
        static func list(after position: Position, _ names: RedisKeys) -> RedisScript.Invocation {
            let keys = listKeys(names)
            return RedisScript.Invocation(
                script: .revocations,
                keys: [keys[0], keys[2]],
                arguments: [
                    "list", String(UInt64.random(in: .min ... .max), radix: 16), position.name, "\(position.number)",
                    "\(RevocationChanges.limit)",
                ],
                hasDeadline: false
            )
        }

        /// Converts the reply of the script to changes.
        static func changes(
            in reply: RedisReply,
            after position: Position
        ) throws(ReplayStoreError) -> RevocationChanges {
            guard case .array(let elements) = reply else { throw .unexpected(reply) }
            var texts: [String] = []
            for element in elements {
                guard case .text(let bytes) = element else { throw .unexpected(reply) }
                texts.append(String(decoding: bytes, as: UTF8.self))
            }
            guard texts.count >= 2, texts.count.isMultiple(of: 2), let number = Int64(texts[1]) else {
                throw .unexpected(reply)
            }
            let records = stride(from: 2, to: texts.count, by: 2).compactMap {
                record(of: texts[$0], fields: texts[$0 + 1])
            }
            return RevocationChanges(
                records,
                cursor: RevocationCursor(generation: "\(position.connection):\(texts[0])", number: number),
                hasMore: texts.count == 2 * RevocationChanges.limit + 2
            )
        }

        /// Reads a record; `nil` if it is not one of this script.
        private static func record(of subject: String, fields facts: String) -> RevocationRecord? {
            let parts = facts.split(separator: " ")
            guard parts.count == 4, let key = SHA256Digest(hexadecimal: subject), let before = Int64(parts[2]),
                let kept = Int64(parts[3])
            else { return nil }
            return RevocationRecord(
                kind: Revocation.Kind(rawValue: String(parts[0])),
                key: key,
                session: SessionID(hexadecimal: parts[1]),
                issuedBefore: Timestamp(millisecondsSince1970: before == end ? .max : before),
                kept: Timestamp(millisecondsSince1970: kept)
            )
        }
    }
#endif
