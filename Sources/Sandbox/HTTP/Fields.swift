// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The fields of a query or a form, in their order.
struct Fields: Sendable {
    private var pairs: [(name: String, value: String, parts: [String])] = []

    /// How many fields there may be.
    static let limit = 256

    /// No fields.
    init() {}

    /// Reads `application/x-www-form-urlencoded` text: `a=1&b=c+d%21`.
    ///
    /// - Returns: Nil where it is malformed, no UTF-8, or of too many fields.
    init?(_ text: some StringProtocol) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first?.formDecoded, let value = parts.count > 1 ? parts[1].formDecoded : "",
                pairs.count < Self.limit
            else { return nil }
            // Where commas stand as they are, those that are encoded are of a value; else they may be encoded as all is.
            let list: [String]
            if parts.count > 1, parts[1].contains(",") {
                list = parts[1].split(separator: ",").compactMap(\.formDecoded)
            } else {
                list = value.hasPrefix("<") ? [value] : value.split(separator: ",").map { String($0) }
            }
            pairs.append((name, value, list))
        }
    }

    /// The first value of that name that is not empty.
    func first(_ name: String) -> String? { pairs.first { $0.name == name && !$0.value.isEmpty }?.value }

    /// All values of that name that are not empty.
    func all(_ name: String) -> [String] { pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

    /// All values of that name, where one field may have several with commas between them.
    func list(_ name: String) -> [String] { pairs.filter { $0.name == name }.flatMap(\.parts) }

    /// All fields but those of these names, the last of each name.
    func others(than names: Set<String>) -> [String: String] {
        Dictionary(
            pairs.filter { !names.contains($0.name) }.map { ($0.name, $0.value) },
            uniquingKeysWith: { $1 }
        )
    }
}

extension StringProtocol {
    /// This text with percent-encoding undone once; nil where that is malformed or is no UTF-8 then.
    var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next()?.hexadecimalDigit, let low = rest.next()?.hexadecimalDigit else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// As ``percentDecoded``, and `+` for spaces.
    fileprivate var formDecoded: String? {
        String(decoding: utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self).percentDecoded
    }
}
