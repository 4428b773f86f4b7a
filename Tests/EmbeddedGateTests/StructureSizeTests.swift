// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import GateTestSupport
import Platform
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate

/// Programs that were built with the first version of a header have structures that end before later members.
@Suite struct `Structures of the first version` {
    /// Memory that ends where a page begins that nobody may touch.
    private final class Guarded<Structure> {
        let pointer: UnsafeMutablePointer<Structure>
        private let pages: UnsafeMutableRawPointer
        private static var page: Int { 65_536 }

        /// Copies the first `size` bytes of a structure to the end of the memory.
        init(_ structure: Structure, size: Int) throws {
            let flags = MAP_PRIVATE | MAP_ANONYMOUS
            let mapped = mmap(nil, 2 * Self.page, PROT_READ | PROT_WRITE, flags, -1, 0)
            pages = try #require(mapped == MAP_FAILED ? nil : mapped)
            try #require(mprotect(pages + Self.page, Self.page, PROT_NONE) == 0)
            let start = pages + Self.page - size
            try withUnsafeBytes(of: structure) { bytes in
                start.copyMemory(from: try #require(bytes.baseAddress), byteCount: size)
            }
            pointer = start.assumingMemoryBound(to: Structure.self)
        }

        deinit { munmap(pages, 2 * Self.page) }
    }

    /// Calls `body` with a structure of the first version, whose first member is its size.
    private func withGuarded<Structure>(
        _ structure: Structure,
        size: Int,
        body: (UnsafeMutablePointer<Structure>) throws -> Void
    ) throws {
        let guarded = try Guarded(structure, size: size)
        UnsafeMutableRawPointer(guarded.pointer).storeBytes(of: UInt32(size), as: UInt32.self)
        try body(guarded.pointer)
    }

    private let memory = SliceMemory()

    private var request: playgate_request {
        var request = playgate_request()
        request.now = EmbeddedSample.time.millisecondsSince1970
        request.method = memory.slice("GET")
        request.target = memory.slice("/trailers/1.ts")
        request.host = memory.slice("cdn.example")
        return request
    }

    @Test func `a check reads a request, and writes an answer`() throws {
        let engine = try EngineUnderTest(try EmbeddedSample().document().json())
        try withGuarded(request, size: Int(PLAYGATE_REQUEST_SIZE_1)) { request in
            try withGuarded(playgate_answer(), size: Int(PLAYGATE_ANSWER_SIZE_1)) { answer in
                #expect(playgate_check(engine.engine, nil, request, answer) == PLAYGATE_OK)
                #expect(
                    answer.pointee.outcome == PLAYGATE_ALLOW && answer.pointee.size == UInt32(PLAYGATE_ANSWER_SIZE_1)
                )
            }
        }
    }

    @Test func `a cache looks up a request, and stores its answer`() throws {
        let cache = playgate_answer_cache_create(64, 0, nil)
        defer { playgate_answer_cache_free(cache) }
        try withGuarded(request, size: Int(PLAYGATE_REQUEST_SIZE_1)) { request in
            try withGuarded(playgate_answer(), size: Int(PLAYGATE_ANSWER_SIZE_1)) { answer in
                #expect(playgate_answer_cache_find(cache, 0, 1, request, answer) == 0)
                playgate_answer_cache_keep(cache, 0, request, answer)
            }
        }
    }

    @Test func `a request to the service is written, and an answer is read`() throws {
        try withGuarded(request, size: Int(PLAYGATE_REQUEST_SIZE_1)) { request in
            try withGuarded(playgate_subrequest(), size: Int(PLAYGATE_SUBREQUEST_SIZE_1)) { call in
                #expect(playgate_subrequest_make(Int32(PLAYGATE_FORWARD), request, call) == PLAYGATE_OK)
                #expect(call.pointee.field_count == 3)
            }
        }
        try withGuarded(playgate_answer(), size: Int(PLAYGATE_ANSWER_SIZE_1)) { answer in
            let none: playgate_header_values = { _, _, _, _ in 0 }
            #expect(playgate_subrequest_read(200, none, nil, answer) == PLAYGATE_E_INTERNAL)
            #expect(answer.pointee.outcome == PLAYGATE_REFUSE && answer.pointee.status == 503)
        }
    }

    @Test func `a location has rules, and a target is cut by rules`() throws {
        var location: OpaquePointer?
        try withGuarded(playgate_location_rules(), size: Int(PLAYGATE_LOCATION_RULES_SIZE_1)) { rules in
            #expect(playgate_location_create(rules, &location, nil) == PLAYGATE_OK)
        }
        playgate_location_release(location)
        try withGuarded(playgate_target_rules(), size: Int(PLAYGATE_TARGET_RULES_SIZE_1)) { rules in
            try withGuarded(playgate_cut(), size: Int(PLAYGATE_CUT_SIZE_1)) { cut in
                #expect(playgate_target_cut(rules, memory.slice("/a?b=c"), nil, 0, cut) == PLAYGATE_OK)
            }
        }
    }

    @Test(arguments: [Int(PLAYGATE_FOLLOWER_RULES_SIZE_1), Int(PLAYGATE_FOLLOWER_RULES_SIZE_2)])
    func `a follower and a source have rules`(size: Int) throws {
        #expect(playgate_no_more_forks() == PLAYGATE_OK)
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "policy.json",
            contents: String(decoding: try EmbeddedSample().document().json(), as: UTF8.self)
        )
        try file.withCString { path in
            var rules = playgate_follower_rules()
            rules.source = path
            try withGuarded(rules, size: size) { rules in
                var (follower, source): (OpaquePointer?, OpaquePointer?)
                #expect(playgate_follower_create(rules, &follower, nil) == PLAYGATE_OK)
                #expect(playgate_source_open(rules, &source, nil) == PLAYGATE_OK)
                #expect(playgate_follower_engine(follower) != nil && playgate_source_policy(source) != nil)
                playgate_follower_free(follower)
                playgate_source_close(source)
            }
        }
    }

    @Test func `smaller ones are refused`() throws {
        var (request, answer, call) = (self.request, playgate_answer(), playgate_subrequest())
        request.size = UInt32(PLAYGATE_REQUEST_SIZE_1) - 1
        answer.size = UInt32(PLAYGATE_ANSWER_SIZE_1)
        call.size = UInt32(PLAYGATE_SUBREQUEST_SIZE_1)
        let engine = try EngineUnderTest(try EmbeddedSample().document().json())
        #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_subrequest_make(Int32(PLAYGATE_RESOLVED), &request, &call) == PLAYGATE_E_ARGUMENT)
        answer.size -= 1
        #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_E_ARGUMENT)
    }
}
