// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A fault in a policy.
package struct EdgeBundleError: Error, Hashable, Sendable {
    /// The line, from 1 on; 0 if there is none.
    package var line = 0
    /// The column in the line, in bytes, from 1 on; 0 if there is none.
    package var column = 0
    /// The sentence for the operator, in one printable line. Never a part of a key.
    package let message: String
    /// The kind.
    package var kind = Kind.document

    /// A kind of faults.
    package enum Kind: Sendable {
        /// Of the document.
        case document
        /// Of its version, which is not known here.
        case version
        /// Of its signature.
        case signature
    }

    /// Creates a fault without a location.
    package init(_ message: String, kind: Kind = .document) {
        self.message = message.printable(limit: 200)
        self.kind = kind
    }

    /// Creates a fault with its location.
    init(_ message: String, kind: Kind = .document, at location: (line: Int, column: Int)) {
        self.init(message, kind: kind)
        (line, column) = location
    }
}

extension EdgeBundleError: CustomStringConvertible {
    package var description: String { line > 0 ? "line \(line): \(message)" : message }
}
