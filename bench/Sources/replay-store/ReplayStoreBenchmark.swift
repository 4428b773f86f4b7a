// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Foundation
import MediaTokens
import PlaybackGate
import ReplayStores

/// Measures the memory of a million live uses, and the time to record a use, to refuse one, and to record one while old ones
/// expire; the same of leases; and the time to look a tag up among 100,000 revocations.
///
/// `replay-store [--gate]`: with `--gate`, fails if a million uses or leases take more than 64 MB. Times are for information: the
/// look-up of a tag is beside one in a Swift `Set` of the same tags, and `bench/instructions` counts what it does.
@main
struct ReplayStoreBenchmark {
    static let count = 1_000_000

    static func main() async throws {
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
        let leases = measureLeases(of: first, at: time, until: end)
        try await measureLookUps(of: first.prefix(revocations), at: time, until: end)
        let faults = [
            memory > 64_000_000 ? "more than 64 MB for a million live uses" : nil,
            leases > 64_000_000 ? "more than 64 MB for a million leases" : nil,
        ].compactMap { $0 }
        guard CommandLine.arguments.contains("--gate"), !faults.isEmpty else { return }
        FileHandle.standardError.write(Data("replay-store: \(faults.joined(separator: "; "))\n".utf8))
        exit(1)
    }

    /// The number of revocations in the mirror.
    static let revocations = 100_000

    /// Measures a million leases of half as many viewers. Returns their memory in bytes.
    private static func measureLeases(of digests: [TokenFingerprint], at time: Timestamp, until end: Timestamp) -> Int {
        let wanted = digests.indices.map { number in
            let session = SessionID(number: UInt128(number) << 64 | UInt128(UInt64(number) &* 0x9E37_79B9_7F4A_7C15))
            return StreamLease(LeaseKey(digests[number / 2]), session: session, limit: 4, expires: end)
        }
        let store = MemoryReplayStore(capacity: 1, leaseCapacity: count)
        let before = residentMemory
        let taken = measure { wanted.count { store.acquireNow($0, at: time) == .taken } }
        let memory = residentMemory - before
        let renewed = measure { wanted.count { store.acquireNow($0, at: time) == .renewed } }
        let freed = measure { wanted.count { store.freeNow($0.session, at: time) } }
        guard taken.value == count, renewed.value == count, freed.value == count else {
            fatalError("taken \(taken.value), renewed \(renewed.value), freed \(freed.value) of \(count)")
        }
        print("memory of \(count) leases     \(memory / 1_000_000) MB, \(memory / count) bytes each")
        print("take a lease                 \(taken.nanoseconds) ns")
        print("renew a lease                \(renewed.nanoseconds) ns")
        print("free a lease                 \(freed.nanoseconds) ns")
        return memory
    }

    /// Measures look-ups of tags that are revoked, and of those that are not, beside those in a `Set`.
    private static func measureLookUps(
        of revoked: some Collection<TokenFingerprint>,
        at time: Timestamp,
        until end: Timestamp
    ) async throws {
        let key = try SubjectKey([UInt8](repeating: 7, count: 32))
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), RevocationCache { key.tag(storeKey: $0.bytes) })
        for digest in revoked { try await store.revoke(Revocation(.token(digest), expires: end), at: time) }
        try await revocationCache.refresh(from: store, at: time)
        guard revocationCache.count == revoked.count else {
            fatalError("\(revocationCache.count) of \(revoked.count) mirrored")
        }
        let listed = try await store.revocations(after: nil).records.compactMap { key.tag(storeKey: $0.key.bytes) }
        let present = (0..<count).map { listed[$0 % listed.count] }
        let absent = (0..<count).map { number in
            let (high, low) = (UInt64(number) &* 0x9E37_79B9_7F4A_7C15, UInt64(number) &* 0xD1B5_4A32_D192_ED03)
            return SubjectTag(number: UInt128(high) << 64 | UInt128(low))
        }
        let baseline = Set(listed)
        compare("look a revoked tag up", expected: present.count) {
            present.count { revocationCache.isRevoked($0, issued: time) }
        } with: {
            present.count { baseline.contains($0) }
        }
        compare("look another tag up", expected: 0) {
            absent.count { revocationCache.isRevoked($0, issued: time) }
        } with: {
            absent.count { baseline.contains($0) }
        }
    }

    /// Measures look-ups in the mirror, and the same in a `Set`, in turn, and prints the least times.
    private static func compare(
        _ name: String,
        expected: Int,
        lookUp: () -> Int,
        with baseline: () -> Int
    ) {
        var (own, other) = (Int.max, Int.max)
        for _ in 0..<7 {
            let (ours, theirs) = (measure(lookUp), measure(baseline))
            guard ours.value == expected, theirs.value == expected else {
                fatalError("\(ours.value) and \(theirs.value) found")
            }
            (own, other) = (min(own, ours.nanoseconds), min(other, theirs.nanoseconds))
        }
        let ratio = Double(own) / Double(max(1, other))
        let times = ratio.formatted(.number.precision(.fractionLength(2)))
        let title = name.padding(toLength: 28, withPad: " ", startingAt: 0)
        print("\(title) \(own) ns, among \(revocations); \(times) x a Set")
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
