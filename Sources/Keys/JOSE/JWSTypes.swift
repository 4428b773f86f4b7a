// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The types (`typ`) of tokens that a recipient accepts, so that no token of another purpose passes for one (RFC 8725 §3.11).
///
/// A type is a media type, compared without case. The prefix `application/` may be left out (RFC 7515 §4.1.9).
public struct JWSTypes: Hashable, Sendable {
    /// True if a header without a type is accepted.
    public let permitsNone: Bool
    /// The accepted types in lower case, with and without the prefix.
    private let spellings: [[UInt8]]

    /// The type of access tokens (RFC 9068 §2.1).
    public static let accessTokens = JWSTypes(["at+jwt"])

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - names: The accepted types, such as `at+jwt`.
    ///   - permitsNone: True to accept a header without a type.
    public init(_ names: [String], permitsNone: Bool = false) {
        self.permitsNone = permitsNone
        let prefix = "application/"
        spellings = names.flatMap { name in
            let name = name.lowercased()
            let short = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
            return [[UInt8](short.utf8), [UInt8]((prefix + short).utf8)]
        }
    }

    /// True if the type of a decoded header is accepted.
    func permit(_ type: JOSEHeader.TokenType, in header: Span<UInt8>) -> Bool {
        switch type {
        case .none: return permitsNone
        case .escaped: return false
        case .range(let range):
            let written = header.extracting(range)
            for index in spellings.indices {
                let spelling = spellings[index]
                if written.isSpelt(spelling.span) { return true }
            }
            return false
        }
    }
}

extension Span where Element == UInt8 {
    /// True if the text is `name`, which is in lower case, in any case.
    fileprivate func isSpelt(_ name: Span<UInt8>) -> Bool {
        guard count == name.count else { return false }
        for index in indices where self[index].lowercasedASCII != name[index] { return false }
        return true
    }
}
