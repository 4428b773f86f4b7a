// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A reason why a reference is refused. The raw values are explanations for people, and not stable.
package enum ReferenceFault: String, Error, Hashable, Sendable, CaseIterable {
    case controlCharacter = "a reference has white space or a control character"
    case backslash = "a reference has a backslash, which some players take for a slash"
    case userInformation = "a reference has user information"
    case ambiguousAuthority = "a reference has too few or too many slashes before its host"
    case badHost = "the host or port of a reference is not in a form that all players read alike"
    case badEncoding = "a reference has a percent sign that encodes nothing"
    case encodedTwice = "the path of a reference is percent-encoded twice"
    case encodedSlash = "the path of a reference has an encoded slash beside an empty or dot segment"
    case encodedDelimiter = "the path of a reference has an encoded ? or #"
    case encodedGrant = "the path of a reference has an encoded segment of a grant"
    case emptySegment = "the path of a reference has an empty segment, with which no gate reads a grant in a segment"
    case badTemplate = "an identifier in a template has no end, or other characters than letters, digits and a width"
    case unknownVariable = "a variable whose value is unknown could change the host of a reference"
    case foreignParameter =
        "a reference has its own parameter of the grant's name: give the grant's another one, or write it into segments"
    case grantToOtherHost = "a variable would carry the grant to another host"
}

extension ReferenceFault {
    /// A fault of the path of a reference.
    init(_ fault: URIPath.Fault) {
        switch fault {
        case .badEncoding: self = .badEncoding
        case .encodedTwice: self = .encodedTwice
        case .encodedSlash: self = .encodedSlash
        case .encodedDelimiter: self = .encodedDelimiter
        case .backslash: self = .backslash
        // The path of a reference ends before its fragment, may have parameters, and leads to the root at most.
        case .controlCharacter, .fragment, .parameters, .aboveRoot: self = .controlCharacter
        }
    }
}
