// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Synchronization
import Testing

@testable import KeySources

/// A fetcher that gives the answers of a test, in their order, and waits for more.
final class ScriptedFetcher: KeySetFetcher {
    private let answers: AsyncStream<Result<KeySetResponse, KeySetFault>>
    let continuation: AsyncStream<Result<KeySetResponse, KeySetFault>>.Continuation
    private let tags = Mutex<[String?]>([])

    init() { (answers, continuation) = AsyncStream.makeStream() }

    /// The entity tags of the requests.
    var requests: [String?] { tags.withLock { $0 } }

    func fetch(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault> {
        tags.withLock { $0.append(request.entityTag) }
        for await answer in answers { return answer }
        return .failure(.unreachable)
    }
}

@Suite struct `A source of keys` {
    private let clock = TestClock()
    private let fetcher = ScriptedFetcher()

    private func source(_ folder: String? = nil) throws -> KeySource {
        let address = try KeySetAddress("https://keys.example/jwks.json")
        let clock = clock
        return KeySource(
            .init(address, binding: SetSample.binding, folder: folder),
            fetcher: fetcher,
            clock: { clock.now },
            spread: { 0 }
        )
    }

    /// Runs a source, and `body` with the changes of its keys.
    private func run(
        _ source: KeySource,
        body: (inout AsyncStream<[String]>.Iterator) async throws -> Void
    ) async throws {
        let (changes, continuation) = AsyncStream.makeStream(of: [String].self)
        let task = Task {
            await source.run { continuation.yield(source.keys.compactMap { $0.id?.text }) }
        }
        var iterator = changes.makeAsyncIterator()
        try await body(&iterator)
        source.stop()
        fetcher.continuation.finish()
        await task.value
    }

    @Test func `fetches again for an unknown key, and tells of each change`() async throws {
        let source = try source()
        try await run(source) { changes in
            fetcher.continuation.yield(SetSample.answer("a", tag: "\"1\""))
            #expect(await changes.next() == ["a"])
            #expect(source.status(at: clock.now).age == .zero)
            #expect(source.ask(for: SetSample.id("b"), at: clock.now))
            #expect(source.ask(for: SetSample.id("b"), at: clock.now))
            fetcher.continuation.yield(SetSample.answer("a", "b"))
            #expect(await changes.next() == ["a", "b"])
            #expect(fetcher.requests == [nil, "\"1\""])
            #expect(source.status(at: clock.now).fetches == [.fetched: 2])
            #expect(!source.ask(for: SetSample.id("c"), at: clock.now))
        }
    }

    @Test func `stops while it waits`() async throws {
        let source = try source()
        try await run(source) { changes in
            fetcher.continuation.yield(SetSample.answer("a"))
            #expect(await changes.next() == ["a"])
        }
    }

    @Test func `writes a copy that outlives a restart`() async throws {
        let folder = try TemporaryFolder()
        let first = try source(folder.path)
        try await run(first) { changes in
            fetcher.continuation.yield(SetSample.answer("a", tag: "\"1\""))
            #expect(await changes.next() == ["a"])
            let name = KeySetCopy.name(first.configuration.address, issuer: "other-org")
            #expect(eventually { FileManager.default.fileExists(atPath: folder.file(name)) })
            let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        clock.advance(seconds: 86_399)
        #expect(try source(folder.path).keys.map(\.id) == [KeyID("a")])
        clock.advance(seconds: 1)
        #expect(try source(folder.path).keys.isEmpty)
        clock.advance(seconds: -86_401)
        #expect(try source(folder.path).keys.isEmpty)
    }

    @Test(arguments: [
        "", "{}", "[]", "{\"url\":\"https://keys.example/jwks.json\"}",
        "{\"url\":\"https://other.example/\",\"confirmed\":0,\"etag\":null,\"set\":\"AAAA\"}",
        "{\"url\":\"https://keys.example/jwks.json\",\"confirmed\":1925000000000,\"etag\":null,\"set\":\"e30\"}",
    ])
    func `uses no copy that is damaged`(text: String) throws {
        let folder = try TemporaryFolder()
        let address = try KeySetAddress("https://keys.example/jwks.json")
        try folder.write(KeySetCopy.name(address, issuer: "other-org"), contents: text)
        #expect(try source(folder.path).keys.isEmpty)
    }

    @Test(arguments: [
        ("https://keys.example/jwks.json", "https://keys.example/jwks.json"),
        ("https://KEYS.example:8443?a=b", "https://keys.example:8443/?a=b"),
        ("http://127.0.0.1:80/", "http://127.0.0.1:80/"),
        ("http://[::1]/a", "http://[::1]/a"), ("https://[2001:db8::1]/a", "https://[2001:db8::1]/a"),
    ])
    func `has an address`(text: String, url: String) throws {
        #expect(try KeySetAddress(text).url == url)
    }

    @Test(arguments: [
        ("http://keys.example/", KeySetAddressError.notHTTPS), ("ftp://keys.example/", .notHTTPS), ("", .notHTTPS),
        ("http://127.0.0.1.example/", .notHTTPS), ("https://", .malformed), ("https://a@b.example/", .malformed),
        ("https://a.example/#x", .malformed), ("https://a.example:0/", .malformed),
        ("https://a.example:99999/", .malformed),
        ("https://a.example/ b", .malformed), ("https://ä.example/", .malformed), ("https://a.example\\b", .malformed),
        ("https://a.example/" + String(repeating: "a", count: 2048), .malformed),
    ])
    func `has no other address`(text: String, error: KeySetAddressError) {
        #expect(throws: error) { try KeySetAddress(text) }
    }

    @Test func `reaches public addresses, and permitted networks`() throws {
        let usual = try PermittedAddresses()
        let wide = try PermittedAddresses(["10.1.0.0/16", "::1"])
        for address in ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"] { #expect(usual.permit(address)) }
        for address in [
            "0.0.0.0", "10.1.2.3", "127.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
            "192.168.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fe80::1",
            "ff02::1", "2002:a00:1::", "2001::1", "64:ff9b::a00:1", "::ffff:10.0.0.1", "::10.0.0.1", "fe80::1%eth0",
            "", "localhost", "1",
        ] {
            #expect(!usual.permit(address), "\(address)")
        }
        #expect(wide.permit("10.1.2.3") && wide.permit("::1") && !wide.permit("10.2.0.1") && !wide.permit("127.0.0.1"))
        #expect(throws: PermittedAddresses.NotANetwork.self) { try PermittedAddresses(["10.0.0.0/33"]) }
    }
}
