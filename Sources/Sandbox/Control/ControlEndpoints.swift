// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The switches over HTTP, for tests. Only requests from this machine are accepted.
extension SandboxCore {
    var controlEndpoints: [Endpoint] {
        [
            Endpoint(.get, path: "/sandbox/control", operation: nil, dialect: .plain) { call in
                try guardLocal(call)
                return .json(control.switches.json)
            },
            Endpoint(.post, path: "/sandbox/control", operation: nil, dialect: .plain) { call in
                try guardLocal(call)
                let change = try SwitchChange(call.body)
                // Creating a key is slow, so it happens outside the lock.
                let key = change.needsKey ? try SandboxKeys.stranger(at: call.now) : nil
                let expired = try control.change { try change.apply(to: &$0, configuration, key: key) }
                if expired.authentication { try await store.expireProfiles(at: call.now) }
                if expired.authorization { try await store.expireAuthorizations(at: call.now) }
                return .empty(.noContent)
            },
            Endpoint(.delete, path: "/sandbox/control", operation: nil, dialect: .plain) { call in
                try guardLocal(call)
                control.reset()
                return .empty(.noContent)
            },
        ]
    }

    /// Refuses (403) peers that are not on this machine, and pages of other origins in a browser on this machine. The check
    /// of `Host` protects against DNS rebinding.
    private func guardLocal(_ call: EndpointRequest) throws {
        guard call.peer?.isLoopback ?? false else {
            throw EndpointError(
                403,
                message: "The switches accept requests only from a loopback address, such as 127.0.0.1."
            )
        }
        // A proxy on this machine forwards requests of any client, so the peer address proves nothing then.
        guard call.headers[.forwarded] == nil, call.headers[.forwardedFor] == nil else {
            throw EndpointError(
                403,
                message: "The switches refuse requests from proxies: send them to the sandbox directly."
            )
        }
        guard let host = call.host, host.namesLoopback else {
            throw EndpointError(
                403,
                message:
                    "The switches accept only the hosts 127.0.0.1, [::1] and localhost: use one of them in the URL."
            )
        }
        if let origin = call.headers[.origin], origin != "http://\(host)" {
            throw EndpointError(403, message: "The switches refuse requests from pages of other origins.")
        }
    }
}

extension SocketAddress {
    var isLoopback: Bool {
        switch self {
        case .v4, .v6:
            guard let text = ipAddress else { return false }
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        case .unixDomainSocket: return true
        }
    }
}

extension String {
    /// True if this host, with or without a port, is `localhost`, `[::1]` or in 127.0.0.0/8.
    var namesLoopback: Bool {
        var name = self[...]
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return false }
            return name[...end] == "[::1]"
        }
        if let colon = name.firstIndex(of: ":") { name = name[..<colon] }
        if name.lowercased() == "localhost" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
