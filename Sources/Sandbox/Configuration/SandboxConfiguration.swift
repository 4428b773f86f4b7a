// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import MediaResources
internal import MediaTokens

/// What a stand-in service plays: programmers, providers, households and what they pay for.
package struct SandboxConfiguration: Sendable {
    let requestors: [Requestor]
    let providers: [Provider]
    let packages: [Package]
    let households: [Household]
    let degradation: [DegradationRule]
    /// Nil where nobody is throttled.
    let throttling: Throttling?
    /// How long a media token may start a playback, in milliseconds.
    let mediaTokenLifetime: Int64
    let concurrency: Concurrency
    let demo: Demo
    /// The names that the service goes by besides those of loopback.
    let hosts: [String]

    /// A programmer.
    struct Requestor: Sendable {
        let id: String
        let name: String
        let domains: [String]
        /// The ids of the providers that work with it; nil for all.
        let providers: [String]?
        /// The software statements that its applications have; nil for any well-formed one.
        let statements: [String]?
        /// Software statements that are no longer good for anything.
        let unapprovedStatements: [String]
        /// Whether preauthorization says why a resource is denied.
        let explainsDenials: Bool
        let maximumPreauthorizedResources: Int
        /// What of a viewer's metadata is for the programmer's eyes only.
        let encryption: Encryption?

        struct Encryption: Sendable {
            let certificate: MetadataCertificate
            let keys: [String]
        }
    }

    /// A TV provider.
    struct Provider: Sendable {
        let description: MVPD
        /// The provider that stands before it; it is named in tokens.
        let proxy: String?
        let temporaryAccess: TemporaryAccess?
        /// For how long a login holds, in milliseconds.
        let authenticationLifetime: Int64
        /// For how long an authorization holds, in milliseconds.
        let authorizationLifetime: Int64
        /// Whether it looks at nothing but the channel of a resource.
        let isChannelOnly: Bool
        /// Whether a browser must go there to log out.
        let logsOutInBrowser: Bool

        var id: String { description.id }
    }

    /// Access without a login, for a while.
    struct TemporaryAccess: Sendable {
        /// In milliseconds, from the first authorization on.
        let duration: Int64
        /// Nil for any number.
        let maximumResources: Int?
        /// Whether it goes by what the application says of the viewer, and not by the device.
        let isPromotional: Bool
    }

    /// What a household can pay for.
    struct Package: Sendable {
        let id: String
        let channels: [String]
        let resources: [MediaResource]

        /// Whether `resource` is in this package, as a provider sees it that may look at channels alone.
        func contains(_ resource: MediaResource, byChannelOnly: Bool) -> Bool {
            if channels.contains(where: { $0.hasSameBytes(as: resource.channel) }) { return true }
            return resources.contains { own in
                byChannelOnly ? own.channel.hasSameBytes(as: resource.channel) : own.covers(resource)
            }
        }
    }

    /// Who lives together and pays once.
    struct Household: Sendable {
        let id: String
        let zip: String
        let packages: [Package]
        let maximumRatings: [Rating]
        let users: [User]
    }

    /// Who can log in.
    struct User: Sendable {
        let name: String
        let password: String
        let id: String
        /// In place of those of the household, where there are any.
        let maximumRatings: [Rating]
        /// What else is told of the viewer, by its names.
        let metadata: [(key: String, value: String)]
    }

    /// What is done in a provider's place while it is out of order.
    struct DegradationRule: Sendable {
        let requestor: String
        let provider: String
        let kind: Kind

        enum Kind: String, CaseIterable, Sendable {
            /// Everybody is authenticated and authorized.
            case authNAll
            /// Everybody who is authenticated is authorized.
            case authZAll
            /// Nobody is authorized.
            case authZNone
        }
    }

    /// A bucket of tokens for each device.
    struct Throttling: Sendable {
        /// How many requests a second it is filled with.
        let rate: Int
        /// How many requests fit in.
        let burst: Int
    }

    /// How many streams a household may watch at once.
    struct Concurrency: Sendable {
        let limit: Int
        let strategy: Strategy
        /// The names of metadata that a stream must come with.
        let requiredMetadata: [String]

        enum Strategy: String, CaseIterable, Sendable {
            /// The new stream starts, and the oldest is ended.
            case evictOldest
            /// The new stream does not start.
            case rejectNew
        }
    }

    /// What the demo page shows.
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

    /// The provider, where it works with a requestor.
    func provider(_ id: String, of requestor: Requestor) -> Provider? {
        providers(of: requestor).first { $0.id.hasSameBytes(as: id) }
    }

    func user(_ name: String) -> (user: User, household: Household)? {
        for household in households {
            if let user = household.users.first(where: { $0.name.hasSameBytes(as: name) }) { return (user, household) }
        }
        return nil
    }

    /// The providers that work with a requestor.
    func providers(of requestor: Requestor) -> [Provider] {
        guard let ids = requestor.providers else { return providers }
        return ids.compactMap { provider($0) }
    }

    /// What clients get to know of a requestor.
    func description(of requestor: Requestor) -> ServiceConfiguration {
        ServiceConfiguration(
            id: requestor.id,
            name: requestor.name,
            domains: requestor.domains.map { ServiceConfiguration.Domain(name: $0) },
            mvpds: providers(of: requestor).map(\.description)
        )
    }
}
