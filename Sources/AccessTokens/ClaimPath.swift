// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The path of a claim: its name, or a JSON Pointer (RFC 6901) to a nested one.
///
/// A text that begins with `/` is a pointer, such as `/realm_access/roles`. Any other text is the name of a claim at the
/// top, such as `sub` or `https://tv.example/roles`.
public struct ClaimPath: Hashable, Sendable {
    /// The path as written.
    public let text: String
    /// The name of the claim at the top.
    let name: String
    /// The names of the members below it.
    let members: [String]

    /// The most names in a path.
    public static let maximumDepth = 6

    /// Parses a path.
    ///
    /// - Parameter text: A name or a pointer, of 1 to 256 bytes.
    /// - Throws: ``ClaimPathError``.
    public init(_ text: String) throws(ClaimPathError) {
        guard 1...256 ~= text.utf8.count else { throw .sizeOutOfRange }
        self.text = text
        guard text.utf8.first == UInt8(ascii: "/") else {
            (name, members) = (text, [])
            return
        }
        var names: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = Self.unescaped(part), !name.isEmpty else { throw .malformedPointer }
            names.append(name)
        }
        guard let first = names.first, names.count <= Self.maximumDepth else { throw .malformedPointer }
        (name, members) = (first, Array(names.dropFirst()))
    }

    /// Returns a reference token of a pointer without its escapes, `~0` and `~1`; `nil` for another escape.
    private static func unescaped(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in part {
            switch (isEscape, byte) {
            case (true, UInt8(ascii: "0")): bytes.append(UInt8(ascii: "~"))
            case (true, UInt8(ascii: "1")): bytes.append(UInt8(ascii: "/"))
            case (true, _): return nil
            case (false, UInt8(ascii: "~")): break
            case (false, _): bytes.append(byte)
            }
            isEscape = !isEscape && byte == UInt8(ascii: "~")
        }
        return isEscape ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// The subject of a token.
    public static var subject: ClaimPath { ClaimPath(name: "sub") }

    /// The audience of a token.
    static let audience = ClaimPath(name: "aud")

    private init(name: String) { (text, self.name, members) = (name, name, []) }
}

/// A reason why a text is no path of a claim.
@nonexhaustive
public enum ClaimPathError: String, Error, Sendable, CaseIterable {
    /// The text is empty, or longer than 256 bytes.
    case sizeOutOfRange = "claim_path_size_out_of_range"
    /// The pointer has an empty or a wrongly escaped name, or more than 6 names.
    case malformedPointer = "claim_path_malformed_pointer"
}

extension ClaimPathError: CustomStringConvertible {
    /// The explanation, and the code in brackets.
    public var description: String {
        switch self {
        case .sizeOutOfRange: "must be the name of a claim, or a JSON Pointer such as /realm_access/roles [\(rawValue)]"
        case .malformedPointer:
            "must be a JSON Pointer of 1 to \(ClaimPath.maximumDepth) names, with ~1 for / and ~0 for ~ [\(rawValue)]"
        }
    }
}
