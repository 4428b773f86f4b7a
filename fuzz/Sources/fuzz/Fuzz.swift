// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import CSecondOpinion
import Glibc

/// A target: what is done with one input of the fuzzer. It returns, whatever the bytes are; a trap, a memory fault and
/// `demand` end the process, and the fuzzer keeps the input.
struct Target: Sendable {
    let name: String
    let run: @Sendable (Input) -> Void
}

/// All targets, by name.
private let targets: [Target] = {
    var targets: [Target] = [
        .planted, .base64, .token, .claims, .envelope, .body, .fragment, .feed, .json, .path, .pattern, .time,
    ]
    #if SERVICE
        targets += [.configuration, .http, .target, .shown, .network]
    #endif
    return targets
}()

extension Target {
    /// A fault on purpose: found in seconds by following coverage, byte after byte, and never by chance. `scripts/fuzz`
    /// looks for it first, as a fuzzer that is blind finds nothing, and looks well.
    fileprivate static let planted = Target(name: "planted") { input in
        let name = Array("gate".utf8)
        var count = 0
        while count < name.count, count < input.rest.count, input.rest[count] == name[count] { count += 1 }
        demand(count < name.count, "the planted fault")
    }
}

/// The target that PLAYGATE_FUZZ_TARGET names. Without one, the names are listed.
private let chosen: Target = {
    let name = unsafe getenv("PLAYGATE_FUZZ_TARGET").map { unsafe String(cString: $0) }
    if let target = targets.first(where: { $0.name == name }) { return target }
    for target in targets { print(target.name) }
    exit(name == nil ? 0 : 64)
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    chosen.run(Input(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))))
    return 0
}

/// Ends the process where `condition` does not hold: a property is violated.
func demand(
    _ condition: @autoclosure () -> Bool,
    _ property: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if condition() { return }
    second_fail("\(file):\(line): \(property())")
}

/// The bytes of one run, taken apart from the front.
struct Input {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// All bytes that are left.
    var bytes: [UInt8] { Array(rest) }

    /// All bytes that are left as text; nil where they are not UTF-8.
    var text: String? { String(validating: rest, as: UTF8.self) }

    /// The next byte, 0 where there is none: which of several things to do.
    mutating func choice() -> UInt8 { rest.popFirst() ?? 0 }

    /// The bytes up to a line feed, which is taken too: inputs of several parts can be read and edited as text.
    mutating func line() -> [UInt8] {
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        defer { rest = rest[min(end + 1, rest.endIndex)...] }
        return Array(rest[..<end])
    }

    /// The bytes up to a zero byte, which is taken too.
    mutating func part() -> [UInt8] {
        let end = rest.firstIndex(of: 0) ?? rest.endIndex
        defer { rest = rest[min(end + 1, rest.endIndex)...] }
        return Array(rest[..<end])
    }
}

/// Numbers that depend on nothing but their seed: where to split an input.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Source: S. Vigna, <https://prng.di.unimi.it/splitmix64.c>.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

extension [UInt8] {
    /// These bytes as text for people.
    var shown: String { String(decoding: self, as: UTF8.self).debugDescription }
}
