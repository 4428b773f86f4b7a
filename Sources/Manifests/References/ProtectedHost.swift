// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// A host that may see the grant, with its port.
struct ProtectedHost: Hashable, Sendable {
    /// The host in lower case, without a trailing dot.
    let host: Substring
    /// The port; `nil` for the default port of the scheme.
    let port: UInt16?

    private init?(_ authority: Substring) {
        guard let parsed = URIAuthority(authority) else { return nil }
        host = parsed.host
        port = parsed.port
    }

    private init(host: Substring, port: UInt16?) {
        self.host = host
        self.port = port
    }

    /// Reads the hosts that a caller names.
    static func set(named names: [String]?, base: ReferenceBase) throws(ManifestRulesError) -> Set<ProtectedHost> {
        guard let names else {
            let own = ProtectedHost(Substring(decoding: base.authority, as: UTF8.self))
            return own.map { [$0.without(base.scheme)] } ?? []
        }
        guard 1...ManifestRules.maximumHosts ~= names.count else {
            throw ManifestRulesError(
                .hostInvalid,
                reason: "1 to \(ManifestRules.maximumHosts) protected hosts are possible"
            )
        }
        var hosts: Set<ProtectedHost> = []
        for name in names {
            guard let host = ProtectedHost(name[...]) else {
                throw ManifestRulesError(
                    .hostInvalid,
                    reason: "the protected host '\(name.printable(limit: 80))' is not a name or an address"
                )
            }
            hosts.insert(host)
        }
        return hosts
    }

    /// Returns true if an authority is a protected one; `nil` if it is not valid.
    ///
    /// - Parameters:
    ///   - scheme: The scheme of the reference.
    ///   - own: The scheme of the manifest. A reference by `http` in a manifest by `https` is not protected.
    static func contains(
        _ hosts: Set<ProtectedHost>,
        scheme: RequestURI.Scheme?,
        authority: Span<UInt8>,
        own: RequestURI.Scheme?
    ) -> Bool? {
        var bytes: [UInt8] = []
        bytes.append(copying: authority)
        guard let scheme, let named = ProtectedHost(Substring(decoding: bytes, as: UTF8.self)) else { return nil }
        guard own == .http || scheme == .https else { return false }
        if hosts.contains(named) { return true }
        // A default port may be written, or left out.
        let plain = named.without(scheme)
        return hosts.contains(plain) || (plain.port == nil && hosts.contains(plain.with(scheme)))
    }

    private func without(_ scheme: RequestURI.Scheme?) -> ProtectedHost {
        guard let scheme, port == scheme.defaultPort else { return self }
        return ProtectedHost(host: host, port: nil)
    }

    private func with(_ scheme: RequestURI.Scheme) -> ProtectedHost {
        ProtectedHost(host: host, port: scheme.defaultPort)
    }
}
