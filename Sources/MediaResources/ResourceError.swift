// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An error in the text of a resource.
///
/// Two errors are equal if their codes are equal.
public struct ResourceError: Error, Sendable {
    /// The kind of error; stable, for programs.
    public let code: Code
    /// The explanation in words, for people. May quote the text in one printable line.
    public let reason: String
    /// The line in the fragment, from 1, or `nil` if none applies.
    public let line: Int?
    /// The column in the line, from 1, or `nil` if none applies.
    public let column: Int?

    /// The kind of an error in the text of a resource.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The text is empty or only white space.
        case empty = "resource_empty"
        /// The text is larger than 8 KiB.
        case tooLarge = "resource_too_large"
        /// The text is not UTF-8.
        case invalidUTF8 = "resource_invalid_utf8"
        /// The fragment declares an encoding other than UTF-8.
        case unsupportedEncoding = "resource_unsupported_encoding"
        /// The text has a control character, or another character that XML does not allow.
        case invalidCharacter = "resource_invalid_character"
        /// The fragment has a document type declaration.
        case doctype = "resource_doctype"
        /// The fragment is not well-formed XML, or has an undefined entity or an undeclared prefix.
        case malformedXML = "resource_malformed_xml"
        /// Elements are nested more than 8 deep.
        case tooDeep = "resource_too_deep"
        /// There are more than 64 elements.
        case tooManyElements = "resource_too_many_elements"
        /// There is no channel, or the channel has no title.
        case missingChannel = "resource_missing_channel"
        /// There is a second channel, item, title or guid.
        case repeatedElement = "resource_repeated_element"
        /// Text occurs beside elements, an element in a title, guid or rating, or a comment or processing instruction
        /// within text.
        case mixedContent = "resource_mixed_content"
        /// The parser failed internally: libxml2 could not allocate memory.
        case internalFailure = "resource_internal_failure"
    }

    init(_ code: Code, reason: String, line: Int? = nil, column: Int? = nil) {
        self.code = code
        self.reason = reason
        self.line = line
        self.column = column
    }
}

extension ResourceError: Equatable {
    /// True if both errors have the same code.
    public static func == (left: ResourceError, right: ResourceError) -> Bool { left.code == right.code }
}

extension ResourceError: CustomStringConvertible {
    /// The position if known, the reason, and the code in brackets.
    public var description: String {
        guard let line, line > 0 else { return "\(reason) [\(code.rawValue)]" }
        guard let column, column > 0 else { return "line \(line): \(reason) [\(code.rawValue)]" }
        return "line \(line), column \(column): \(reason) [\(code.rawValue)]"
    }
}
