// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Why a parser stopped before the end of its document.
package enum XMLFailure: Error, Hashable {
    /// The document has a document type declaration, which could declare entities.
    case doctype
    /// Elements are nested deeper than the limit.
    case tooDeep
    /// The document has more elements than the limit.
    case tooManyElements
    /// The document declares an encoding that it may not have.
    case unsupportedEncoding(String)
    /// The root element is not the one that the reader wants.
    case otherRoot
    /// The document is not well-formed, or uses a prefix that it does not declare.
    case syntax(message: String, line: Int, column: Int)
    /// libxml2 could not get memory.
    case outOfMemory
}

/// What a parser accepts.
package struct XMLLimits: Sendable {
    /// The deepest level at which an element may stand; the root stands at 1.
    package var depth: Int
    /// How many elements the document may have.
    package var elements: Int
    /// The local name that the root must have, or nil for any. The parser stops at another root at once.
    package var root: StaticString?
    /// Whether a declared encoding must be UTF-8 (or its subset US-ASCII).
    package var utf8Only: Bool

    package init(depth: Int, elements: Int, root: StaticString?, utf8Only: Bool) {
        self.depth = depth
        self.elements = elements
        self.root = root
        self.utf8Only = utf8Only
    }
}
