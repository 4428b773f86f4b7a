// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// What connects a request with its answer and its log line: the trace id of W3C Trace Context.
///
/// Source: W3C Trace Context, §3.2.
enum RequestTrace {
    /// The trace id that `traceparent` has; a new one where there is none, or a malformed one.
    static func id(traceparent: String?) -> String {
        if let traceparent, let id = parse(traceparent) { return id }
        // Trace ids must differ, and need not be hard to guess: one random number a process, and a count that is spread
        // over all bits. The system's generator is a system call for each number.
        let count = made.add(1, ordering: .relaxed).newValue
        return hexadecimal(process) + hexadecimal(count &* 0x9E37_79B9_7F4A_7C15 ^ process)
    }

    private static let process = UInt64.random(in: 1 ... .max)
    private static let made = Atomic<UInt64>(0)

    /// `VERSION-TRACE-PARENT-FLAGS`, of 2, 32, 16 and 2 lower-case hexadecimal digits; later versions may have more.
    private static func parse(_ text: String) -> String? {
        let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].utf8.count == 2, parts[1].utf8.count == 32, parts[2].utf8.count == 16,
            parts[3].utf8.count == 2, parts[..<4].allSatisfy({ $0.utf8.allSatisfy { $0.isLowercaseHexadecimal } }),
            parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            parts[1].utf8.contains(where: { $0 != UInt8(ascii: "0") }),
            parts[2].utf8.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        return String(parts[1])
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension UInt8 {
    fileprivate var isLowercaseHexadecimal: Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= self || UInt8(ascii: "a")...UInt8(ascii: "f") ~= self
    }
}
