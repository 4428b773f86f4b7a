// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    package import ReplayStores

    /// The scripts that Redis runs atomically, each for one subject.
    ///
    /// Redis's clock decides in all of them, because the clocks of gates differ.
    enum RedisScript: Int, CaseIterable {
        /// Uses of media tokens and of grants, and examinations.
        case uses
        /// Revocations, and the list of them.
        case revocations
        /// Leases of streams.
        case leases
        /// Renewals of grants.
        case renewals
        /// Reports on playbacks.
        case reports

        /// The time for which clocks may differ: two minutes, in milliseconds.
        static let margin: Int64 = 120_000

        /// The source of the script.
        var text: String {
            let body =
                switch self {
                case .uses: RedisUses.script
                case .revocations: RedisRevocations.script
                case .leases: RedisLeases.script
                case .renewals: RedisRenewals.script
                case .reports: RedisReports.script
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
            /// Makes the number of keys, the keys, and the arguments.
            private let words: @Sendable () -> RedisWords
            /// The replies after which a record exists that a failover must not lose.
            let recording: ClosedRange<Int64>?
            /// True if a playback waits for the reply; a list of revocations may be slower.
            let hasDeadline: Bool

            /// Creates a call.
            ///
            /// - Parameter words: Makes the number of keys, the keys, and the arguments. Called for each command: the words of one
            ///   would stay in memory until its reply.
            init(
                script: RedisScript,
                recording: ClosedRange<Int64>? = nil,
                hasDeadline: Bool = true,
                words: @escaping @Sendable () -> RedisWords
            ) {
                self.script = script
                self.words = words
                self.recording = recording
                self.hasDeadline = hasDeadline
            }

            /// Creates a call from its keys and arguments.
            init(
                script: RedisScript,
                keys: [String],
                arguments: [String],
                recording: ClosedRange<Int64>? = nil,
                hasDeadline: Bool = true
            ) {
                let words = RedisWords(["\(keys.count)"] + keys + arguments)
                self.init(script: script, recording: recording, hasDeadline: hasDeadline) { words }
            }

            /// The slot of a cluster that has the keys of the call.
            var slot: Int { RedisSlot.of(words().word(1) ?? []) }

            /// The command that calls the script by its digest.
            ///
            /// - Parameter name: `EVALSHA` and the digest.
            func command(_ name: RedisWords) -> RedisCommand { RedisCommand(first: name, others: words()) }

            /// The command that calls the script by its text.
            func command() -> RedisCommand { RedisCommand(first: RedisWords(["EVAL", script.text]), others: words()) }
        }
    }

    extension ReplayStoreError {
        /// An error for a reply that the script never gives.
        package static func unexpected(_ reply: RedisReply) -> ReplayStoreError {
            if case .integer(let number) = reply {
                return ReplayStoreError(.unavailable, reason: "the reply of Redis is an unexpected number: \(number)")
            }
            return ReplayStoreError(.unavailable, reason: "the reply of Redis has an unexpected form")
        }

        /// The error for a record that is over by the clock of Redis, and not by that of this machine.
        static let clocksDiffer = ReplayStoreError(
            .unavailable,
            reason: "the clock of the Redis server is minutes ahead of this machine's clock: synchronise both with NTP"
        )
    }
#endif
