// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A piece of HTML. A literal is markup; an inserted text is escaped.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    let source: String

    init(stringLiteral markup: String) { source = markup }

    init(stringInterpolation: Interpolation) { source = stringInterpolation.source }

    /// The literal parts and insertions of a piece.
    struct Interpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ markup: String) { source += markup }

        mutating func appendInterpolation(_ pieces: HTML?...) {
            source += pieces.compactMap { $0?.source }.joined(separator: "\n")
        }

        mutating func appendInterpolation(_ pieces: [HTML]) {
            source += pieces.map(\.source).joined(separator: "\n")
        }

        /// Appends a text with its markup characters escaped.
        mutating func appendInterpolation(_ text: String) {
            for scalar in text.unicodeScalars {
                switch scalar {
                case "&": source += "&amp;"
                case "<": source += "&lt;"
                case ">": source += "&gt;"
                case "\"": source += "&quot;"
                case "'": source += "&#39;"
                default: source.unicodeScalars.append(scalar)
                }
            }
        }
    }
}
