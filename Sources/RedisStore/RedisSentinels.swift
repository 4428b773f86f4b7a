// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import ReplayStores
    internal import Synchronization

    /// The sentinels of a Redis primary, which know its address.
    ///
    /// All are queried at once, and the address that most of them name counts. A single sentinel that is cut off from
    /// the others, together with a former primary, misleads nobody.
    final class RedisSentinels: Sendable {
        private let settings: RedisSettings.Sentinels
        private let tls: RedisSettings.TLS?
        private let links = Mutex<[RedisSettings.Address: RedisLink]>([:])

        /// The longest wait for a connection to a sentinel, and for its reply.
        private static let patience = TimeAmount.milliseconds(500)

        init(_ settings: RedisSettings.Sentinels, tls: RedisSettings.TLS?) {
            self.settings = settings
            self.tls = tls
        }

        deinit { for link in links.withLock({ $0.values.map(\.self) }) { link.close() } }

        /// Returns the address of the primary.
        ///
        /// - Throws: If no sentinel names one.
        func primary() async throws(ReplayStoreError) -> RedisSettings.Address {
            let answers = await withTaskGroup(of: (Int, Result<RedisSettings.Address, ReplayStoreError>).self) {
                group in
                for (index, sentinel) in settings.addresses.enumerated() {
                    group.addTask {
                        do throws(ReplayStoreError) { return (index, .success(try await self.ask(sentinel))) } catch {
                            return (index, .failure(error))
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
            let named = answers.compactMap { try? $0.get() }
            let votes = { (address: RedisSettings.Address) in named.count { $0 == address } }
            // Of equal numbers, the one that the first in the list names.
            if let first = named.first { return named.reduce(first) { votes($1) > votes($0) ? $1 : $0 } }
            let faults = answers.compactMap { answer in
                if case .failure(let fault) = answer { fault } else { nil }
            }
            throw faults.first ?? ReplayStoreError(.misconfigured, reason: "there are no sentinels")
        }

        private func ask(_ sentinel: RedisSettings.Address) async throws(ReplayStoreError) -> RedisSettings.Address {
            let link = try await link(to: sentinel)
            let reply: RedisReply
            do throws(ReplayStoreError) {
                reply = try await link.send(RedisCommand("SENTINEL", "get-master-addr-by-name", settings.primary))
            } catch {
                _ = links.withLock { $0.removeValue(forKey: sentinel) }
                throw error
            }
            switch reply {
            case .array(let parts):
                guard parts.count == 2, case .text(let host) = parts[0], case .text(let port) = parts[1],
                    let number = UInt16(String(decoding: port, as: UTF8.self)), number > 0
                else { throw .unexpected(reply) }
                return .tcp(host: String(decoding: host, as: UTF8.self), port: Int(number))
            case .null:
                throw ReplayStoreError(
                    .unavailable,
                    reason: "the sentinel \(sentinel) knows no primary \(settings.primary)"
                )
            case .error(let text):
                throw ReplayStoreError(.misconfigured, reason: "the sentinel \(sentinel) refused: \(text)")
            default: throw .unexpected(reply)
            }
        }

        private func link(to sentinel: RedisSettings.Address) async throws(ReplayStoreError) -> RedisLink {
            if let link = links.withLock({ $0[sentinel] }) { return link }
            let link = try await RedisLink.open(sentinel, tls: tls, patience: Self.patience)
            do throws(ReplayStoreError) { try await link.login(as: settings.user, password: settings.password) } catch {
                link.close()
                throw error
            }
            links.withLock { $0[sentinel] = link }
            return link
        }
    }
#endif
