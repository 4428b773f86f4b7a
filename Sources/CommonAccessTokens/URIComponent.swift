// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings
package import RequestTargets

/// A part of a URI that a token may restrict. The raw values are the labels of `catu`.
public enum URIComponent: UInt8, Hashable, Sendable, CaseIterable {
    /// The scheme, such as `https`.
    case scheme = 0
    /// The host in lower case, without a port.
    case host = 1
    /// The port in digits. A default port matches as the empty text too.
    case port = 2
    /// The path, percent-encoded, with its leading `/`.
    case path = 3
    /// The query without `?`; empty if there is none.
    case query = 4
    /// The path up to the last `/`. Compared with that `/` if the value in the token ends in one.
    case parentPath = 5
    /// The text after the last `/` of the path.
    case filename = 6
    /// The filename up to its last `.`, or all of it if there is none.
    case stem = 7
    /// The text after the last `.` of the filename; empty if there is none. Compared with that `.` if the value in the token
    /// begins with one.
    case fileExtension = 8
}

extension RequestURI {
    /// The result of comparing a component.
    package enum Match: Hashable, Sendable {
        case holds
        case fails
        /// The edge does not report a fact that the comparison needs.
        case unknown(RequestFact)
    }

    /// Compares a component with `operand`, a value as written in a token. The operand determines if a separator
    /// belongs to the component.
    package func match(
        _ component: URIComponent,
        operand: Span<UInt8>,
        compare: (Span<UInt8>) -> Bool
    ) -> Match {
        switch component {
        case .scheme:
            guard let scheme else { return .unknown(.scheme) }
            return Match(compare(scheme.rawValue.utf8.span))
        case .host:
            guard let host else { return .unknown(.host) }
            return Match(compare(host.utf8.span))
        case .port: return matchPort(compare)
        case .query:
            guard let query else { return .unknown(.query) }
            return Match(compare(query.utf8.span))
        case .path: return Match(compare(path.utf8.span))
        case .parentPath, .filename, .stem, .fileExtension:
            let bytes = path.utf8.span
            return Match(compare(bytes.extracting(bytes.range(of: component, operand: operand))))
        }
    }

    private func matchPort(_ compare: (Span<UInt8>) -> Bool) -> Match {
        guard let port else { return .unknown(host == nil ? .host : .scheme) }
        // At most five digits, which a string holds without an allocation.
        if compare(String(port).utf8.span) { return .holds }
        guard compare("".utf8.span) else { return .fails }
        // The empty text is the default port of the scheme.
        let isUndecided = scheme == nil && Scheme.allCases.contains { $0.defaultPort == port }
        return isUndecided ? .unknown(.scheme) : Match(hasDefaultPort)
    }
}

extension RequestURI.Match {
    package init(_ holds: Bool) { self = holds ? .holds : .fails }
}

extension Span<UInt8> {
    /// Returns the range of a component that is a part of this path.
    fileprivate func range(of component: URIComponent, operand: Span<UInt8>) -> Range<Int> {
        var slash = count - 1
        while slash > 0, self[slash] != UInt8(ascii: "/") { slash -= 1 }
        let name = slash + 1
        guard component != .parentPath else {
            let isWithSlash = operand.count > 0 && operand[operand.count - 1] == UInt8(ascii: "/")
            return 0..<(isWithSlash ? name : slash)
        }
        var dot = count - 1
        while dot >= name, self[dot] != UInt8(ascii: ".") { dot -= 1 }
        let hasDot = dot >= name
        switch component {
        case .stem: return name..<(hasDot ? dot : count)
        case .fileExtension:
            guard hasDot else { return count..<count }
            let isWithDot = operand.count > 0 && operand[0] == UInt8(ascii: ".")
            return (isWithDot ? dot : dot + 1)..<count
        default: return name..<count
        }
    }
}
