// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The rules for scripts of other sites that read manifests.
///
/// Source: WHATWG Fetch, "CORS protocol".
package struct CrossOriginRules: Hashable, Sendable {
    /// The origins whose scripts may read manifests, in lower case; `nil` for all.
    package let origins: [String]?
    /// True if requests may be made with cookies.
    let allowsCredentials: Bool
    /// The time for which a browser may cache the answer to a preflight, in seconds.
    let maximumAge: Int64
    /// The header fields that a page's requests may have, besides `Range` and those with tokens.
    let requestHeaders: [String]

    /// The fields of an answer that scripts may read.
    private static let exposed: (StaticString, String) = (
        "Access-Control-Expose-Headers", "X-Playgate-Code, X-Playgate-Session, X-Playgate-Trace"
    )

    /// Returns the header fields of an answer to a request with this `Origin`; `nil` if it has none.
    package func fields(_ origin: String?) -> [(StaticString, String)] {
        guard let origins else { return [("Access-Control-Allow-Origin", "*"), Self.exposed] }
        // The answer depends on the origin, also if this one is not allowed.
        let varying: (StaticString, String) = ("Vary", "Origin")
        guard let origin, origins.contains(origin.lowercased()) else { return [varying] }
        let allowed: [(StaticString, String)] = [("Access-Control-Allow-Origin", origin), varying, Self.exposed]
        return allowsCredentials ? allowed + [("Access-Control-Allow-Credentials", "true")] : allowed
    }

    /// Returns the header fields of an answer to a preflight.
    ///
    /// - Parameter headers: The header fields that may carry tokens.
    package func preflight(_ origin: String?, headers: String) -> [(StaticString, String)] {
        let names = (["Range"] + (headers.isEmpty ? [] : [headers]) + requestHeaders).joined(separator: ", ")
        return fields(origin) + [
            ("Access-Control-Allow-Methods", "GET, HEAD"), ("Access-Control-Allow-Headers", names),
            ("Access-Control-Max-Age", "\(maximumAge)"),
        ]
    }
}
