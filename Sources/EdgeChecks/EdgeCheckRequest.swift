// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Encodings
package import PlaybackGate
package import RequestTargets

/// A client's request, as an edge reports it. Adapters translate their protocols into it.
package struct EdgeCheckRequest: Sendable {
    /// The target without grants and token segments, split into path and query.
    package let target: ParsedTarget
    /// The method.
    package let method: PlaybackRequest.Method
    /// The requested host; `nil` if the edge does not report it.
    package let authority: URIAuthority?
    /// True if the client requests a part of the media.
    package let isPartial: Bool
    /// The spellings of paths that the edge passes on.
    package let form: MediaPath.Form
    /// True if the answer can redirect the client to the same target with another grant.
    package let canRedirect: Bool
    /// The names of the query parameters that carry tokens.
    package let tokenParameters: [String]

    /// Creates a request.
    @inlinable
    package init(
        _ target: ParsedTarget,
        method: PlaybackRequest.Method,
        authority: URIAuthority?,
        isPartial: Bool = false,
        form: MediaPath.Form,
        canRedirect: Bool = false,
        tokenParameters: [String] = []
    ) {
        self.target = target
        self.method = method
        self.authority = authority
        self.isPartial = isPartial
        self.form = form
        self.canRedirect = canRedirect
        self.tokenParameters = tokenParameters
    }
}

/// The grants and facts of a client's request, in the memory of an adapter. It is made for requests that grants may allow.
package protocol EdgeReport: ClientFacts {
    /// Finds the grants of a request.
    func grants() -> PresentedGrantTokens

    /// The scheme and the authority for the URI of a request.
    ///
    /// - Parameter authority: The authority of the request.
    func origin(_ authority: URIAuthority?) -> EdgeOrigin
}

/// The scheme and authority of a client's request; each is `nil` if it is not known.
package enum EdgeOrigin: Sendable {
    /// The authority is that of the request.
    case own(scheme: RequestURI.Scheme?)
    /// The edge reports both separately.
    case other(scheme: RequestURI.Scheme?, authority: URIAuthority?)
}

extension EdgeReport {
    /// The reported scheme and authority.
    package func origin(_ authority: URIAuthority?) -> EdgeOrigin { .own(scheme: reportedScheme) }

    /// The scheme that the edge reports; `nil` if it reports none, or something else.
    package var reportedScheme: RequestURI.Scheme? {
        guard case .text(let text) = report(of: .scheme) else { return nil }
        return RequestURI.Scheme(reported: text.trimmingBlanks)
    }
}

extension PlaybackRequest.Method {
    /// Parses the name of a method that an edge reports: 1 to 32 upper-case letters and hyphens.
    ///
    /// - Returns: ``other`` for a method that no entry can permit; `nil` for a text that is no method.
    package init?(reported name: Substring) {
        // Nearly all requests have this one.
        if name.utf8.count == 3, name.utf8.span.starts(with: "GET", at: 0) {
            self = .get
            return
        }
        guard 1...32 ~= name.utf8.count,
            name.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "-") })
        else { return nil }
        self = Self(rawValue: String(name)) ?? .other
    }
}
