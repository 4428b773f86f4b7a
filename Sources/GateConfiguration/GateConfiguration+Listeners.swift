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
    package init(_ section: ConfigurationSection, default fallback: ListenerAddress) {
        let address = section.parsed("listen", default: fallback) { try ListenerAddress($0) }
        self.init(section, at: address)
    }

    /// Reads listeners whose section may name several addresses; at least one, even if the section is faulty.
    package static func list(_ section: ConfigurationSection, default fallback: ListenerAddress) -> [Self] {
        var addresses: [ListenerAddress] = []
        if section.has("listen") {
            addresses = self.addresses(in: section, key: "listen")
        } else {
            addresses.append(section.parsed("listen", default: fallback) { try ListenerAddress($0) })
        }
        let first = Self(section, at: addresses.first ?? fallback)
        return [first]
            + addresses.dropFirst().map { address in
                var listener = first
                listener.address = address.resolved(in: section)
                return listener
            }
    }

    /// Reads further listeners, with the settings of another one; none if the section does not name `key`.
    package static func list(in section: ConfigurationSection, key: String, like other: Self) -> [Self] {
        guard section.has(key) else {
            _ = section.strings(key)
            return []
        }
        return addresses(in: section, key: key).map { address in
            var listener = other
            listener.address = address.resolved(in: section)
            listener.location = section.location(key)
            return listener
        }
    }

    /// Reads the addresses of a key: one, or a list.
    private static func addresses(in section: ConfigurationSection, key: String) -> [ListenerAddress] {
        var addresses: [ListenerAddress] = []
        for text in section.strings(key) ?? [] {
            do throws(ParseFault) { addresses.append(try ListenerAddress(text)) } catch {
                section.note(at: key, message: error.description)
            }
        }
        if addresses.isEmpty, !section.isFaulty { section.note(at: key, message: "must have at least one address") }
        if addresses.count > maximumAddresses {
            section.note(at: key, message: "must have at most \(maximumAddresses) addresses")
        }
        return addresses
    }

    /// The most addresses of a section.
    private static let maximumAddresses = 16

    private init(_ section: ConfigurationSection, at address: ListenerAddress) {
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
        limits = section.section("limits", read: HTTPLimits.init)
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate init(_ section: ConfigurationSection) {
        certificate = Located(value: section.requiredPath("certificate"), location: section.location("certificate"))
        key = Located(value: section.requiredPath("key"), location: section.location("key"))
        clientAuthorities = section.optionalPath("clientAuthorities").map {
            Located(value: $0, location: section.location("clientAuthorities"))
        }
    }
}

extension HTTPLimits {
    fileprivate init(_ section: ConfigurationSection) {
        let connections = section.integer("connections", in: 1...1_000_000, default: 4096)
        self.init(
            connections: connections,
            // Half, rounded up: one peer at its quota leaves half for all others, and two such peers get half each.
            connectionsPerPeer: section.integer(
                "connectionsPerPeer",
                in: 1...1_000_000,
                default: max(1, (connections + 1) / 2)
            ),
            headerBytes: section.integer("headerBytes", in: 1024...1_048_576, default: 32 * 1024),
            bodyBytes: section.integer("bodyBytes", in: 1024...67_108_864, default: 2 * 1024 * 1024),
            requestTimeout: section.duration(
                "requestTimeout",
                in: .milliseconds(100) ... .seconds(600),
                default: .seconds(10)
            ),
            idleTimeout: section.duration(
                "idleTimeout",
                in: .milliseconds(100) ... .seconds(3600),
                default: .seconds(60)
            )
        )
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
