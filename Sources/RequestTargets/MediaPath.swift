// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A stream path in canonical form: percent-decoded once, without empty and dot segments.
///
/// An encoded slash stays `%2F`, as a part of its segment (RFC 3986 §2.2). A server that decodes slashes first may read
/// the path as another entry's. The catalogue refuses such a path, unless the entry's pattern has `%2F` too.
///
/// A path that an origin may interpret differently from the gate is rejected. Otherwise the rules of an unprotected file
/// could give access to a protected one.
///
/// Source: RFC 3986 §5.2.4 and §6.2.2; accepts a subset.
public struct MediaPath: Hashable, Sendable {
    /// The path, with its leading `/`.
    public var text: String { String(characters) }

    /// The path. It shares the storage of the requested text if that is already canonical.
    package let characters: Substring
    /// True if there is an encoded slash.
    package let hasEncodedSlash: Bool

    /// The maximum size of a path as requested, with its query, in bytes.
    public static let maximumSize = URIPath.maximumSize

    /// Parses a path as it was requested.
    ///
    /// A query is removed. One level of percent-encoding is decoded, `//` counts as `/`, and dot segments are resolved.
    ///
    /// - Parameter requested: At most ``maximumSize`` bytes, beginning with `/`.
    /// - Throws: ``MediaPathError``.
    public init(_ requested: String) throws(MediaPathError) { try self.init(requested[...]) }

    /// Parses a path as it was requested. A canonical slice of a larger text is not copied.
    ///
    /// See ``init(_:)-(String)``.
    ///
    /// - Parameters:
    ///   - requested: At most ``maximumSize`` bytes, beginning with `/`.
    ///   - form: The accepted spellings of a path.
    /// - Throws: ``MediaPathError``.
    public init(_ requested: Substring, form: Form = .resolved) throws(MediaPathError) {
        let bytes = requested.utf8.span
        guard bytes.count <= Self.maximumSize else { throw .tooLong }
        guard !bytes.isEmpty, bytes[0] == UInt8(ascii: "/") else { throw .notAbsolute }
        if URIPath.isPlain(bytes) {
            (characters, hasEncodedSlash) = (requested, false)
            return
        }
        if let end = Self.plainLength(bytes) {
            let text = requested.utf8
            // A slice of a text costs more than all else here.
            characters = end == bytes.count ? requested : requested[..<text.index(text.startIndex, offsetBy: end)]
            hasEncodedSlash = false
            return
        }
        let decoded: [UInt8]
        let resolved: [UInt8]
        do throws(URIPath.Fault) {
            decoded = try URIPath.decode(bytes)
            resolved = try URIPath.resolve(decoded.span)
        } catch {
            throw MediaPathError(error)
        }
        if form == .asIs, resolved.count != decoded.count { throw .notResolved }
        // Check the removed segments too: a server that accepts overlong encodings of dots in them resolves to another path.
        let isWhole = resolved.count == decoded.count || String(validating: decoded, as: UTF8.self) != nil
        guard isWhole, let text = String(validating: resolved, as: UTF8.self) else { throw .notUTF8 }
        characters = text[...]
        hasEncodedSlash = URIPath.splitAtEncodedSlashes(resolved.span) != nil
    }

    /// Creates the path as read by a server that decodes slashes before it splits a path; the same path without an
    /// encoded slash.
    package init(splitting path: MediaPath) {
        let split = URIPath.splitAtEncodedSlashes(path.characters.utf8.span)
        characters = split.map { String(decoding: $0, as: UTF8.self)[...] } ?? path.characters
        hasEncodedSlash = false
    }

    /// The accepted spellings of a path.
    public enum Form: Hashable, Sendable {
        /// Empty and dot segments are resolved.
        case resolved
        /// Empty and dot segments are an error: the caller must resolve them.
        case asIs
    }

    /// Returns the length of the path, up to its query, if it is certainly canonical and in plain characters; otherwise
    /// `nil`.
    private static func plainLength(_ bytes: Span<UInt8>) -> Int? {
        var previous: UInt8 = 0
        for index in bytes.indices {
            let byte = bytes[index]
            // Most are letters and digits.
            if !byte.isASCIIAlphanumeric {
                switch byte {
                case UInt8(ascii: "?"): return index
                // No dot and no slash may follow a slash.
                case UInt8(ascii: "/"), UInt8(ascii: "."): if previous == UInt8(ascii: "/") { return nil }
                case UInt8(ascii: "%"), UInt8(ascii: "#"), UInt8(ascii: "\\"), UInt8(ascii: ";"): return nil
                case 0x21..<0x7F: break
                default: return nil
                }
            }
            previous = byte
        }
        return bytes.count
    }

    /// Byte equality.
    public static func == (left: MediaPath, right: MediaPath) -> Bool {
        ByteKey(left.characters) == ByteKey(right.characters)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(ByteKey(characters)) }
}

/// The reason why a text is not a stream path.
@nonexhaustive
public enum MediaPathError: String, Error, Sendable, CaseIterable {
    /// The path has more than 8 KiB.
    case tooLong = "path_too_long"
    /// The path does not begin with a slash.
    case notAbsolute = "path_not_absolute"
    /// A percent sign without two hexadecimal digits after it.
    case badEncoding = "path_bad_encoding"
    /// The path is double-encoded.
    case encodedTwice = "path_encoded_twice"
    /// A percent-encoded slash, either beside an empty or dot segment, or in a path that a decoding server reads as
    /// another entry's.
    case encodedSlash = "path_encoded_slash"
    /// A percent-encoded `?` or `#`: some servers decode it before they look for the end of the path.
    case encodedDelimiter = "path_encoded_delimiter"
    /// A backslash, encoded or not.
    case backslash = "path_backslash"
    /// A control character, encoded or not.
    case controlCharacter = "path_control_character"
    /// A semicolon: some servers cut off the text after it, others do not.
    case parameters = "path_parameters"
    /// A fragment, which no client sends.
    case fragment = "path_fragment"
    /// More `..` than segments before them.
    case aboveRoot = "path_above_root"
    /// Bytes that are not UTF-8.
    case notUTF8 = "path_not_utf8"
    /// Empty or dot segments, with ``MediaPath/Form/asIs``.
    case notResolved = "path_not_resolved"
}

extension MediaPathError {
    init(_ fault: URIPath.Fault) {
        switch fault {
        case .fragment: self = .fragment
        case .badEncoding: self = .badEncoding
        case .encodedTwice: self = .encodedTwice
        case .encodedSlash: self = .encodedSlash
        case .encodedDelimiter: self = .encodedDelimiter
        case .backslash: self = .backslash
        case .controlCharacter: self = .controlCharacter
        case .parameters: self = .parameters
        case .aboveRoot: self = .aboveRoot
        }
    }
}
