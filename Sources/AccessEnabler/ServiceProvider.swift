// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The address of an entitlement service, and the interface to use.
public struct ServiceProvider: Hashable, Sendable {
    /// The interfaces of the service.
    public enum Interface: String, Sendable, CaseIterable {
        /// REST API v1, which older client libraries use.
        case v1
        /// REST API v2.
        case v2
    }

    /// The URL of the service, without a path: `https://…`.
    public var url: String
    /// The interface.
    public var interface: Interface

    /// Creates a provider.
    public init(url: String, interface: Interface = .v2) {
        self.url = url
        self.interface = interface
    }

    /// The documented default service.
    public static let production = ServiceProvider(url: "https://sp.auth.adobe.com")
    /// The documented staging service.
    public static let staging = ServiceProvider(url: "https://sp.auth-staging.adobe.com")
}
