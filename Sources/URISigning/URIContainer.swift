// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
package import EdgeTokens
internal import Encodings
package import RequestTargets

/// A rule for the position of a match of `regex:` in a URI. RFC 9246 does not define the position.
public enum URIPatternMatch: String, Hashable, Sendable, CaseIterable {
    /// The pattern matches the whole URI.
    case whole
    /// The pattern matches a beginning of the URI.
    case start
    /// The pattern matches anywhere in the URI.
    case search
}

/// The URIs that a token opens, as `cdniuc` has them (RFC 9246 §2.1.10).
package enum URIContainer: Sendable {
    /// The digest of one URI.
    case digest(MessageDigest, [UInt8])
    /// One URI, and no other: a pattern without operators.
    case exact([UInt8])
    /// All URIs with a beginning: a pattern that ends in `.*`.
    case prefix([UInt8])
    /// The URIs that a pattern matches.
    case pattern(Pattern)

    /// A container that opens nothing, and its code.
    package struct Fault: Error {
        package let code: GrantCode
    }

    /// Reads a container.
    init(_ text: Span<UInt8>, match: URIPatternMatch) throws(Fault) {
        if text.starts(with: "hash:", at: 0) {
            self = try .init(hash: text.extracting(5...))
        } else if text.starts(with: "regex:", at: 0) {
            let pattern = text.extracting(6...)
            if let simple = Self.simple(pattern) {
                self = simple
                return
            }
            do throws(Pattern.Fault) { self = .pattern(try Pattern(pattern, anchoring: match.anchoring)) } catch {
                throw Fault(code: error == .tooLarge ? .tooLarge : .claimUnsupported)
            }
        } else {
            throw Fault(code: .uriMismatch)
        }
    }

    /// Reads a digest in the form of RFC 6920 §5. Truncated digests are refused as too weak.
    private init(hash text: Span<UInt8>) throws(Fault) {
        let parts = String(copying: text).split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count == 2, let function = Self.functions.first(where: { $0.name == parts[0] })?.function,
            let digest = Base64.decodeURLSafe(String(parts[1])), digest.count == function.size
        else { throw Fault(code: .uriMismatch) }
        self = .digest(function, digest)
    }

    static let functions: [(name: Substring, function: MessageDigest)] = [
        ("sha-256", .sha256), ("sha-384", .sha384), ("sha-512", .sha512),
    ]

    /// Returns the container of a pattern `^…$` or `^….*$` whose rest is literal, as they are issued here; `nil` for
    /// any other. Such a pattern has the same meaning for any position of the match, and needs no engine.
    private static func simple(_ pattern: Span<UInt8>) -> URIContainer? {
        let end = pattern.count - 1
        guard 2...Pattern.maximumSize ~= pattern.count, pattern[0] == UInt8(ascii: "^"),
            pattern[end] == UInt8(ascii: "$")
        else { return nil }
        var literals: [UInt8] = []
        literals.reserveCapacity(pattern.count)
        var position = 1
        while position < end {
            let byte = pattern[position]
            switch byte {
            case UInt8(ascii: "\\"):
                guard position + 1 < end, 0x21..<0x7F ~= pattern[position + 1],
                    !pattern[position + 1].isASCIIAlphanumeric
                else {
                    return nil
                }
                literals.append(pattern[position + 1])
                position += 2
            case UInt8(ascii: "."):
                guard position + 2 == end, pattern[position + 1] == UInt8(ascii: "*") else { return nil }
                return .prefix(literals)
            case UInt8(ascii: "["), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"),
                UInt8(ascii: "?"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "^"), UInt8(ascii: "$"), 0:
                return nil
            default:
                literals.append(byte)
                position += 1
            }
        }
        return literals.isEmpty ? nil : .exact(literals)
    }

    /// True if a URI is one of the container; false also if its scheme, host or query is unknown.
    package func holds(_ uri: RequestURI) -> Bool {
        switch self {
        case .digest(let function, let digest):
            uri.absolute.map { function.isDigest(digest.span, of: $0.utf8.span) } ?? false
        case .exact(let text): uri.absoluteSize(agreeingWith: text.span) == text.count
        case .prefix(let text): uri.absoluteSize(agreeingWith: text.span) ?? -1 >= text.count
        case .pattern(let pattern): uri.absolute.map { pattern.isFound(in: $0.utf8.span) } ?? false
        }
    }
}

extension RequestURI {
    /// Returns the size of the whole URI if one of URI and `text` begins with the other. `nil` otherwise, or if the URI
    /// has unknown parts. The URI is not assembled for it.
    fileprivate func absoluteSize(agreeingWith text: Span<UInt8>) -> Int? {
        var position = 0
        let agrees = forEachPiece { piece in
            let count = min(piece.count, text.count - position)
            guard count > 0 else {
                position += piece.count
                return true
            }
            let isSame = piece.extracting(first: count).hasSameBytes(as: text.extracting(position..<position + count))
            position += piece.count
            return isSame
        }
        return agrees ? position : nil
    }
}

extension URIPatternMatch {
    fileprivate var anchoring: Pattern.Anchoring {
        switch self {
        case .whole: .whole
        case .start: .start
        case .search: .none
        }
    }
}

extension RequestURI {
    /// Calls `body` with the pieces of the whole URI in turn, until it returns false. Returns false if it did, or if scheme,
    /// host or query is unknown.
    package func forEachPiece(_ body: (Span<UInt8>) -> Bool) -> Bool {
        guard let scheme, let host, let query else { return false }
        guard body(scheme.start.utf8.span), body(host.utf8.span) else { return false }
        if let port, !hasDefaultPort {
            guard body(":\(port)".utf8.span) else { return false }
        }
        guard body(path.utf8.span) else { return false }
        return query.isEmpty || body("?".utf8.span) && body(query.utf8.span)
    }
}
