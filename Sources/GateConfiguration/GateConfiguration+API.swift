// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import HTTPServer
internal import MediaTokens
internal import PlaybackGate

extension GateConfiguration.API {
    package init(_ section: ConfigurationSection, limits: HTTPLimits = HTTPLimits()) {
        let fallback = ListenerAddress.tcp(host: "127.0.0.1", port: 8080)
        let listener = GateConfiguration.Listener(section, default: fallback, limits: limits)
        section.rename("open", to: "anonymous")
        for old in ["policyGoodFor", "bundle"] { section.rename(old, to: "advanced: { bundleMaxAge: … }") }
        for old in ["concurrency", "helpURL"] { section.rename(old, to: "advanced: { \(old): … }") }
        let callers = Caller.list(in: section, of: listener, scopes: Scope.ofAPI)
        // Who may open a socket is said by its permissions.
        let isSocket = if case .unix = listener.address { true } else { false }
        let namesCallers = section.has("keys") || section.has("clientCertificates")
        let isOpen = section.bool("anonymous", default: isSocket && !namesCallers)
        if isOpen {
            if !callers.isEmpty {
                section.note(at: "anonymous", message: "must be false if there are keys or clientCertificates")
            }
            if !listener.address.isLocal {
                section.note(
                    at: "anonymous",
                    message:
                        "is allowed only on loopback addresses and unix sockets; create keys with: playgate keys api NAME"
                )
            }
        } else if callers.isEmpty, !section.isFaulty {
            section.note(
                at: "keys",
                message:
                    "no caller is allowed: add keys (playgate keys api NAME) or clientCertificates, or anonymous: true on loopback"
            )
        }
        self.listener = listener
        self.callers = isOpen ? nil : callers
        hosts = section.hostNames("hosts").map { String($0.text) }
        hosted = section.choices("tvs", of: Hosted.Option.self).map { options in
            Hosted(allowsGet: options.contains(.get), allowsHTTP: options.contains(.http))
        }
    }
}

extension GateConfiguration.API {
    /// The settings of the paths `/tvs/v1`.
    package struct Hosted: Hashable, Sendable {
        /// True if GET is permitted too. It leaves tokens in the logs of everything in between.
        package var allowsGet: Bool
        /// True if URLs with http are signed too.
        package var allowsHTTP: Bool

        /// The methods and schemes that `tvs` may permit besides POST and https.
        fileprivate enum Option: String, CaseIterable { case get, http, post }
    }
}

extension Caller {
    /// Reads the callers of a listener: `keys` and `clientCertificates`.
    package static func list(
        in section: ConfigurationSection,
        of listener: GateConfiguration.Listener,
        scopes: [Scope]
    ) -> [Caller] {
        let keys = section.list("keys") { Caller($0, scopes: scopes) { .key(sha256: $0) } }
        let certificates = section.list("clientCertificates") {
            Caller($0, scopes: scopes) { .certificate(sha256: $0) }
        }
        if !certificates.isEmpty, listener.tls?.clientAuthorities == nil {
            section.note(
                at: "clientCertificates",
                message: "requires tls.authorities to request client certificates"
            )
        }
        let callers = keys + certificates
        let names = callers.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            section.note(at: "keys", message: "two callers have the name \(twice)")
        }
        return callers
    }

    private init(_ section: ConfigurationSection, scopes known: [Scope], credential: ([UInt8]) -> Credential) {
        let digestKey = "sha256"
        name = section.requiredString("name")
        resources = known.contains(.tvs) ? section.strings("resources") : nil
        let digest = section.parsed(digestKey, default: [UInt8](), isSecret: true) { text throws(ParseFault) in
            guard let fingerprint = TokenFingerprint(hexadecimal: text.filter { $0 != ":" }) else {
                throw ParseFault("must be a SHA-256 digest: 64 hexadecimal digits")
            }
            return fingerprint.bytes
        }
        if !section.has(digestKey) { section.note(at: digestKey, message: "\(digestKey) is missing") }
        self.credential = credential(digest)
        var scopes: Set<Scope> = []
        for name in section.strings("scopes") ?? [] {
            guard let scope = Scope(rawValue: name), known.contains(scope) else {
                let names = known.map(\.rawValue).joined(separator: ", ")
                section.note(at: "scopes", message: "\(name) is not a scope; known: \(names)")
                continue
            }
            scopes.insert(scope)
        }
        if !section.has("scopes") {
            section.note(at: "scopes", message: "scopes is missing: name the allowed operations")
        }
        self.scopes = scopes
    }
}
