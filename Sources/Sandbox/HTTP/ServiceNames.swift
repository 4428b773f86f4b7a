// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The host names that the service answers to, as a defence against DNS rebinding. A page of another site can make its own
/// name resolve to this machine, and then read what a browser on this machine receives. The `Host` header field exposes that
/// name.
struct ServiceNames: Sendable {
    /// The configured names in lower case; `nil` if every name is accepted, because other machines may send requests too.
    private let more: [String]?

    /// Creates the names of a service.
    ///
    /// - Parameters:
    ///   - address: The address that the service listens on.
    ///   - more: The names besides the loopback names. They count only if `address` is a loopback address.
    init(listeningOn address: String, more: [String]) {
        let isLoopback = address.namesLoopback || address == "::1"
        self.more = isLoopback ? more.map { $0.lowercased() } : nil
    }

    /// True if a `Host` header field, with or without a port, names this service.
    func contain(_ host: String?) -> Bool {
        guard let more else { return true }
        guard let host else { return false }
        if host.namesLoopback { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return more.contains(name.lowercased())
    }

    static let refusal = """
        421 Misdirected Request
        The host name is not allowed: use 127.0.0.1, [::1] or localhost, or add the name to \"hosts\" of the sandbox's \
        configuration.

        """
}
