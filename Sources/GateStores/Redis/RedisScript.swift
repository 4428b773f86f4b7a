// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import PlaybackGate

    /// The scripts that Redis runs atomically, each for one subject.
    ///
    /// Redis's clock decides in all of them, because the clocks of gates differ.
    enum RedisScript: CaseIterable {
        /// Uses of media tokens and of grants, and examinations.
        case uses
        /// Revocations, and the list of them.
        case revocations
        /// Leases of streams.
        case leases

        /// The time for which clocks may differ: two minutes, in milliseconds.
        static let margin: Int64 = 120_000

        /// The source of the script.
        var text: String {
            let body =
                switch self {
                case .uses: RedisUses.script
                case .revocations: RedisRevocations.script
                case .leases: RedisLeases.script
                }
            return Self.clock + body
        }

        private static let clock = """
            local function now()
                local time = redis.call('TIME')
                return time[1] * 1000 + math.floor(time[2] / 1000)
            end
            local function whole(number) return string.format('%.0f', number) end

            """

        /// The command that loads the script and returns its digest.
        var load: RedisCommand { RedisCommand("SCRIPT", "LOAD", text) }

        /// A call of a script.
        struct Invocation {
            let script: RedisScript
            let keys: [String]
            let arguments: [String]
            /// The replies after which a record exists that a failover must not lose.
            var recording: Set<Int64> = []
            /// True if a playback waits for the reply; a list of revocations may take longer.
            var hasDeadline = true

            /// The command that calls the script by its digest.
            func command(digest: String) -> RedisCommand { command(["EVALSHA", digest]) }

            /// The command that calls the script by its text.
            func command() -> RedisCommand { command(["EVAL", script.text]) }

            private func command(_ head: [String]) -> RedisCommand {
                RedisCommand(head + [String(keys.count)] + keys + arguments)
            }
        }
    }

    extension ReplayStoreError {
        /// An error for a reply that the script never gives.
        static func unexpected(_ reply: RedisReply) -> ReplayStoreError {
            if case .integer(let number) = reply {
                return ReplayStoreError(.unavailable, "the reply of Redis is an unexpected number: \(number)")
            }
            return ReplayStoreError(.unavailable, "the reply of Redis has an unexpected form")
        }

        /// The error for a record that is over by the clock of Redis, and not by that of this machine.
        static let clocksDiffer = ReplayStoreError(
            .unavailable,
            "the clock of the Redis server is minutes ahead of this machine's clock: synchronise both with NTP"
        )
    }
#endif
