// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What this service is called by whoever may ask it. A page of the internet can give a name of its own the address of this
/// machine, and then read what a browser on this machine gets by that name: the name gives it away.
struct ServiceNames: Sendable {
    /// Nil where any name will do, as other machines are to ask too.
    private let more: [String]?

    /// - Parameters:
    ///   - address: What the service listens on.
    ///   - more: The names it has besides those that every machine has for itself.
    init(listeningOn address: String, more: [String]) {
        let isLoopback = address.namesLoopback || address == "::1"
        self.more = isLoopback ? more.map { $0.lowercased() } : nil
    }

    /// Whether a `Host` header, with or without a port, is one of them.
    func contain(_ host: String?) -> Bool {
        guard let more else { return true }
        guard let host else { return false }
        if host.namesLoopback { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return more.contains(name.lowercased())
    }

    static let refusal = """
        421 Misdirected Request
        The stand-in does not go by that name: ask 127.0.0.1, [::1] or localhost, or add the name to \"hosts\" of its \
        configuration.

        """
}
