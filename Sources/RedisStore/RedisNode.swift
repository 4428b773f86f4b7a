// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import ReplayStores
    internal import Synchronization

    /// A server of the store, ready for scripts: logged in, its settings checked, and the scripts loaded.
    final class RedisNode: Sendable {
        let link: RedisLink
        /// The number of the connection: one after another may lead to a server that has lost records.
        let number: Int
        /// The first words of the commands that call the scripts, by the scripts' numbers.
        private let calls: [RedisWords]
        private let acknowledgements: RedisAcknowledgements?

        private static let connections = Atomic<Int>(0)

        private init(_ link: RedisLink, calls: [RedisWords], acknowledgements: RedisAcknowledgements?) {
            self.link = link
            number = Self.connections.add(1, ordering: .relaxed).newValue
            self.calls = calls
            self.acknowledgements = acknowledgements
        }

        /// Connects to a server, and prepares it.
        ///
        /// - Parameters:
        ///   - deadline: The deadline of the replies to scripts.
        ///   - mustBePrimary: True if a server that does not call itself a primary is refused.
        ///   - unacknowledged: Counts writes that too few replicas acknowledged.
        static func connect(
            to address: RedisSettings.Address,
            settings: RedisSettings,
            deadline: StoreDeadline,
            mustBePrimary: Bool,
            unacknowledged: RedisCounter
        ) async throws(ReplayStoreError) -> RedisNode {
            let link = try await RedisLink.open(
                address,
                tls: settings.tls,
                patience: settings.patience,
                deadline: deadline,
                on: settings.loop
            )
            do throws(ReplayStoreError) {
                try await link.login(as: settings.user, password: settings.password)
                if mustBePrimary { try await link.checkIsPrimary() }
                if settings.database != 0 {
                    try await link.expectOK(
                        to: RedisCommand("SELECT", "\(settings.database)"),
                        what: "selection of the database"
                    )
                }
                try await link.checkMemory()
                return RedisNode(
                    link,
                    calls: try await link.loadScripts(),
                    acknowledgements: settings.wait.map {
                        RedisAcknowledgements(settings: $0, link: link, missing: unacknowledged)
                    }
                )
            } catch {
                link.close()
                throw error
            }
        }

        /// Calls a script by its digest, and by its text if Redis no longer has it. Waits for replicas if the settings
        /// demand for that and the reply says that something was recorded.
        ///
        /// - Parameters:
        ///   - isAsking: True if the slot of the call migrates to this server.
        ///   - receive: Called with the reply, which may be an error of the server.
        func send(
            _ call: RedisScript.Invocation,
            asking isAsking: Bool = false,
            receive: @escaping RedisReceiver
        ) {
            let command = call.command(calls[call.script.rawValue])
            link.send(command, asking: isAsking, hasDeadline: call.hasDeadline) { result in
                guard case .success(.error(let text)) = result, text.hasPrefix("NOSCRIPT") else {
                    return self.acknowledge(result, of: call, receive: receive)
                }
                self.link.send(call.command(), asking: isAsking, hasDeadline: call.hasDeadline) { result in
                    self.acknowledge(result, of: call, receive: receive)
                }
            }
        }

        private func acknowledge(
            _ result: Result<RedisReply, ReplayStoreError>,
            of call: RedisScript.Invocation,
            receive: @escaping RedisReceiver
        ) {
            guard let acknowledgements, case .success(.integer(let number)) = result,
                call.recording?.contains(number) == true
            else { return receive(result) }
            acknowledgements.wait { fault in receive(fault.map { .failure($0) } ?? result) }
        }

        /// Returns true if the server may forget uses because its settings have changed; notes the share of its memory in use.
        func mayForget(_ counters: RedisCounters) async -> Bool {
            do throws(ReplayStoreError) {
                counters.memory.note(try await link.checkMemory(), of: link.address)
                return false
            } catch {
                return error.code == .misconfigured
            }
        }
    }

    extension RedisLink {
        /// Refuses a server that does not call itself a primary: the reads of a replica are of the past.
        fileprivate func checkIsPrimary() async throws(ReplayStoreError) {
            let reply = try await send(RedisCommand("ROLE"))
            if case .error(let reason) = reply {
                throw ReplayStoreError(.misconfigured, reason: "Redis refused ROLE at \(address): \(reason)")
            }
            guard case .array(let facts) = reply, facts.first == .text([UInt8]("master".utf8)) else {
                throw ReplayStoreError(.unavailable, reason: "\(address) is not a primary")
            }
        }

        /// Checks that the server evicts no keys, which would forget uses. The check passes if the server does not permit
        /// `INFO`.
        ///
        /// - Returns: The share of its memory that is in use; `nil` if it has no limit, or that is not known.
        @discardableResult
        fileprivate func checkMemory() async throws(ReplayStoreError) -> Double? {
            guard case .text(let bytes) = try await send(RedisCommand("INFO", "memory")) else { return nil }
            var facts: [Substring: Substring] = [:]
            let info = String(decoding: bytes, as: UTF8.self)
            for line in info.split(whereSeparator: \.isNewline) {
                guard let colon = line.firstIndex(of: ":") else { continue }
                facts[line[..<colon]] = line[line.index(after: colon)...]
            }
            guard let limit = facts["maxmemory"].flatMap({ Double($0) }), limit > 0 else { return nil }
            let policy = facts["maxmemory_policy"] ?? "noeviction"
            guard policy == "noeviction" else {
                throw ReplayStoreError(
                    .misconfigured,
                    reason:
                        "Redis evicts keys (maxmemory-policy \(policy)) and would lose consumed tokens: set it to noeviction"
                )
            }
            return facts["used_memory"].flatMap { Double($0) }.map { min($0 / limit, 1) }
        }

        /// Loads the scripts. Returns the first words of the commands that call them, by the scripts' numbers.
        fileprivate func loadScripts() async throws(ReplayStoreError) -> [RedisWords] {
            var calls: [RedisWords] = []
            for script in RedisScript.allCases {
                switch try await send(script.load) {
                case .text(let digest):
                    calls.append(RedisWords(["EVALSHA", String(decoding: digest, as: UTF8.self)]))
                case .error(let reason):
                    // A server that is busy with its data may be ready soon.
                    let isLoading = reason.hasPrefix("LOADING") || reason.hasPrefix("MASTERDOWN")
                    throw ReplayStoreError(
                        isLoading ? .unavailable : .misconfigured,
                        reason: "Redis refused to load a script: \(reason)"
                    )
                default: throw ReplayStoreError(.misconfigured, reason: "Redis refused to load a script")
                }
            }
            return calls
        }
    }
#endif
