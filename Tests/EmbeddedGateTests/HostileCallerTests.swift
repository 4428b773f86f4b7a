// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import GateTestSupport
import Platform
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

@Suite("Hostile arguments of the C interface")
struct HostileCallerTests {
    @Test("Null, empty and huge arguments are errors, and refuse")
    func nulls() throws {
        let engine = try EngineUnderTest(try EmbeddedSample().document().json())
        #expect(playgate_check(nil, nil, nil, nil) == PLAYGATE_E_ARGUMENT)
        var answer = playgate_answer()
        var request = playgate_request()
        #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_E_ARGUMENT)
        answer.size = UInt32(MemoryLayout<playgate_answer>.size)
        answer.outcome = Int32(PLAYGATE_ALLOW)
        #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_E_ARGUMENT)
        #expect(answer.outcome == PLAYGATE_REFUSE)
        request.size = UInt32(MemoryLayout<playgate_request>.size)
        // An empty request is no error of the caller's, and is refused.
        #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_OK)
        #expect(answer.outcome == PLAYGATE_REFUSE)
        #expect(playgate_code_name(answer.code).map { String(cString: $0) } == "edge_request_invalid")
        let changes: [(inout playgate_request) -> Void] = [
            { $0.target = playgate_slice(bytes: nil, length: 5) },
            { $0.host = playgate_slice(bytes: nil, length: .max) },
            { $0.token_count = 1 }, { $0.grant_count = .max }, { $0.header_count = .max }, { $0.now = .min },
            { $0.now = .max }, { $0.now = -1 }, { $0.size = 8 },
        ]
        for change in changes {
            var broken = request
            change(&broken)
            answer.outcome = Int32(PLAYGATE_ALLOW)
            #expect(playgate_check(engine.engine, nil, &broken, &answer) == PLAYGATE_E_ARGUMENT)
            #expect(answer.outcome == PLAYGATE_REFUSE)
            #expect(answer.status == 403)
        }
    }

    @Test("Handles may be null")
    func nullHandles() {
        playgate_policy_release(nil)
        playgate_location_release(nil)
        playgate_engine_release(nil)
        #expect(playgate_policy_retain(nil) == nil)
        #expect(playgate_engine_retain(nil) == nil)
        #expect(playgate_policy_issued(nil) == 0)
        #expect(playgate_engine_generation(nil) == 0)
        #expect(playgate_engine_fresh_until(nil) == 0)
        #expect(playgate_policy_open(nil, 0, 0, nil, nil) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_engine_create(nil, nil, nil) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_location_create(nil, nil, nil) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_code_name(0) == nil)
        #expect(playgate_code_name(.min) == nil)
        #expect(playgate_code_number(playgate_slice(bytes: nil, length: 9)) == 0)
        #expect(playgate_target_cut(nil, playgate_slice(), nil, 0, nil) == PLAYGATE_E_ARGUMENT)
    }

    @Test("Counts and lengths that no memory has are refused", arguments: [Int.min, -1, 65, 4097, Int.max])
    func counts(_ count: Int) throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let memory = SliceMemory()
        let changes: [(inout playgate_request) -> Void] = [
            { ($0.tokens, $0.token_count) = (memory.list(memory.slice("x")), count) },
            { ($0.grants, $0.grant_count) = (memory.list(memory.slice("x")), count) },
            { $0.header_count = count < 0 ? count : max(count, 4097) },
            { $0.target.length = min(count, -1) }, { $0.host.length = min(count, -1) },
            { request in
                let slice = playgate_slice(bytes: request.method.bytes, length: min(count, -1))
                (request.grants, request.grant_count) = (memory.list(slice), 1)
            },
        ]
        for (number, change) in changes.enumerated() {
            var request = playgate_request()
            request.size = UInt32(MemoryLayout<playgate_request>.size)
            request.now = EmbeddedSample.time.millisecondsSince1970
            request.method = memory.slice("GET")
            request.target = memory.slice("/live/tnt/1.ts")
            request.host = memory.slice("cdn.example")
            change(&request)
            var answer = playgate_answer()
            answer.size = UInt32(MemoryLayout<playgate_answer>.size)
            #expect(playgate_check(engine.engine, nil, &request, &answer) == PLAYGATE_E_ARGUMENT, "\(number)")
            #expect(answer.outcome == PLAYGATE_REFUSE, "\(number)")
        }
    }

    @Test("Bytes that are no UTF-8, and zeros, are refused like everything else that is no token")
    func bytes() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let memory = SliceMemory()
        var random = SplitMix64(seed: 7)
        for round in 0..<2000 {
            let bytes = (0..<(round % 300)).map { _ in UInt8.random(in: 0...255, using: &random) }
            var request = playgate_request()
            request.size = UInt32(MemoryLayout<playgate_request>.size)
            request.now = EmbeddedSample.time.millisecondsSince1970
            request.method = memory.slice("GET")
            request.target = memory.slice("/live/tnt/1.ts")
            request.host = memory.slice("cdn.example")
            let slice = memory.slice(bytes)
            switch round % 7 {
            case 0: request.target = slice
            case 1: request.host = slice
            case 2: request.method = slice
            case 3: request.scheme = slice
            case 4: request.client = slice
            case 5: request.traceparent = slice
            default: request.countries = slice
            }
            var answer = playgate_answer()
            answer.size = UInt32(MemoryLayout<playgate_answer>.size)
            let result = withUnsafePointer(to: slice) { credential in
                (request.tokens, request.token_count) = (credential, 1)
                (request.grants, request.grant_count) = (credential, 1)
                return playgate_check(engine.engine, nil, &request, &answer)
            }
            #expect(result == PLAYGATE_OK)
            #expect(answer.outcome == PLAYGATE_REFUSE)
        }
    }
}
