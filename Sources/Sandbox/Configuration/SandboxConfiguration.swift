// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaResources
internal import MediaTokens

/// The configuration of the sandbox: programmers, providers, households and their packages.
package struct SandboxConfiguration: Sendable {
    let requestors: [Requestor]
    let providers: [Provider]
    let packages: [Package]
    let households: [Household]
    let degradation: [DegradationRule]
    /// The initial throttling; `nil` if requests are not throttled.
    let throttling: Throttling?
    /// The lifetime of a media token in milliseconds, from 1 s to 900 s.
    let mediaTokenLifetime: Int64
    let concurrency: Concurrency
    let demo: Demo
    /// The host names of the service besides the loopback names.
    let hosts: [String]

    /// A programmer.
    struct Requestor: Sendable {
        let id: String
        let name: String
        let domains: [String]
        /// The ids of the providers that work with it; `nil` for all.
        let providers: [String]?
        /// The software statements of its applications; `nil` accepts any well-formed statement.
        let statements: [String]?
        /// Software statements that registration refuses as unapproved.
        let unapprovedStatements: [String]
        /// True if preauthorization returns the reason for a denial.
        let explainsDenials: Bool
        let maximumPreauthorizedResources: Int
        /// The metadata that only the programmer can read, and the certificate to encrypt it for.
        let encryption: Encryption?

        struct Encryption: Sendable {
            let certificate: MetadataCertificate
            let keys: [String]
        }
    }

    /// A TV provider.
    struct Provider: Sendable {
        let description: MVPD
        /// The proxy MVPD of the provider, which tokens name.
        let proxy: String?
        let temporaryAccess: TemporaryAccess?
        /// The lifetime of a login in milliseconds.
        let authenticationLifetime: Int64
        /// The lifetime of an authorization in milliseconds.
        let authorizationLifetime: Int64
        /// True if it decides by the channel of a resource alone.
        let isChannelOnly: Bool
        /// True if a logout requires a browser.
        let logsOutInBrowser: Bool

        var id: String { description.id }
    }

    /// Temporary access without a login.
    struct TemporaryAccess: Sendable {
        /// The duration in milliseconds, from the first authorization.
        let duration: Int64
        /// The maximum number of resources; `nil` for no limit.
        let maximumResources: Int?
        /// True if access is bound to what the application sends about the viewer, not to the device.
        let isPromotional: Bool
    }

    /// A package of channels and resources that households pay for.
    struct Package: Sendable {
        let id: String
        let channels: [String]
        let resources: [MediaResource]

        /// True if `resource` is in this package. With `byChannelOnly`, only its channel is compared.
        func contains(_ resource: MediaResource, byChannelOnly: Bool) -> Bool {
            if channels.contains(where: { $0.hasSameBytes(as: resource.channel) }) { return true }
            return resources.contains { own in
                byChannelOnly ? own.channel.hasSameBytes(as: resource.channel) : own.covers(resource)
            }
        }
    }

    /// A household, whose users share its packages.
    struct Household: Sendable {
        let id: String
        let zip: String
        let packages: [Package]
        let maximumRatings: [Rating]
        let users: [User]
    }

    /// A user who can log in.
    struct User: Sendable {
        let name: String
        let password: String
        let id: String
        /// The rating limits of the user; if empty, those of the household apply.
        let maximumRatings: [Rating]
        /// Further metadata of the user, by name.
        let metadata: [(key: String, value: String)]
    }

    /// A rule that replaces a provider's decisions during an outage.
    struct DegradationRule: Sendable {
        let requestor: String
        let provider: String
        let kind: Kind

        enum Kind: String, CaseIterable, Sendable {
            /// Every viewer is authenticated and authorized.
            case authNAll
            /// Every authenticated viewer is authorized.
            case authZAll
            /// No viewer is authorized.
            case authZNone
        }
    }

    /// The token bucket of each device.
    struct Throttling: Sendable {
        /// The number of requests that the bucket gains each second.
        let rate: Int
        /// The number of requests that the bucket holds.
        let burst: Int
    }

    /// The limit of concurrent streams of a household.
    struct Concurrency: Sendable {
        let limit: Int
        let strategy: Strategy
        /// The names of the metadata that a stream must have.
        let requiredMetadata: [String]

        enum Strategy: String, CaseIterable, Sendable {
            /// The new stream starts, and the oldest stream is ended.
            case evictOldest
            /// The new stream does not start.
            case rejectNew
        }
    }

    /// The content of the demo page.
    struct Demo: Sendable {
        let title: String
        let requestor: String
        let items: [Item]

        struct Item: Sendable {
            let media: String
            let title: String
            let description: String
            let resource: String?
            let path: String
            let isProtected: Bool
        }
    }
}

extension SandboxConfiguration {
    func requestor(_ id: String) -> Requestor? { requestors.first { $0.id.hasSameBytes(as: id) } }

    func provider(_ id: String) -> Provider? { providers.first { $0.id.hasSameBytes(as: id) } }

    /// Returns the provider with that id, if it works with `requestor`.
    func provider(_ id: String, of requestor: Requestor) -> Provider? {
        providers(of: requestor).first { $0.id.hasSameBytes(as: id) }
    }

    func user(_ name: String) -> (user: User, household: Household)? {
        for household in households {
            if let user = household.users.first(where: { $0.name.hasSameBytes(as: name) }) { return (user, household) }
        }
        return nil
    }

    /// Returns the providers that work with a requestor.
    func providers(of requestor: Requestor) -> [Provider] {
        guard let ids = requestor.providers else { return providers }
        return ids.compactMap { provider($0) }
    }

    /// Returns the configuration of a requestor for clients.
    func description(of requestor: Requestor) -> ServiceConfiguration {
        ServiceConfiguration(
            id: requestor.id,
            name: requestor.name,
            domains: requestor.domains.map { ServiceConfiguration.Domain(name: $0) },
            mvpds: providers(of: requestor).map(\.description)
        )
    }
}
