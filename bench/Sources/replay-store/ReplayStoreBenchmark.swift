// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaTokens
import PlaybackGate

/// Measures the memory of a million live uses, and the time to record a use, to refuse one, and to record one while old ones
/// expire.
///
/// `replay-store [--gate]`: with `--gate`, fails if a million uses take more than 64 MB.
@main
struct ReplayStoreBenchmark {
    static let count = 1_000_000

    static func main() throws {
        let time = Timestamp(millisecondsSince1970: 1_925_114_645_000)
        let end = Timestamp(millisecondsSince1970: time.millisecondsSince1970 + 420_000)
        let later = Timestamp(millisecondsSince1970: end.millisecondsSince1970 + 2000)
        // The store allocates all memory at once. It is created first, so that it cannot reuse freed memory.
        let before = residentMemory
        let store = MemoryReplayStore(capacity: count)
        let memory = residentMemory - before
        let first = fingerprints(0..<count)
        let second = fingerprints(count..<2 * count)
        let recorded = measure { first.count { store.recordNow($0, forgettable: end, at: time) == .recorded } }
        let refused = measure { first.count { store.recordNow($0, forgettable: end, at: time) == .usedUp } }
        let renewed = measure { second.count { store.recordNow($0, forgettable: later, at: later) == .recorded } }
        guard recorded.value == count, refused.value == count, renewed.value == count else {
            fatalError("recorded \(recorded.value), refused \(refused.value), renewed \(renewed.value) of \(count)")
        }
        print("memory of \(count) live uses  \(memory / 1_000_000) MB, \(memory / count) bytes each")
        print("record a use                 \(recorded.nanoseconds) ns")
        print("refuse a used token          \(refused.nanoseconds) ns")
        print("record where old ones leave  \(renewed.nanoseconds) ns")
        if CommandLine.arguments.contains("--gate"), memory > 64_000_000 {
            FileHandle.standardError.write(Data("replay-store: more than 64 MB for a million live uses\n".utf8))
            exit(1)
        }
    }

    private static func fingerprints(_ range: Range<Int>) -> [TokenFingerprint] {
        var random = SystemRandomNumberGenerator()
        return range.compactMap { number in
            let parts = (0..<3).map { _ in digits(UInt64.random(in: .min ... .max, using: &random)) }
            return TokenFingerprint(hexadecimal: parts.joined() + digits(UInt64(number)))
        }
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func measure(_ body: () -> Int) -> (value: Int, nanoseconds: Int) {
        let start = ContinuousClock.now
        let value = body()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return (value, (Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)) / count)
    }

    private static var residentMemory: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
    }
}
