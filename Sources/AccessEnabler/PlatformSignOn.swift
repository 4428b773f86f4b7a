// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements

/// The single sign-on of a platform, which the platform's own code implements: its picker, its login, its settings.
public protocol PlatformSignOn: Sendable {
    /// Whether the viewer is signed on now, and with which provider; nil where not, or where the application may not know.
    func currentProvider() async -> String?

    /// Shows the platform's picker with these providers, first those that are featured, until the viewer is done.
    func present(_ mvpds: [MVPD], featured: [MVPD]) async -> PlatformSignOnOutcome

    /// Has the platform ask its provider for an assertion.
    ///
    /// - Parameters:
    ///   - mvpd: The provider that was chosen.
    ///   - request: What the service asks of the provider: the request of a profile, as the service gave it.
    /// - Returns: The SAML response in Base64; nil where the platform gives none.
    func assertion(_ mvpd: MVPD, request: String) async -> String?
}

/// How the viewer left the platform's picker.
public enum PlatformSignOnOutcome: Hashable, Sendable {
    /// The viewer is signed on with this provider.
    case signedOn(mvpd: String)
    /// The viewer wants another provider than the platform knows: `N003`.
    case otherProvider
    /// The viewer chose a provider that the platform cannot sign on with: `N004`. It goes on in a browser.
    case unsupported(mvpd: String)
    /// The viewer left: `N005`.
    case cancelled
    /// The application may not use it, or the viewer forbids it: `VSA404`.
    case notPermitted
    /// It is out of order: `VSA503`.
    case unavailable
}

/// Which providers a platform's picker shows: the documented `TV_PROVIDERS` and `FEATURED_TV_PROVIDERS`.
public struct ProviderFilter: Hashable, Sendable {
    /// The ids of all that are shown, in their order.
    public let providers: [String]
    /// The ids of those that are shown first; those that are not among ``providers`` are passed over.
    public let featured: [String]

    /// Makes a filter.
    public init(providers: [String], featured: [String] = []) {
        self.providers = providers
        self.featured = featured
    }

    /// Those of `mvpds` that the platform can sign on with, as the filter has them; all of these where there is no filter, or
    /// none of the filter's can.
    static func apply(_ filter: ProviderFilter?, to mvpds: [MVPD]) -> (all: [MVPD], featured: [MVPD]) {
        let able = mvpds.filter(\.supportsPlatformSSO)
        guard let filter else { return (able, []) }
        let all = filter.providers.compactMap { id in able.first { $0.id == id } }
        guard !all.isEmpty else { return (able, []) }
        return (all, filter.featured.compactMap { id in all.first { $0.id == id } })
    }
}
