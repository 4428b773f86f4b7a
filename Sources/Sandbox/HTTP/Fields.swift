// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The fields of a query or a form, in order.
struct Fields: Sendable {
    private var pairs: [(name: String, value: String, parts: [String])] = []

    /// The maximum number of fields.
    static let limit = 256

    /// Creates an empty list of fields.
    init() {}

    /// Parses `application/x-www-form-urlencoded` text: `a=1&b=c+d%21`.
    ///
    /// - Returns: `nil` if the text is malformed, is not UTF-8 or has too many fields.
    init?(_ text: some StringProtocol) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first?.formDecoded, let value = parts.count > 1 ? parts[1].formDecoded : "",
                pairs.count < Self.limit
            else { return nil }
            // If a value has literal commas, they separate items, and encoded commas belong to an item. Otherwise encoded
            // commas separate items, except in a fragment.
            let list: [String]
            if parts.count > 1, parts[1].contains(",") {
                list = parts[1].split(separator: ",").compactMap(\.formDecoded)
            } else {
                list = value.hasPrefix("<") ? [value] : value.split(separator: ",").map { String($0) }
            }
            pairs.append((name, value, list))
        }
    }

    /// Returns the first value of that name that is not empty.
    func first(_ name: String) -> String? { pairs.first { $0.name == name && !$0.value.isEmpty }?.value }

    /// Returns all values of that name that are not empty.
    func all(_ name: String) -> [String] { pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

    /// Returns all values of that name, with comma-separated values split.
    func list(_ name: String) -> [String] { pairs.filter { $0.name == name }.flatMap(\.parts) }

    /// All fields. The last field of each name counts.
    var values: [String: String] { Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
}

extension StringProtocol {
    /// This text with percent-encoding undone once and `+` as a space; `nil` if it is malformed or not UTF-8.
    fileprivate var formDecoded: String? {
        String(decoding: utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)[...]
            .percentDecoded
    }
}
