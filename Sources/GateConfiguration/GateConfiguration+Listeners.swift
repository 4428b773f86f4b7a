// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import HTTPServer

extension ListenerAddress {
    /// Parses `HOST:PORT`, `[IPv6]:PORT`, `unix:PATH` or `fd:NUMBER`.
    package init(_ text: String) throws(ParseFault) {
        if text.hasPrefix("fd:") {
            // Passed sockets are numbered from 3 on (sd_listen_fds(3)).
            guard let number = Int32(text.dropFirst(3)), 3...1023 ~= number else {
                throw ParseFault("fd: requires the number of a socket, 3 to 1023")
            }
            self = .descriptor(number)
            return
        }
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count < 104 else {
                throw ParseFault("unix: requires a socket path of at most 103 bytes")
            }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ParseFault(
                "\"\(text)\" must be HOST:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER, such as 127.0.0.1:8080"
            )
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.utf8.contains(UInt8(ascii: ":")) || text.hasPrefix("[") else {
            throw ParseFault("\"\(text)\" must be HOST:PORT, or [IPV6]:PORT")
        }
        guard !host.isEmpty else {
            throw ParseFault("\"\(text)\" has no host; 0.0.0.0 is every IPv4 address of this machine")
        }
        self = .tcp(host: String(host), port: Int(port))
    }
}

extension ListenerAddress {
    /// The address, with the path of a unix socket relative to the folder of the configuration.
    fileprivate func resolved(in section: ConfigurationSection) -> ListenerAddress {
        if case .unix(let path) = self { .unix(path: section.resolve(path)) } else { self }
    }
}

extension GateConfiguration.Listener {
    package init(
        _ section: ConfigurationSection,
        default fallback: ListenerAddress,
        limits: HTTPLimits = HTTPLimits()
    ) {
        let address = section.parsed("listen", default: fallback) { try ListenerAddress($0) }
        self.init(section, at: address, limits: limits)
    }

    /// Reads listeners whose section may name several addresses; at least one, even if the section is faulty.
    package static func list(
        _ section: ConfigurationSection,
        default fallback: ListenerAddress,
        limits: HTTPLimits
    ) -> [Self] {
        list(section, default: (0, fallback), limits: limits) { (text) throws(ParseFault) in
            (0, try ListenerAddress(text))
        }.map(\.listener)
    }

    /// Reads listeners of several kinds, whose addresses are in one list; at least one, even if the section is faulty.
    ///
    /// - Parameter parse: Returns the kind and the address that a text of the list names.
    static func list<Kind>(
        _ section: ConfigurationSection,
        default fallback: (kind: Kind, address: ListenerAddress),
        limits: HTTPLimits,
        parse: (String) throws(ParseFault) -> (kind: Kind, address: ListenerAddress)
    ) -> [(kind: Kind, listener: Self)] {
        var named: [(kind: Kind, address: ListenerAddress)] = []
        for text in section.strings("listen") ?? [fallback.address.description] {
            do throws(ParseFault) { named.append(section.has("listen") ? try parse(text) : fallback) } catch {
                section.note(at: "listen", message: error.description)
            }
        }
        if named.isEmpty, !section.isFaulty { section.note(at: "listen", message: "must have at least one address") }
        if named.count > maximumAddresses {
            section.note(at: "listen", message: "must have at most \(maximumAddresses) addresses")
        }
        let first = named.first ?? fallback
        let listener = Self(section, at: first.address, limits: limits)
        return [(first.kind, listener)]
            + named.dropFirst().map { kind, address in
                var other = listener
                other.address = address.resolved(in: section)
                return (kind, other)
            }
    }

    /// The most addresses of a section.
    private static let maximumAddresses = 16

    private init(_ section: ConfigurationSection, at address: ListenerAddress, limits: HTTPLimits) {
        location = section.location("listen")
        self.address = address.resolved(in: section)
        socketMode = section.optionalString("socketMode").map { text in
            guard let mode = Int(text, radix: 8), 1...0o777 ~= mode else {
                section.note(at: "socketMode", message: "must be permissions in octal digits, such as \"0660\"")
                return 0o600
            }
            return mode
        }
        socketGroup = section.optionalString("socketGroup").map {
            Located(value: $0, location: section.location("socketGroup"))
        }
        tls = section.optionalSection("tls", read: TLS.init)
        section.rename("limits", to: "advanced: { limits: … }, for all listeners")
        self.limits = limits
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate init(_ section: ConfigurationSection) {
        certificate = Located(value: section.requiredPath("certificate"), location: section.location("certificate"))
        key = Located(value: section.requiredPath("key"), location: section.location("key"))
        section.rename("clientAuthorities", to: "authorities")
        clientAuthorities = section.optionalPath("authorities").map {
            Located(value: $0, location: section.location("authorities"))
        }
    }
}

extension GateConfiguration {
    /// The listeners that have TLS.
    package var listenersWithTLS: [Listener] {
        ["api", "admin", "edge", "spoe", "grpc", "manifest"].compactMap(listener).filter { $0.tls != nil }
    }

    /// Returns a listener by its name in logs and metrics; the first of several with the same settings.
    package func listener(_ name: String) -> Listener? {
        switch name {
        case "api": api.listener
        case "admin": admin
        case "edge": edge?.listeners.first
        case "spoe": edge?.offloads.first
        case "grpc": edge?.grpc.first
        case "manifest": manifest?.listeners.first
        default: nil
        }
    }
}
