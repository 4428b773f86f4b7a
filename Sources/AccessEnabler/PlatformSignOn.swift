// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements

/// The single sign-on of a platform, implemented by platform code: its picker, its login, its settings.
public protocol PlatformSignOn: Sendable {
    /// Returns the provider with which the viewer is signed on; `nil` if there is none or it is withheld.
    func currentProvider() async -> String?

    /// Shows the platform's picker with these providers, the featured ones first, until the viewer is done.
    func present(_ mvpds: [MVPD], featured: [MVPD]) async -> PlatformSignOnOutcome

    /// Requests an assertion from the provider through the platform.
    ///
    /// - Parameters:
    ///   - mvpd: The selected provider.
    ///   - request: The authentication request for the provider, as the service issued it.
    /// - Returns: The SAML response in Base64; `nil` if the platform gives none.
    func assertion(_ mvpd: MVPD, request: String) async -> String?
}

/// The result of the platform's picker.
public enum PlatformSignOnOutcome: Hashable, Sendable {
    /// The viewer is signed on with this provider.
    case signedOn(mvpd: String)
    /// The viewer wants a provider that the platform does not list: `N003`.
    case otherProvider
    /// The viewer chose a provider that the platform cannot sign on with: `N004`. The login continues in a browser.
    case unsupported(mvpd: String)
    /// The viewer left the picker: `N005`.
    case cancelled
    /// The application has no permission, or the viewer denies it: `VSA404`.
    case notPermitted
    /// The platform's single sign-on is out of order: `VSA503`.
    case unavailable
}

/// The providers that a platform's picker lists: the documented `TV_PROVIDERS` and `FEATURED_TV_PROVIDERS`.
public struct ProviderFilter: Hashable, Sendable {
    /// The ids of all providers to list, in their order.
    public let providers: [String]
    /// The ids of the providers to list first. Ids that are not in ``providers`` are ignored.
    public let featured: [String]

    /// Creates a filter.
    public init(providers: [String], featured: [String] = []) {
        self.providers = providers
        self.featured = featured
    }

    /// Returns those of `mvpds` that support the platform's single sign-on, filtered and ordered by `filter`. Without a
    /// filter, or if no provider of the filter supports it, all of them are returned.
    static func apply(_ filter: ProviderFilter?, to mvpds: [MVPD]) -> (all: [MVPD], featured: [MVPD]) {
        let able = mvpds.filter(\.supportsPlatformSSO)
        guard let filter else { return (able, []) }
        let all = filter.providers.compactMap { id in able.first { $0.id == id } }
        guard !all.isEmpty else { return (able, []) }
        return (all, filter.featured.compactMap { id in all.first { $0.id == id } })
    }
}
