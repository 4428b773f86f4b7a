// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

extension Duration {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Parses a whole number and `ms`, `s`, `m`, `h` or `d`; `nil` for any other text.
    package init?(text: String) {
        for (suffix, factor) in Self.units where text.hasSuffix(suffix) {
            let digits = text.dropLast(suffix.count)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                let value = Int64(digits)
            else { continue }
            let (product, overflow) = value.multipliedReportingOverflow(by: factor)
            guard !overflow else { return nil }
            self = .milliseconds(product)
            return
        }
        return nil
    }

    /// This duration in the largest unit up to hours that leaves a whole number: `7m`, `90s`.
    package var text: String {
        guard milliseconds > 0 else { return "0s" }
        for (suffix, factor) in Self.units.dropLast().reversed() where milliseconds % factor == 0 {
            return "\(milliseconds / factor)\(suffix)"
        }
        return "\(milliseconds)ms"
    }
}
