// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Where an entitlement service is, and which of its interfaces it is asked by.
public struct ServiceProvider: Hashable, Sendable {
    /// The interfaces of the service.
    public enum Interface: String, Sendable, CaseIterable {
        /// REST API v1, by which older client libraries go.
        case v1
        /// REST API v2.
        case v2
    }

    /// Its URL, without a path: `https://…`.
    public var url: String
    /// The interface.
    public var interface: Interface

    /// Makes a provider.
    public init(url: String, interface: Interface = .v2) {
        self.url = url
        self.interface = interface
    }

    /// The documented default.
    public static let production = ServiceProvider(url: "https://sp.auth.adobe.com")
    /// Its stage for tests.
    public static let staging = ServiceProvider(url: "https://sp.auth-staging.adobe.com")
}
