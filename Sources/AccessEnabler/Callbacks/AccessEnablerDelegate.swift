// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements

/// A receiver of the documented callbacks in typed form; ``EntitlementDelegate`` has the documented one. Each event calls its
/// callback exactly once.
///
/// Callbacks run one after another, in the order of their events, and the client does not wait for them. The client's
/// functions return the same values, so only the two callbacks are required for which a login waits:
/// ``displayProviderDialog(_:)`` and ``navigateToURL(_:useSVC:)``. A callback may call the client, but must not wait for an
/// effect of a later callback: ``displayProviderDialog(_:)`` may await `AccessEnabler.setSelectedProvider(_:)`,
/// but not ``AccessEnabler/getAuthentication(force:data:filter:)``. If a callback never returns, the later callbacks stay
/// queued without limit. The client retains its delegate for its whole lifetime, so a delegate must refer to its client
/// weakly.
public protocol AccessEnablerDelegate: Sendable {
    /// Reports that the configuration is available, or failed: `setRequestorComplete:`.
    func setRequestorComplete(_ status: AccessEnablerStatus) async

    /// Reports if a viewer is authenticated, also after a logout: `setAuthenticationStatus:errorCode:`.
    func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async

    /// Calls the application to display these providers, and then to select the viewer's choice, or `nil` if the viewer
    /// goes back: `displayProviderDialog:`.
    func displayProviderDialog(_ mvpds: [MVPD]) async

    /// Asks the application to open a URL in a browser, in that of the system if `useSVC` is true: `navigateToUrl:`,
    /// `navigateToUrl:useSVC:`. When the browser is redirected to the redirect URL, do not load it: close the browser and
    /// call `handleExternalURL`. If the browser fails or is closed, select no provider (`nil`), also in a logout.
    func navigateToURL(_ url: String, useSVC: Bool) async

    /// Delivers a media token for the gate, not in Base64: the viewer may play. `setToken:forResource:`.
    func setToken(_ token: String, forResource resource: String) async

    /// Reports that there is no token: `tokenRequestFailed:errorCode:errorDescription:`. The description is untrusted text.
    func tokenRequestFailed(_ resource: String, errorCode: EntitlementErrorCode, errorDescription: String) async

    /// Delivers the selected provider, `nil` if there is none: `selectedProvider:`.
    func selectedProvider(_ mvpd: MVPD?) async

    /// Delivers the answer to a metadata request: `setMetadataStatus:encrypted:forKey:andArguments:`.
    func setMetadataStatus(
        _ metadata: MetadataValue?,
        encrypted: Bool,
        forKey key: Int,
        andArguments arguments: [String: String]
    ) async

    /// Delivers those of the requested resources that the viewer may see: `preauthorizedResources:`. Never a reason to play.
    func preauthorizedResources(_ resources: [String]) async

    /// Delivers an analytics event: `sendTrackingData:forEventType:`.
    func sendTrackingData(_ data: [String], forEventType event: TrackingEventType) async

    /// Reports that the platform displays its own picker: `presentTvProviderDialog:`.
    func presentTvProviderDialog() async

    /// Reports that the platform's picker is closed: `dismissTvProviderDialog:`.
    func dismissTvProviderDialog() async

    /// Delivers an advanced status, in addition to the other callbacks: `status:`.
    func status(_ status: AdvancedStatus) async

    /// Reports the end of a logout, after the documented `setAuthenticationStatus:` with the status 0.
    func logoutComplete(_ status: LogoutStatus) async
}

/// Default implementations that do nothing.
extension AccessEnablerDelegate {
    public func setRequestorComplete(_ status: AccessEnablerStatus) async {}
    public func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async {}
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
