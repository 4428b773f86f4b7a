// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CSecondOpinion
import Glibc

/// A fuzz target. Its closure returns for any input. A trap, a memory fault or a failed `demand` ends the process, and the
/// fuzzer keeps the input.
struct Target: Sendable {
    let name: String
    let run: @Sendable (Input) -> Void
}

/// All targets.
private let targets: [Target] = {
    var targets: [Target] = [
        .planted, .base64, .cbor, .cose, .keyset, .token, .claims, .envelope, .body, .fragment, .feed, .json, .path,
        .pattern, .time, .cat, .uri, .urisigning, .signed, .ere, .hls, .dash, .manifest, .embedded,
        .segment, .reports, .orders, .accessToken, .licence,
    ]
    #if SERVICE
        targets += [.configuration, .http, .target, .presented, .network, .spop]
    #endif
    return targets
}()

extension Target {
    /// A deliberate fault. Coverage guidance finds it byte after byte within seconds, and random inputs never do.
    /// `scripts/fuzz` looks for it first, because a fuzzer without coverage finds nothing and appears to succeed.
    fileprivate static let planted = Target(name: "planted") { input in
        let name = Array("gate".utf8)
        var count = 0
        while count < name.count, count < input.rest.count, input.rest[count] == name[count] { count += 1 }
        demand(count < name.count, or: "the planted fault")
    }
}

/// The target that PLAYGATE_FUZZ_TARGET names. Without a known name, the process lists the names and exits.
private let chosen: Target = {
    let name = unsafe getenv("PLAYGATE_FUZZ_TARGET").map { unsafe String(cString: $0) }
    if let target = targets.first(where: { $0.name == name }) { return target }
    for target in targets { print(target.name) }
    exit(name == nil ? 0 : 64)
}()

/// Runs the chosen target with one input of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    chosen.run(Input(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))))
    return 0
}

/// Ends the process if `condition` is false: a property is violated.
func demand(
    _ condition: @autoclosure () -> Bool,
    or property: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) {
    if condition() { return }
    second_fail("\(file):\(line): \(property())")
}

/// The input of one run, consumed from the front.
struct Input {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The remaining bytes.
    var bytes: [UInt8] { Array(rest) }

    /// The remaining bytes as text; `nil` if they are not UTF-8.
    var text: String? { String(validating: rest, as: UTF8.self) }

    /// Consumes the next byte, which selects between variants. Returns 0 at the end.
    mutating func choice() -> UInt8 { rest.popFirst() ?? 0 }

    /// Consumes and returns the bytes up to a line feed, which is dropped. Inputs of several parts can thus be read and
    /// edited as text.
    mutating func line() -> [UInt8] {
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        defer { rest = rest[min(end + 1, rest.endIndex)...] }
        return Array(rest[..<end])
    }

    /// Consumes and returns the bytes up to a zero byte, which is dropped.
    mutating func part() -> [UInt8] {
        let end = rest.firstIndex(of: 0) ?? rest.endIndex
        defer { rest = rest[min(end + 1, rest.endIndex)...] }
        return Array(rest[..<end])
    }
}

/// A generator whose numbers depend on its seed alone. It determines where an input is split.
///
/// The tests have the same one, but their targets are not visible to other packages, and a product of the main package would
/// reach its users.
///
/// Source: S. Vigna, <https://prng.di.unimi.it/splitmix64.c>.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

extension [UInt8] {
    /// These bytes as printable text, for messages.
    var debugText: String { String(decoding: self, as: UTF8.self).debugDescription }
}
