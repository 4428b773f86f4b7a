// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import Encodings
    internal import ReplayStores

    /// The script for reports on playbacks, which all gates read: a stream of the last ones.
    enum RedisReports {
        /// The life of a batch, and of the stream after the last one, in milliseconds: a report of a watch counts for so long.
        private static let life = 180_000
        /// The maximum number of batches in a reply, and of their bytes.
        private static let (limit, bytes) = (256, 262_144)
        /// The age of the first batch that a gate reads after its start, in milliseconds.
        private static let age = 120_000

        /// The source of the script. KEYS is the stream; ARGV are the batch (empty for none), the last position (empty for the
        /// first call), the life, the limits of batches and bytes, and the age. Returns the position and the batches after the last one.
        static let script = """
            local name, from, size = KEYS[1], ARGV[2], 0
            if ARGV[1] ~= '' then
                local oldest = whole(now() - tonumber(ARGV[3])) .. '-0'
                redis.call('XADD', name, 'MINID', '~', oldest, '*', 'b', ARGV[1])
                redis.call('PEXPIRE', name, ARGV[3])
            end
            if from == '' then from = whole(now() - tonumber(ARGV[6])) .. '-0' end
            local found = {from}
            for _, entry in ipairs(redis.call('XRANGE', name, from, '+', 'COUNT', ARGV[4])) do
                if entry[1] ~= from then
                    size = size + #entry[2][2]
                    if size > tonumber(ARGV[5]) and #found > 1 then return found end
                    found[1] = entry[1]
                    found[#found + 1] = entry[2][2]
                end
            end
            return found
            """

        /// Returns the call that appends a batch, and reads those after a position.
        static func exchange(
            _ batch: [UInt8],
            after position: String?,
            under names: RedisKeys
        ) -> RedisScript.Invocation {
            RedisScript.Invocation(
                script: .reports,
                keys: [names.prefix + "reports"],
                arguments: [
                    batch.isEmpty ? "" : Base64.encode(batch), position ?? "", "\(life)", "\(limit)", "\(bytes)",
                    "\(age)",
                ],
                hasDeadline: false
            )
        }

        /// Converts the reply of the script to batches.
        static func batches(in reply: RedisReply) throws(ReplayStoreError) -> PlaybackReports {
            guard case .array(let elements) = reply else { throw .unexpected(reply) }
            var texts: [[UInt8]] = []
            for element in elements {
                guard case .text(let bytes) = element else { throw .unexpected(reply) }
                texts.append(bytes)
            }
            guard let position = texts.first else { throw .unexpected(reply) }
            // A batch of another version of the gate may have another form.
            let batches = texts.dropFirst().compactMap { Base64.decode($0) }
            return PlaybackReports(batches: batches, position: String(decoding: position, as: UTF8.self))
        }
    }
#endif
