// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For portability: the documented callbacks with the documented signatures, as Swift imports them from Objective-C.

internal import Entitlements

/// A receiver of the documented callbacks with their documented signatures, on the main actor.
///
/// Only those that the documents call optional have a default. The client refers to it weakly. In new code,
/// ``AccessEnablerDelegate`` has typed values.
@MainActor public protocol EntitlementDelegate: AnyObject, Sendable {
    /// Reports the configuration: ``ACCESS_ENABLER_STATUS_SUCCESS`` or ``ACCESS_ENABLER_STATUS_ERROR``.
    func setRequestorComplete(_ status: Int32)
    /// Reports if a viewer is authenticated, with a code such as ``USER_NOT_AUTHENTICATED_ERROR``. After a logout, the status 0
    /// means success.
    func setAuthenticationStatus(_ status: Int32, errorCode code: String!)
    /// Asks for a picker of providers, each an `MVPD`.
    func displayProviderDialog(_ mvpds: [Any]!)
    /// Asks for a web view at this URL, until it is redirected to ``ADOBEPASS_REDIRECT_URL``.
    func navigate(toUrl url: String!)
    /// Asks for the system's in-app browser. Optional: the default calls ``navigate(toUrl:)``.
    func navigate(toUrl url: String!, useSVC: Bool)
    /// Delivers a media token for the gate, not in Base64.
    func setToken(_ token: String!, forResource resource: String!)
    /// Reports that there is no token, with a code such as ``USER_NOT_AUTHORIZED_ERROR``. The description is untrusted text.
    func tokenRequestFailed(_ resource: String!, errorCode code: String!, errorDescription description: String!)
    /// Delivers the selected provider; `nil` if there is none.
    func selectedProvider(_ mvpd: MVPD!)
    /// Delivers metadata: a `String` for the client's own values; a `String`, `Bool`, `Int64`, array or dictionary for those of
    /// the provider; `nil` if there is none. The key is the opcode, such as ``METADATA_AUTHENTICATION``.
    func setMetadataStatus(
        _ metadata: Any!,
        encrypted: Bool,
        forKey key: Int32,
        andArguments arguments: [AnyHashable: Any]!
    )
    /// Delivers those of the requested resources that the viewer may see. Never a reason to play.
    func preauthorizedResources(_ resources: [Any]!)
    /// Delivers an analytics event, such as ``TRACKING_AUTHENTICATION``. Optional: the default does nothing.
    func sendTrackingData(_ data: [Any]!, forEventType event: Int32)
    /// Reports that the platform shows its picker; its view controller is of the platform's code, here `nil`.
    func presentTvProviderDialog(_ viewController: Any!)
    /// Reports that the platform's picker is closed.
    func dismissTvProviderDialog(_ viewController: Any!)
}

/// A receiver of the documented `status:`. An ``EntitlementDelegate`` that conforms to it receives both.
@MainActor public protocol EntitlementStatus: AnyObject, Sendable {
    /// Delivers an advanced status: `errorId`, `level`, and possibly `message` and `resource`, all texts.
    func status(_ statusDictionary: [AnyHashable: Any]!)
}

/// Defaults of the optional callbacks.
extension EntitlementDelegate {
    public func navigate(toUrl url: String!, useSVC: Bool) { navigate(toUrl: url) }
    public func sendTrackingData(_ data: [Any]!, forEventType event: Int32) {}
}

extension AccessEnabler {
    /// The receiver of the documented callbacks, not retained; it replaces the delegate of the initializer.
    public nonisolated var delegate: (any EntitlementDelegate)? {
        get { (callbacks.delegate as? DocumentedDelegate)?.target }
        set { callbacks.use { [weak newValue] in newValue.map { DocumentedDelegate(target: $0) } } }
    }
}

/// Calls a documented delegate with the values of the typed one.
private struct DocumentedDelegate: AccessEnablerDelegate {
    let target: any EntitlementDelegate

    @MainActor func setRequestorComplete(_ status: AccessEnablerStatus) {
        target.setRequestorComplete(Int32(status.rawValue))
    }
    @MainActor func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) {
        target.setAuthenticationStatus(Int32(status.rawValue), errorCode: errorCode.rawValue)
    }
    @MainActor func displayProviderDialog(_ mvpds: [MVPD]) { target.displayProviderDialog(mvpds) }
    @MainActor func navigateToURL(_ url: String, useSVC: Bool) {
        if useSVC { target.navigate(toUrl: url, useSVC: true) } else { target.navigate(toUrl: url) }
    }
    @MainActor func setToken(_ token: String, forResource resource: String) {
        target.setToken(token, forResource: resource)
    }
    @MainActor func tokenRequestFailed(_ resource: String, errorCode: EntitlementErrorCode, errorDescription: String) {
        target.tokenRequestFailed(resource, errorCode: errorCode.rawValue, errorDescription: errorDescription)
    }
    @MainActor func selectedProvider(_ mvpd: MVPD?) { target.selectedProvider(mvpd) }
    @MainActor func setMetadataStatus(
        _ metadata: MetadataValue?,
        encrypted: Bool,
        forKey key: Int,
        andArguments arguments: [String: String]
    ) {
        var arguments: [AnyHashable: Any] = arguments
        if key >= 0 { arguments[METADATA_OPCODE_KEY] = Int32(key) }
        let value = metadata.flatMap { $0 == .null ? nil : $0.object }
        target.setMetadataStatus(value, encrypted: encrypted, forKey: Int32(key), andArguments: arguments)
    }
    @MainActor func preauthorizedResources(_ resources: [String]) { target.preauthorizedResources(resources) }
    @MainActor func sendTrackingData(_ data: [String], forEventType event: TrackingEventType) {
        target.sendTrackingData(data, forEventType: Int32(event.rawValue))
    }
    @MainActor func presentTvProviderDialog() { target.presentTvProviderDialog(nil) }
    @MainActor func dismissTvProviderDialog() { target.dismissTvProviderDialog(nil) }
    @MainActor func status(_ status: AdvancedStatus) {
        var members = ["errorId": status.errorID, "level": status.level.rawValue]
        members["message"] = status.message
        members["resource"] = status.resource
        (target as? any EntitlementStatus)?.status(members)
    }
}

extension MetadataValue {
    /// The value without its type, as it comes from JSON; an absent optional for `null`.
    fileprivate var object: Any {
        switch self {
        case .text(let text): text
        case .number(let number): number
        case .truth(let truth): truth
        case .null: Any?.none as Any
        case .list(let list): list.map(\.object)
        case .map(let map): map.mapValues(\.object)
        }
    }
}
