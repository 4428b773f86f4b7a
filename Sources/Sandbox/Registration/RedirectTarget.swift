// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The allowed redirect targets of a login or a logout: an address of an application, or a page of this machine. Other
/// targets would make the sandbox an open redirector.
enum RedirectTarget {
    /// True if an application may register this address: its own scheme, a page of this machine, or a page of a programmer's
    /// domain.
    static func mayBeRegistered(_ url: String, domains: [String]) -> Bool {
        guard let parts = URLParts(url) else { return false }
        switch parts.scheme {
        case "http": return parts.isLoopback
        case "https":
            return parts.isLoopback
                || domains.contains { parts.host == $0.lowercased() || parts.host.hasSuffix("." + $0.lowercased()) }
        default: return parts.isApplication
        }
    }

    /// Returns the address to redirect a browser to, if `url` is an allowed target.
    ///
    /// For a page of this service, the result is only the path. The name of the service in this request is not trusted:
    /// the browser that follows the redirect later resolves the path itself.
    ///
    /// - Parameters:
    ///   - registered: The addresses that the application has registered.
    ///   - host: The `Host` header field of this request.
    /// - Returns: `nil` if the target is not allowed.
    static func allowed(_ url: String, registered: [String], host: String?) -> String? {
        guard let parts = URLParts(url) else { return nil }
        if registered.contains(url) || parts.scheme == "adobepass" { return url }
        guard parts.scheme == "http" || parts.scheme == "https" else { return nil }
        if parts.isLoopback { return url }
        // A path that begins with two slashes would name another host.
        guard parts.scheme == "http", parts.authority == host, !parts.rest.hasPrefix("//") else { return nil }
        return parts.rest.hasPrefix("/") ? parts.rest : "/" + parts.rest
    }
}

extension EndpointRequest {
    /// Returns the address to redirect a browser to for a URL of this request; `nil` if there is no URL.
    ///
    /// - Throws: `refusal` if the target is not allowed.
    func redirect(to url: String?, registered: [String], or refusal: EndpointError) throws(EndpointError) -> String? {
        guard let url else { return nil }
        guard let target = RedirectTarget.allowed(url, registered: registered, host: host) else { throw refusal }
        return target
    }
}

/// The parts of an absolute URL, as browsers parse it.
private struct URLParts {
    let scheme: String
    /// The host with its port.
    let authority: String
    let host: String
    /// The part after the authority.
    let rest: String

    init?(_ url: String) {
        // Browsers drop tabs and line ends and treat backslashes as slashes, so a URL with any of them is refused.
        guard url.utf8.count <= 2048, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }),
            let colon = url.firstIndex(of: ":")
        else { return nil }
        scheme = url[..<colon].lowercased()
        guard let first = scheme.utf8.first, first.isASCIILetter,
            scheme.utf8.allSatisfy({ byte in
                byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "+")
            })
        else { return nil }
        let rest = url[url.index(after: colon)...]
        guard rest.hasPrefix("//") else { return nil }
        authority = String(rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" })
        self.rest = String(rest.dropFirst(2 + authority.count))
        // A user name in front of `@` can disguise the host.
        guard !authority.contains("@"), !authority.isEmpty else { return nil }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end].lowercased()
        } else {
            host = authority.prefix { $0 != ":" }.lowercased()
        }
    }

    var isLoopback: Bool { authority.namesLoopback }

    /// True if the scheme belongs to an application and has no meaning to the browser itself. Schemes of native applications
    /// contain a dot (RFC 8252 §7.1).
    var isApplication: Bool { scheme == "adobepass" || scheme.contains(".") }
}
