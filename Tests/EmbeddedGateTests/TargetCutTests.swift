// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import Testing

@testable import EmbeddedGate

@Suite("Tokens cut out of targets by the C interface")
struct TargetCutTests {
    /// The result of a cut: the target without tokens, the values with their rules, and the flags.
    private static func cut(
        _ target: String,
        capacity: Int = 4096
    ) -> (result: Int32, rest: String, found: [String], flags: UInt32) {
        let memory = SliceMemory()
        let (parameters, segments) = ([memory.slice("cat"), memory.slice("token")], [memory.slice("~cat=")])
        var buffer = [CChar](repeating: 0, count: capacity)
        var cut = playgate_cut()
        cut.size = UInt32(MemoryLayout<playgate_cut>.size)
        return parameters.withUnsafeBufferPointer { parameters in
            segments.withUnsafeBufferPointer { segments in
                var rules = playgate_target_rules()
                rules.size = UInt32(MemoryLayout<playgate_target_rules>.size)
                (rules.parameters, rules.parameter_count) = (parameters.baseAddress, UInt32(parameters.count))
                (rules.segments, rules.segment_count) = (segments.baseAddress, UInt32(segments.count))
                rules.package = memory.slice("URISigningPackage")
                let result = playgate_target_cut(&rules, memory.slice(target), &buffer, buffer.count, &cut)
                let found = withUnsafeBytes(of: cut.found) { list in
                    list.bindMemory(to: playgate_found.self).prefix(Int(cut.found_count))
                        .map { "\($0.rule):\($0.value.string)" }
                }
                return (result, cut.target.string, found, cut.flags)
            }
        }
    }

    @Test(
        "The rest is what the origin sees",
        arguments: [
            ("/live/1.ts?a=b", "/live/1.ts?a=b", []),
            ("/live/1.ts?cat=X&a=b&token=Y", "/live/1.ts?a=b", ["0:X", "1:Y"]),
            ("/~cat=X/live/1.ts", "/live/1.ts", ["2:X"]), ("/live/1.ts?cat=X", "/live/1.ts", ["0:X"]),
            ("/%7Ecat=X/live/1.ts", "/live/1.ts", ["2:X"]), ("/live/%7ecat=X/1.ts", "/live/1.ts", ["2:X"]),
            ("/live/1.ts?URISigningPackage=a.b.c", "/live/1.ts", ["3:a.b.c"]),
            ("/live/1.ts?cats=X", "/live/1.ts?cats=X", []),
        ]
    )
    func cuts(target: String, rest: String, found: [String]) {
        let cut = Self.cut(target)
        #expect(cut.result == PLAYGATE_OK)
        #expect(cut.rest == rest)
        #expect(cut.found == found)
        #expect(cut.flags == 0)
    }

    @Test("A path that can be read in two ways is ambiguous, and a target that is none an error")
    func ambiguous() {
        #expect(Self.cut("/~cat=X/../live/1.ts").flags == UInt32(PLAYGATE_REQUEST_AMBIGUOUS))
        #expect(Self.cut("/~c%61t=X/live/1.ts").flags == UInt32(PLAYGATE_REQUEST_AMBIGUOUS))
        for target in ["", "live", "/a b", "/a#b", "/" + String(repeating: "a", count: 25_000)] {
            #expect(Self.cut(target).result == PLAYGATE_E_ARGUMENT)
        }
        #expect(Self.cut("/live/1.ts?cat=X&a=b", capacity: 3).result == PLAYGATE_E_BUFFER)
        #expect(Self.cut("/a?" + String(repeating: "cat=X&", count: 17)).result == PLAYGATE_E_ARGUMENT)
    }
}
