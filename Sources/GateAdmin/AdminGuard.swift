// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateAPI
internal import HTTPServer
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// Protects the admin listener from web pages: of its endpoints, only the operator page has credentials.
///
/// Beside the rule of ``HostGuard``: a form needs no permission to POST. A request that changes state must therefore
/// carry a header field that a form cannot set, or come from a page of this listener.
struct AdminGuard {
    /// The names of the listener, in the form of ``HostName``.
    let hosts: [String]

    /// The header field that a request must have to change state.
    static let header = "X-Playgate-Request"

    /// Returns the reason to refuse a request; `nil` if it is allowed.
    func refusal(_ request: HTTPRequest) -> String? {
        let headers = request.head.headers
        if request.isOverUnixSocket { return nil }
        guard HostGuard(hosts: hosts).admits(request) else {
            return "the request's Host is not allowed: use an IP address, or add the name to admin.hosts"
        }
        if request.head.method == .GET || request.head.method == .HEAD { return nil }
        let origins = headers["origin"]
        let site = headers["sec-fetch-site"]
        if !site.isEmpty, site != ["same-origin"] { return Self.isForeign }
        if !origins.isEmpty {
            let host = headers["host"].first ?? ""
            let isOwn = origins == ["http://\(host)"] || origins == ["https://\(host)"]
            return isOwn ? nil : Self.isForeign
        }
        guard headers.contains(name: Self.header) else {
            return "a request that changes state requires the header \(Self.header), with any value"
        }
        return nil
    }

    private static let isForeign = "the request comes from a page of another origin"
}
