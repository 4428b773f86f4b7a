// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements

/// What an application hears of its client: the documented callbacks, each of them exactly once for what it tells of.
///
/// They come one after another, in the order of what they tell, and the client goes on meanwhile. All of them also are, in
/// typed form, what the client's functions return; an application needs those it wants to draw something for. A callback
/// may call the client, but must not wait there for what only a later callback can bring about: ``displayProviderDialog(_:)``
/// may await ``AccessEnabler/setSelectedProvider(_:)``, and not ``AccessEnabler/getAuthentication(force:data:filter:)``. Where it
/// never comes back, those that come later are kept for it, without end. The client keeps its delegate as long as it lives
/// itself: a delegate refers to its client weakly.
public protocol EntitlementDelegate: Sendable {
    /// The configuration is there, or is not: `setRequestorComplete:`.
    func setRequestorComplete(_ status: AccessEnablerStatus) async

    /// Somebody is authenticated, or is not: `setAuthenticationStatus:errorCode:`.
    func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async

    /// Show these providers and have the viewer choose, then call ``AccessEnabler/setSelectedProvider(_:)``, with nil where
    /// the viewer goes back: `displayProviderDialog:`.
    func displayProviderDialog(_ mvpds: [MVPD]) async

    /// Open this in a browser, of the system where `useSVC` is true. Where it goes to the redirect URL, do not load that:
    /// close the browser and call ``AccessEnabler/handleExternalURL(_:)``. `navigateToUrl:`, `navigateToUrl:useSVC:`.
    func navigateToURL(_ url: String, useSVC: Bool) async

    /// The viewer may play: a media token as it is, for the gate: `setToken:forResource:`.
    func setToken(_ token: String, forResource resource: String) async

    /// The viewer may not play: `tokenRequestFailed:errorCode:errorDescription:`. The description is untrusted text.
    func tokenRequestFailed(_ resource: String, errorCode: EntitlementErrorCode, errorDescription: String) async

    /// The provider that is chosen; nil where none is: `selectedProvider:`.
    func selectedProvider(_ mvpd: MVPD?) async

    /// The answer to a question for metadata: `setMetadataStatus:encrypted:forKey:andArguments:`.
    func setMetadataStatus(
        _ metadata: MetadataValue?,
        encrypted: Bool,
        forKey key: Int,
        andArguments arguments: [String: String]
    ) async

    /// Those of the resources asked for that the viewer may see; never a reason to play: `preauthorizedResources:`.
    func preauthorizedResources(_ resources: [String]) async

    /// What analytics count: `sendTrackingData:forEventType:`.
    func sendTrackingData(_ data: [String], forEventType event: TrackingEventType) async

    /// The platform shows its own picker now: `presentTvProviderDialog:`.
    func presentTvProviderDialog() async

    /// The platform's picker is gone: `dismissTvProviderDialog:`.
    func dismissTvProviderDialog() async

    /// What is worth knowing beside all this: `status:`.
    func status(_ status: AdvancedStatus) async

    /// A logout is done. Documented as `setAuthenticationStatus:` with the status 0, which elsewhere is an error.
    func logoutComplete(_ status: LogoutStatus) async
}

/// What an application does not want to hear, it need not write down.
extension EntitlementDelegate {
    public func setRequestorComplete(_ status: AccessEnablerStatus) async {}
    public func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async {}
    public func displayProviderDialog(_ mvpds: [MVPD]) async {}
    public func navigateToURL(_ url: String, useSVC: Bool) async {}
    public func setToken(_ token: String, forResource resource: String) async {}
    public func tokenRequestFailed(
        _ resource: String,
        errorCode: EntitlementErrorCode,
        errorDescription: String
    ) async {}
    public func selectedProvider(_ mvpd: MVPD?) async {}
    public func setMetadataStatus(
        _ metadata: MetadataValue?,
        encrypted: Bool,
        forKey key: Int,
        andArguments arguments: [String: String]
    ) async {}
    public func preauthorizedResources(_ resources: [String]) async {}
    public func sendTrackingData(_ data: [String], forEventType event: TrackingEventType) async {}
    public func presentTvProviderDialog() async {}
    public func dismissTvProviderDialog() async {}
    public func status(_ status: AdvancedStatus) async {}
    public func logoutComplete(_ status: LogoutStatus) async {}
}
