// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A piece of HTML. A literal is markup; an inserted text is escaped.
package struct HTML: ExpressibleByStringInterpolation, Sendable {
    /// The markup.
    package let source: String

    /// Creates a piece of markup.
    package init(stringLiteral markup: String) { source = markup }

    /// Creates a piece of markup and inserted texts.
    package init(stringInterpolation: Interpolation) { source = stringInterpolation.source }

    /// The literal parts and insertions of a piece.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ markup: String) { source += markup }

        package mutating func appendInterpolation(_ pieces: HTML?...) {
            source += pieces.compactMap { $0?.source }.joined(separator: "\n")
        }

        package mutating func appendInterpolation(_ pieces: [HTML]) {
            source += pieces.map(\.source).joined(separator: "\n")
        }

        /// Appends a text with its markup characters escaped.
        package mutating func appendInterpolation(_ text: String) { source += HTML.escaped(text) }
    }

    /// Returns a text with its markup characters escaped, for elements and for attributes in quotes.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        // By scalars: a quote with a combining accent is one character, and ends an attribute.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
