// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import Foundation
import GateTestSupport
import Platform
import Synchronization
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

@Suite("Following a policy")
struct FollowTests {
    private typealias Reply = ScriptedService.Reply

    /// The messages of a follower.
    private final class Log: Sendable {
        let lines = Mutex([String]())

        var errors: [String] { lines.withLock { $0.filter { $0.hasPrefix("error ") } } }
        var notices: Int { lines.withLock { $0.filter { $0.hasPrefix("notice ") }.count } }
    }

    /// A follower that runs on a thread of its own until the value ends.
    private final class Follower: @unchecked Sendable {
        let follower: OpaquePointer
        let log: Log
        private let ended = DispatchSemaphore(value: 0)

        init(_ source: String, key: String? = nil, log: Log = Log()) throws {
            self.log = log
            let (result, made, error) = Self.create(source, key: key, log: log)
            try #require(result == PLAYGATE_OK, "\(error.sentence)")
            follower = try #require(made)
            Thread.detachNewThread { [ended, made = UInt(bitPattern: follower)] in
                #expect(playgate_follower_run(OpaquePointer(bitPattern: made)) == PLAYGATE_OK)
                ended.signal()
            }
        }

        deinit {
            playgate_follower_stop(follower)
            ended.wait()
            playgate_follower_free(follower)
        }

        /// Creates a follower. It is null if it fails.
        static func create(
            _ source: String,
            key: String? = nil,
            log: Log = Log()
        ) -> (result: Int32, follower: OpaquePointer?, error: playgate_error) {
            #expect(playgate_no_more_forks() == PLAYGATE_OK)
            return source.withCString { source in
                var rules = playgate_follower_rules()
                rules.size = UInt32(MemoryLayout<playgate_follower_rules>.size)
                rules.source = source
                rules.log = { context, level, message in
                    guard let context, let message else { return }
                    let log = Unmanaged<Log>.fromOpaque(context).takeUnretainedValue()
                    let name = level == PLAYGATE_LOG_ERROR ? "error" : "notice"
                    log.lines.withLock { $0.append("\(name) \(String(cString: message))") }
                }
                rules.log_context = Unmanaged.passUnretained(log).toOpaque()
                var (made, error): (OpaquePointer?, playgate_error) = (nil, playgate_error())
                guard let key else { return (playgate_follower_create(&rules, &made, &error), made, error) }
                return key.withCString {
                    rules.key_file = $0
                    return (playgate_follower_create(&rules, &made, &error), made, error)
                }
            }
        }

        var engine: OpaquePointer? { playgate_follower_engine(follower) }
        var generation: UInt64 { playgate_engine_generation(engine) }
    }

    /// A policy, which is newer for a greater number.
    private static func document(_ number: Int64 = 0) throws -> String {
        let time = EmbeddedSample.time.adding(seconds: number)
        return String(decoding: try EmbeddedSample().document(at: time).json(), as: UTF8.self)
    }

    @Test("A file that is replaced comes into force; one with a fault does not, and is told once")
    func file() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let path = try folder.write("policy.json", contents: try Self.document())
            let follower = try Follower(path)
            let engine = try #require(follower.engine)
            let first = follower.generation
            try replace(folder, with: "{\n\"version\": ?")
            #expect(eventually { !follower.log.errors.isEmpty })
            let report = try #require(follower.log.errors.first)
            #expect(report.contains("policy.json stays as it was: it is invalid: ") && report.contains("in line 2"))
            #expect(follower.generation == first)
            try replace(folder, with: try Self.document(1))
            #expect(eventually { follower.log.notices == 2 })
            #expect(follower.generation != first && follower.engine == engine && follower.log.errors.count == 1)
            // An older one is a replay.
            try replace(folder, with: try Self.document())
            #expect(eventually { follower.log.errors.count == 2 })
            try FileManager.default.removeItem(atPath: path)
            #expect(eventually { follower.log.errors.count == 3 })
            #expect(follower.log.errors[2].contains("cannot be found") && follower.engine == engine)
        }
    }

    @Test("A service is asked with its key for what has changed, and confirms what has not")
    func service() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let documents = try (0..<2).map { try Self.document(Int64($0)) }
            let service = try ScriptedService(at: folder.file("api.sock")) { _, index in
                switch index {
                case 0: Reply(status: 200, fields: ["etag: \"a\""], body: documents[0])
                case 1: Reply(status: 304, fields: ["etag: \"a\""])
                case 2: Reply(status: 200, fields: ["etag: \"b\""], body: documents[1])
                default: .nothing
                }
            }
            let key = try folder.write("playgate.key", contents: "k-1\n")
            let follower = try Follower("unix:\(folder.file("api.sock"))", key: key)
            let first = follower.generation
            let fresh = playgate_engine_fresh_until(follower.engine)
            #expect(first != 0)
            #expect(eventually { service.requests.count == 4 })
            #expect(playgate_engine_fresh_until(follower.engine) != fresh && follower.generation != first)
            let authorization = "Authorization: Bearer k-1\r\n"
            #expect(service.requests.allSatisfy { $0.contains(authorization) })
            #expect(
                service.requests[0].hasPrefix("GET /v1/policy HTTP/1.1\r\n") && !service.requests[0].contains("If-None")
            )
            #expect(service.requests[1].hasPrefix("GET /v1/policy?wait=10 "))
            #expect(service.requests[1].contains("If-None-Match: \"a\"\r\n"))
            #expect(service.requests[3].contains("If-None-Match: \"b\"\r\n") && follower.log.errors.isEmpty)
        }
    }

    @Test("A service that comes later has its policy taken; its faults change nothing")
    func laterService() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let document = try Self.document()
            let follower = try Follower("unix:\(folder.file("api.sock"))")
            #expect(follower.engine == nil && playgate_engine_generation(follower.engine) == 0)
            let service = try ScriptedService(at: folder.file("api.sock")) { _, index in
                switch index {
                case 0: Reply(status: 401, body: "{}")
                case 1: .end
                case 2: Reply(status: 304)
                case 3: Reply(status: 200, body: "{}")
                case 4: Reply(status: 200, body: document)
                default: .nothing
                }
            }
            #expect(eventually { follower.engine != nil })
            #expect(service.requests.count >= 5)
            let errors = follower.log.errors
            #expect(errors.contains { $0.hasSuffix("the service has answered: 401") })
            #expect(errors.contains { $0.hasSuffix("the service has not answered") })
            #expect(errors.contains { $0.contains("it is invalid") && $0.contains("in line 1") })
        }
    }

    @Test("Bad sources are errors that say why")
    func badSources() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let good = try folder.write("policy.json", contents: try Self.document())
            let bad = try folder.write("bad.json", contents: "{\n\n  \"version\": true }")
            for (source, key, result, sentence) in [
                (folder.file("none.json"), nil, PLAYGATE_E_ARGUMENT, "cannot be read: No such file"),
                (folder.path, nil, PLAYGATE_E_ARGUMENT, "cannot be read: Invalid argument"),
                ("", nil, PLAYGATE_E_ARGUMENT, "no path"), ("unix:", nil, PLAYGATE_E_ARGUMENT, "no path"),
                ("unix:/" + String(repeating: "a", count: 104), nil, PLAYGATE_E_ARGUMENT, "too long"),
                (good, good, PLAYGATE_E_ARGUMENT, "a key is for unix:PATH"),
                ("unix:\(folder.file("api.sock"))", folder.file("none"), PLAYGATE_E_ARGUMENT, "key cannot be read"),
                ("unix:\(folder.file("api.sock"))", good, PLAYGATE_E_ARGUMENT, "key cannot be read"),
            ] as [(String, String?, Int, String)] {
                let made = Follower.create(source, key: key)
                #expect(made.result == Int32(result) && made.follower == nil, "\(source)")
                #expect(made.error.sentence.contains(sentence), "\(source): \(made.error.sentence)")
            }
            let made = Follower.create(bad)
            #expect(made.result == PLAYGATE_E_VERSION || made.result == PLAYGATE_E_POLICY)
            #expect(made.error.line == 3 && made.follower == nil)
            var none: OpaquePointer?
            #expect(playgate_follower_create(nil, &none, nil) == PLAYGATE_E_ARGUMENT && none == nil)
            #expect(playgate_follower_run(nil) == PLAYGATE_E_ARGUMENT && playgate_follower_engine(nil) == nil)
            playgate_follower_stop(nil)
            playgate_follower_free(nil)
        }
    }

    private func replace(_ folder: TemporaryFolder, with text: String) throws {
        let other = try folder.write("next.json", contents: text)
        guard rename(other, folder.file("policy.json")) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
