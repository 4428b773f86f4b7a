// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Where a login or a logout may end: what an application is called by, or a page of this machine. Anything else would make
/// of the stand-in a stepping stone to any page.
enum RedirectTarget {
    /// Whether an application may be registered with this address: its own scheme, a page of this machine, or a page of a
    /// programmer's domain.
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

    /// Where a browser may be sent that shall go to `url`: there, or nowhere.
    ///
    /// For a page of this service, that is its path alone. What a client calls the service is not believed: the browser
    /// that is sent on later knows it better.
    ///
    /// - Parameters:
    ///   - registered: The addresses that the application has registered.
    ///   - host: The `Host` that this service was asked by.
    /// - Returns: Nil where no browser may be sent there.
    static func allowed(_ url: String, registered: [String], host: String?) -> String? {
        guard let parts = URLParts(url) else { return nil }
        if registered.contains(url) || parts.scheme == "adobepass" { return url }
        guard parts.scheme == "http" || parts.scheme == "https" else { return nil }
        if parts.isLoopback { return url }
        // A path of two slashes would be another host.
        guard parts.scheme == "http", parts.authority == host, !parts.rest.hasPrefix("//") else { return nil }
        return parts.rest.hasPrefix("/") ? parts.rest : "/" + parts.rest
    }
}

/// The parts of an absolute URL, as browsers take it.
private struct URLParts {
    let scheme: String
    /// With its port.
    let authority: String
    let host: String
    /// What follows the authority.
    let rest: String

    init?(_ url: String) {
        // Browsers drop tabs and line ends and take backslashes for slashes: nothing of that is a URL here.
        guard url.utf8.count <= 2048, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }),
            let colon = url.firstIndex(of: ":")
        else { return nil }
        scheme = url[..<colon].lowercased()
        guard let first = scheme.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first,
            scheme.utf8.allSatisfy({ byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            })
        else { return nil }
        let rest = url[url.index(after: colon)...]
        guard rest.hasPrefix("//") else { return nil }
        authority = String(rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" })
        self.rest = String(rest.dropFirst(2 + authority.count))
        // A name in front of @ is for the eye of the reader only.
        guard !authority.contains("@"), !authority.isEmpty else { return nil }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end].lowercased()
        } else {
            host = authority.prefix { $0 != ":" }.lowercased()
        }
    }

    var isLoopback: Bool { authority.namesLoopback }

    /// Whether it is the scheme of an application, and none that a browser itself does something with: those of native
    /// applications have a dot (RFC 8252 §7.1).
    var isApplication: Bool { scheme == "adobepass" || scheme.contains(".") }
}
