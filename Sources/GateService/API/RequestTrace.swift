// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What connects a request with its answer and its log line: the trace id of W3C Trace Context.
///
/// Source: W3C Trace Context, §3.2.
enum RequestTrace {
    /// The trace id that `traceparent` has; a new one where there is none, or a malformed one.
    static func id(traceparent: String?) -> String {
        if let traceparent, let id = parse(traceparent) { return id }
        let (high, low) = (UInt64.random(in: 1 ... .max), UInt64.random(in: .min ... .max))
        return hexadecimal(high) + hexadecimal(low)
    }

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
