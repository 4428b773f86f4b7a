// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// Protects a listener without credentials from web pages.
///
/// A page in a browser on the operator's machine can send requests to loopback. DNS rebinding makes them look same-origin,
/// so `Host` must be an address or a configured name.
struct HostGuard {
    /// The names of the listener, in the form of ``HostName``.
    let hosts: [String]

    /// True if the host of a request is that of the listener.
    func admits(_ request: HTTPRequest) -> Bool {
        if request.isOverUnixSocket { return true }
        let named = request.head.headers["host"]
        guard named.count == 1, let host = HostName(named[0][...]) else { return false }
        return isKnown(host)
    }

    /// True if the host is an address, which DNS rebinding cannot use, or a known name.
    private func isKnown(_ host: HostName) -> Bool {
        if host.text == "localhost" || hosts.contains(where: { $0.utf8.elementsEqual(host.text.utf8) }) { return true }
        let text = host.text.utf8.first == UInt8(ascii: "[") ? host.text.dropFirst().dropLast() : host.text
        return (try? SocketAddress(ipAddress: String(text), port: 0)) != nil
    }
}

/// Protects the admin listener from web pages: of its endpoints, only the operator page has credentials.
///
/// Beside the rule of ``HostGuard``: a form needs no permission to POST, so a request that changes state must carry a header field
/// that a form cannot set, or come from a page of this listener.
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

extension HTTPRequest {
    /// True for a connection over a unix socket: no browser can make one.
    fileprivate var isOverUnixSocket: Bool {
        if case .unixDomainSocket = connection.channel.localAddress { true } else { false }
    }
}
