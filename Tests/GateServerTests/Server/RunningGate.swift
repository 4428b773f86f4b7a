// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateServer
import GateTestSupport
import KeySources
import MediaTokens
import Platform
import Synchronization
import SystemPackage
import Testing

/// A gate that runs in this process during a test, on free ports and with a clock that the test sets.
final class RunningGate: Sendable {
    let folder: TemporaryFolder
    let api: String
    let admin: String
    /// The addresses for edges, in the order in which they began to listen.
    let edges: [String]
    /// The addresses of the listener for gRPC; empty if there is none.
    let grpcAddresses: [String]
    /// The address of the manifest listener; empty if there is none.
    let manifests: String
    /// The addresses for HAProxy's offload.
    let offloads: [String]
    private let clock: TestClock
    private let onTime = Mutex<(@Sendable (Timestamp) -> Void)?>(nil)

    /// Returns a configuration with the keys of ``GateSample/trusted`` and a small catalogue, followed by `more`.
    static func configuration(
        _ more: String = "replayStore: { advanced: { capacity: 1000 } }",
        catalogue: String = "",
        api: String = "  anonymous: true\n  hosts: [gate, g]\n"
    ) -> String {
        """
        requestor: REF30
        trust: { keys: [{ file: signer.pem }] }
        catalogue:
          entries:
            - { media: tnt, resource: TNT }
            - { media: tbs, resource: TBS }
            - { media: "a b/c", resource: TNT }
            - { media: trailer, protected: false }
            - { path: /live/tnt/, resource: TNT }
        \(catalogue)
        api:
          listen: 127.0.0.1:0
        \(api)
        admin: { listen: "127.0.0.1:0" }
        watch: false
        \(more)
        """
    }

    private init(folder: TemporaryFolder, _ addresses: [String: [String]], clock: TestClock) {
        self.folder = folder
        edges = addresses["edge"] ?? []
        offloads = addresses["spoe"] ?? []
        grpcAddresses = addresses["grpc"] ?? []
        manifests = addresses["manifest"]?.first ?? ""
        api = addresses["api"]?.first ?? ""
        admin = addresses["admin"]?.first ?? ""
        self.clock = clock
    }

    /// The address for edges, if there is one; empty if the configuration has no edge.
    var edge: String { edges.first ?? "" }

    /// The address for Envoy's checks over gRPC; empty if there is none.
    var grpc: String { grpcAddresses.first ?? "" }

    /// Runs a gate, and `body` on its own thread. `later` are files that change after the gate has read them. `links` are
    /// symbolic links to other files.
    static func with(
        _ configuration: String = configuration(),
        files: [String: String] = [:],
        later: [String: String] = [:],
        links: [String: String] = [:],
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        for (name, text) in files { try folder.write(name, contents: text) }
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(atPath: folder.file(name), withDestinationPath: target)
        }
        let file = try folder.write("gate.yaml", contents: configuration)
        let clock = TestClock()
        let server = try GateServer(configurationFile: file, at: clock.now)
        for (name, text) in later { try folder.write(name, contents: text) }
        let log = try FileDescriptor.open(
            FilePath(folder.file("log")),
            .writeOnly,
            options: [.create, .append],
            permissions: .ownerReadWrite
        )
        let (addresses, continuation) = AsyncStream.makeStream(of: (String, String).self)
        var environment = GateServer.ServiceEnvironment(
            log: log,
            clock: { clock.now },
            onListening: { continuation.yield(($0, $1)) }
        )
        environment.sleep = { await clock.sleep(milliseconds: $0) }
        // A machine that stood still is no fault of a store.
        environment.greatestRevocationAge = .seconds(86_400)
        environment.keySetFetcher = { ($0 as? HTTPSKeySetFetcher)?.withoutTimeLimits ?? $0 }
        // Tasks of a higher priority have threads of their own. Tests that block occupy those of the usual one, and would
        // hold up the gate.
        let task = Task(priority: .high) { [environment] in
            defer { continuation.finish() }
            do { try await server.run(environment) } catch  where Task.isCancelled {}
        }
        var known: [String: [String]] = [:]
        let summary = server.summary
        var missing =
            2 + summary.edges.count + summary.offloads.count + summary.grpc.count + summary.manifests.count
        for await (name, address) in addresses {
            known[name, default: []].append(address)
            missing -= 1
            if missing == 0 { break }
        }
        let gate = RunningGate(folder: folder, known, clock: clock)
        let outcome = await Result { try await onThread { try body(gate) } }
        task.cancel()
        _ = try await task.value
        // The log stays open: later tasks of the server may still write to it, and its descriptor must not be reused.
        try outcome.get()
    }

    var now: Timestamp {
        get { clock.now }
        set {
            clock.now = newValue
            onTime.withLock { $0 }?(newValue)
        }
    }

    /// Lets the gate's clock go as fast as those of the edges and players while `body` runs. A thread of its own does it:
    /// tests that block could hold up a task, and the clock would stand still.
    func inRealTime(_ body: () throws -> Void) rethrows {
        let (start, begin) = (now, ContinuousClock.now)
        let isOver = Atomic(false)
        let clock = Thread { [self] in
            while !isOver.load(ordering: .relaxed) {
                now = start.advanced(byMilliseconds: (ContinuousClock.now - begin).milliseconds)
                usleep(20_000)
            }
        }
        clock.start()
        defer { isOver.store(true, ordering: .relaxed) }
        try body()
    }

    /// Calls `body` with the time, now and whenever the test sets it.
    func followTime(_ body: @escaping @Sendable (Timestamp) -> Void) {
        onTime.withLock { $0 = body }
        body(now)
    }

    func connect() throws -> HTTPConnection { try HTTPConnection(api) }

    func post(_ path: String, body: String, headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("POST", path: path, headers: headers, body: body)
    }

    func get(_ path: String, headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("GET", path: path, headers: headers)
    }

    func admin(
        _ method: String,
        path: String,
        headers: [String: String] = ["X-Playgate-Request": "test"]
    ) throws -> HTTPConnection.Response {
        try HTTPConnection(admin).request(method, path: path, headers: headers, host: "localhost")
    }

    /// Requests a playback of `media` or of `path`.
    func play(
        _ media: String? = "tnt",
        path: String? = nil,
        token: String? = nil,
        playbackID: String? = nil,
        headers: [String: String] = [:]
    ) throws -> HTTPConnection.Response {
        var members: [JSON.Member] = []
        if let path {
            members.append(("path", .string(path)))
        } else if let media {
            members.append(("media", .string(media)))
        }
        if let token { members.append(("token", .string(token))) }
        if let playbackID { members.append(("playbackID", .string(playbackID))) }
        return try post("/v1/playback", body: JSON.object(members).line, headers: headers)
    }

    /// Creates a token that is issued now.
    func token(_ claims: TokenClaims = GateSample.claims()) throws -> String { try GateSample.token(claims, at: now) }

    /// Returns the value of a metric, by its name with its labels.
    func metric(_ name: String) throws -> Double? {
        let text = try admin("GET", path: "/metrics").body
        return text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            .flatMap { Double($0.dropFirst(name.utf8.count + 1)) }
    }

    /// Returns the log lines that contain `word`. The log is buffered for a moment.
    func log(_ word: String, count: Int = 1) throws -> [String] {
        let lines = { try self.folder.text("log").split(separator: "\n").filter { $0.contains(word) }.map(String.init) }
        _ = try eventually { try lines().count >= count }
        return try lines()
    }
}

extension Result where Failure == any Error {
    /// Creates the result of an asynchronous `body`.
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
