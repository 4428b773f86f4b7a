// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why a parser stopped before the end of its document.
package enum XMLFailure: Error, Hashable {
    /// The document has a document type declaration, which could declare entities.
    case doctype
    /// Elements are nested deeper than the limit.
    case tooDeep
    /// The document has more elements than the limit.
    case tooManyElements
    /// The names, values and text of the document, or of a piece of it, use more memory than any that is meant to be
    /// read.
    case tooLarge
    /// The document declares an encoding that is not allowed.
    case unsupportedEncoding(String)
    /// The root element is not the required one.
    case otherRoot
    /// The document is not well-formed, or uses an undeclared prefix.
    case syntax(message: String, line: Int, column: Int)
    /// libxml2 could not allocate memory.
    case outOfMemory
}

/// The limits of a parser.
package struct XMLLimits: Sendable {
    /// The largest depth of an element; the root has depth 1.
    package var depth: Int
    /// The largest number of elements in a document.
    package var elements: Int
    /// The local name that the root must have, or `nil` for any. The parser stops at once at another root.
    package var root: StaticString?
    /// True if a declared encoding must be UTF-8 (or its subset US-ASCII).
    package var utf8Only: Bool

    package init(depth: Int, elements: Int, root: StaticString?, utf8Only: Bool) {
        self.depth = depth
        self.elements = elements
        self.root = root
        self.utf8Only = utf8Only
    }
}
