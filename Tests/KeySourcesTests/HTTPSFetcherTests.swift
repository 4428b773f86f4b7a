// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Service
    import Foundation
    import GateTestSupport
    import Platform
    import Synchronization
    import Testing

    @testable import KeySources

    @Suite struct `Fetching a key set` {
        /// Fetches from a server with this behaviour. A fetch from one that stalls reaches its time limit once the server has
        /// sent all that it will.
        private func fetch(
            _ behaviour: KeyServer.Behaviour,
            networks: [String] = ["127.0.0.1"],
            tag: String? = nil
        ) async throws -> (result: Result<KeySetResponse, KeySetFault>, server: KeyServer) {
            let server = try await KeyServer(behaviour)
            var limits = HTTPSKeySetFetcher.Limits.unreached
            if case .stall = behaviour { limits.sleep = { _ in await server.stalled() } }
            let fetcher = try HTTPSKeySetFetcher(try PermittedAddresses(networks), authorities: nil, limits: limits) {
                $0.addressesOfHost()
            }
            let address = try KeySetAddress("http://127.0.0.1:\(server.port)/jwks.json?a=b")
            return (await fetcher.fetch(KeySetRequest(address, entityTag: tag)), server)
        }

        private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

        @Test func `asks for what it accepts, and returns the whole answer`() async throws {
            let text = Self.head + "ETag: \"1\"\r\nContent-Length: 4\r\n\r\nkeys"
            let (result, server) = try await fetch(.send(text), tag: "\"0\"")
            let answer = try result.get()
            #expect(answer.status == 200 && answer.body == Array("keys".utf8) && answer.entityTag == "\"1\"")
            let lines = server.requests.joined().components(separatedBy: "\r\n").map { $0.lowercased() }
            #expect(lines[0] == "get /jwks.json?a=b http/1.1")
            #expect(lines.contains("if-none-match: \"0\"") && lines.contains("host: 127.0.0.1:\(server.port)"))
            #expect(lines.contains("accept: application/jwk-set+json, application/json, application/cose-key-set"))
            #expect(!lines.contains { $0.hasPrefix("accept-encoding") || $0.hasPrefix("cookie") })
        }

        @Test func `follows no redirect`() async throws {
            let target = try await KeyServer(.send(Self.head + "Content-Length: 0\r\n\r\n"))
            let text = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n"
            let (result, server) = try await fetch(.send(text))
            #expect(try result.get().status == 302)
            #expect(server.requests.count == 1 && target.requests.isEmpty)
        }

        @Test(arguments: [
            ("before the head", ""), ("in the head", "HTTP/1.1 200 OK\r\nConte"),
            ("in the body", head + "Content-Length: 100\r\n\r\n{"),
        ])
        func `ends with its time limit if the server stalls`(position: String, text: String) async throws {
            let (result, server) = try await fetch(.stall(text))
            #expect(result == .failure(.timeout) && server.requests.count == 1, "\(position)")
        }

        @Test func `lasts 5 s at most, and 2 s of them for a connection`() async throws {
            let limits = HTTPSKeySetFetcher.Limits()
            #expect(limits.whole == .seconds(5) && limits.connect == .seconds(2))
            let server = try await KeyServer(.stall(""))
            let waited = Mutex<[Duration]>([])
            var recorded = limits
            recorded.sleep = { duration in waited.withLock { $0.append(duration) } }
            let fetcher = try HTTPSKeySetFetcher(
                try PermittedAddresses(["127.0.0.1"]),
                authorities: nil,
                limits: recorded
            ) {
                $0.addressesOfHost()
            }
            let address = try KeySetAddress("http://127.0.0.1:\(server.port)/")
            #expect(await fetcher.fetch(KeySetRequest(address)) == .failure(.timeout))
            #expect(waited.withLock { $0 } == [.seconds(5)])
        }

        @Test(arguments: ["Content-Length: 1073741824\r\n\r\n", "\r\n"])
        func `reads no gigabyte`(rest: String) async throws {
            let (result, server) = try await fetch(.flood(Self.head + rest))
            #expect(result == .failure(.tooLarge))
            // What the sockets' buffers hold, and no more.
            #expect(server.sent < 64 << 20)
        }

        @Test(arguments: [
            ("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", 500), ("HTTP/1.1 304 Same\r\n\r\n", 304),
            ("HTTP/1.1 404 None\r\nContent-Length: 2\r\n\r\nno", 404),
        ])
        func `returns other answers without their bodies`(text: String, status: Int) async throws {
            let answer = try await fetch(.send(text)).result.get()
            #expect(answer.status == status && answer.body.isEmpty)
        }

        @Test(arguments: [
            ("not HTTP\r\n\r\n", KeySetFault.malformed), ("", .unreachable),
            (head + "Content-Length: 100\r\n\r\nx", .unreachable),
        ])
        func `says what is no answer`(text: String, fault: KeySetFault) async throws {
            #expect(try await fetch(.send(text)).result == .failure(fault))
        }

        @Test func `asks no private address that is not permitted`() async throws {
            let (result, server) = try await fetch(.send(Self.head + "\r\n"), networks: ["10.0.0.0/8"])
            #expect(result == .failure(.addressRefused) && server.requests.isEmpty)
        }

        @Test(arguments: [
            (["127.0.0.1", "10.0.0.1"], KeySetFault.addressRefused), (["::1"], .addressRefused), ([], .unreachable),
            (["8.8.8.8", "169.254.169.254"], .addressRefused),
        ])
        func `checks every address of a name`(found: [String], fault: KeySetFault) async throws {
            let server = try await KeyServer(.send(Self.head + "\r\n"))
            let fetcher = try HTTPSKeySetFetcher(
                try PermittedAddresses(["127.0.0.1"]),
                authorities: nil,
                limits: .unreached
            ) { _ in found }
            let address = try KeySetAddress("http://localhost:\(server.port)/")
            #expect(await fetcher.fetch(KeySetRequest(address)) == .failure(fault))
            #expect(server.requests.isEmpty)
        }

        @Test func `goes to the checked address, whatever the name resolves to later`() async throws {
            let server = try await KeyServer(.send(Self.head + "Content-Length: 2\r\n\r\n{}"))
            // No server listens at the other loopback address, to which nobody asked the way.
            let found = Mutex(["127.0.0.1"])
            let fetcher = try HTTPSKeySetFetcher(
                try PermittedAddresses(["127.0.0.0/8"]),
                authorities: nil,
                limits: .unreached
            ) { _ in
                found.withLock { addresses in
                    defer { addresses = ["127.0.0.2"] }
                    return addresses
                }
            }
            let address = try KeySetAddress("http://localhost:\(server.port)/")
            #expect(try await fetcher.fetch(KeySetRequest(address)).get().status == 200)
            #expect(server.requests.last?.lowercased().contains("\r\nhost: localhost:\(server.port)\r\n") == true)
            #expect(await fetcher.fetch(KeySetRequest(address)) == .failure(.unreachable))
        }

        @Test func `needs certificates as authorities`() throws {
            #expect(throws: HTTPSKeySetFetcher.UnusableAuthorities()) {
                try HTTPSKeySetFetcher(PermittedAddresses(), authorities: Array("none".utf8))
            }
        }
    }
#endif
