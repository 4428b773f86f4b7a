// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reason why a text is not a resource.
///
/// Two errors are equal when their codes are.
public struct ResourceError: Error, Sendable {
    /// What is wrong; stable, for programs.
    public let code: Code
    /// What is wrong, in words, for people. May quote the text in one printable line.
    public let reason: String
    /// The line in the fragment, from 1, or nil where none applies.
    public let line: Int?
    /// The column in the line, from 1, or nil where none applies.
    public let column: Int?

    /// What is wrong with the text of a resource.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// Nothing, or white space only.
        case empty = "resource_empty"
        /// More than 8 KiB.
        case tooLarge = "resource_too_large"
        /// Not UTF-8.
        case invalidUTF8 = "resource_invalid_utf8"
        /// A fragment that declares another encoding than UTF-8.
        case unsupportedEncoding = "resource_unsupported_encoding"
        /// A control character, or another that XML does not know.
        case invalidCharacter = "resource_invalid_character"
        /// A document type declaration.
        case doctype = "resource_doctype"
        /// Not well-formed XML, an undefined entity or an undeclared prefix.
        case malformedXML = "resource_malformed_xml"
        /// Elements nested more than 8 deep.
        case tooDeep = "resource_too_deep"
        /// More than 64 elements.
        case tooManyElements = "resource_too_many_elements"
        /// No channel, or one without a title.
        case missingChannel = "resource_missing_channel"
        /// A second channel, item, title or guid.
        case repeatedElement = "resource_repeated_element"
        /// Text beside elements, elements in a title, guid or rating, or a comment or processing instruction within text.
        case mixedContent = "resource_mixed_content"
        /// An internal failure: libxml2 could not get memory.
        case internalFailure = "resource_internal_failure"
    }

    init(_ code: Code, _ reason: String, line: Int? = nil, column: Int? = nil) {
        self.code = code
        self.reason = reason
        self.line = line
        self.column = column
    }
}

extension ResourceError: Equatable {
    /// Equality of codes.
    public static func == (left: ResourceError, right: ResourceError) -> Bool { left.code == right.code }
}

extension ResourceError: CustomStringConvertible {
    public var description: String {
        guard let line, line > 0 else { return "\(reason) [\(code.rawValue)]" }
        guard let column, column > 0 else { return "line \(line): \(reason) [\(code.rawValue)]" }
        return "line \(line), column \(column): \(reason) [\(code.rawValue)]"
    }
}
