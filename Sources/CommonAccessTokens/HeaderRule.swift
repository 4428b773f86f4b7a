// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings

/// The rules for header fields in `cath`.
enum HeaderRule {
    /// Returns true for the name of a field that an edge may change or add, and that a token must not restrict.
    static func isUnreliable(_ name: Span<UInt8>) -> Bool {
        var lower: [64 of UInt8] = .init(repeating: 0)
        guard name.count <= 64 else { return true }
        for index in name.indices { lower[index] = name[index].lowercasedASCII }
        let name = lower.span.extracting(first: name.count)
        for prefix in prefixes where name.contains(prefix.utf8.span, at: 0) { return true }
        for other in names where name.hasSameBytes(as: other.utf8.span) { return true }
        return false
    }

    private static let prefixes = ["x-forwarded-", "x-original-", "x-playgate-", "proxy-"]
    private static let names = [
        "cookie", "host", "forwarded", "via", "cta-common-access-token", "common-access-token", "authorization", "dpop",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "x-real-ip",
        "x-envoy-external-address",
    ]

    /// Returns the value of a field with several lines: joined, and without blanks around it.
    static func value(_ lines: [Substring]) -> Substring {
        let value = lines.count == 1 ? lines[0] : lines.joined(separator: ", ")[...]
        let bytes = value.utf8
        guard let first = bytes.first, let last = bytes.last, first.isBlank || last.isBlank else { return value }
        return Substring(bytes.drop { $0.isBlank }.trimmingSuffixOfBlanks)
    }
}

extension CATClaims.HeaderFieldRule {
    /// The longest value that is written into a token unchanged. A longer one is compared by its digest.
    private static let longestValue = 256

    /// True if tokens can restrict fields with this name.
    package static func isReliable(_ name: String) -> Bool {
        let bytes = [UInt8](name.utf8)
        return !HeaderRule.isUnreliable(bytes.span)
    }

    /// Creates a rule for the value that a field has in a request; `nil` if the request has no such value.
    ///
    /// - Parameter lines: The lines of the field.
    package init?(_ name: String, binding lines: [Substring]) {
        let value = HeaderRule.value(lines)
        guard !value.isEmpty else { return nil }
        let isShort = value.utf8.count <= Self.longestValue
        self.init(name, match: isShort ? .exact(String(value)) : .sha256(SHA256.digest([UInt8](value.utf8))))
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x9 }
}

extension Substring.UTF8View {
    fileprivate var trimmingSuffixOfBlanks: Substring.UTF8View {
        var rest = self
        while let last = rest.last, last.isBlank { rest.removeLast() }
        return rest
    }
}
