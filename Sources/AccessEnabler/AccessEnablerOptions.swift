// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
public import MediaTokens

/// What an application tells its client, and what goes along with every call: the documented `setOptions:`.
public struct AccessEnablerOptions: Sendable {
    /// `applicationProfile`: which of the programmer's configurations at the service is meant.
    public var applicationProfile: String?
    /// `visitorID`: the visitor at the programmer's analytics.
    public var visitorID: String?
    /// `handleSVC`: whether the application opens the system's browser itself, where a provider needs it.
    public var handleSVC: Bool
    /// `device_info`: what the device is, in the service's names; in place of all that the client would say.
    public var deviceInformation: [String: String]
    /// The address of the device, where a server asks for it: the service counts calls, and places devices, by that.
    public var deviceAddress: String?
    /// What tracking events say of the device.
    public var device: TrackingEvent.Device
    /// Where browsers are sent at the end of a login or logout, and which no browser must load.
    public var redirectURL: String
    /// How a viewer logs in.
    public var login: Login
    /// The programmer's private key, for metadata that is encrypted for it.
    public var metadataKey: MetadataKey?
    /// For how long an answer to a preauthorization may be given again from memory; a day at most.
    public var preauthorizationLife: Duration

    /// How a viewer logs in.
    public enum Login: Hashable, Sendable {
        /// In a browser on this device.
        case browser
        /// On another device, by a code that this one shows; this one asks every so often whether it is done.
        case secondScreen(askingEvery: Duration)
    }

    /// The documented `ADOBEPASS_REDIRECT_URL`.
    public static let documentedRedirectURL = "adobepass://ios.app"

    /// Makes options; without any, those of a computer with a browser.
    public init(
        applicationProfile: String? = nil,
        visitorID: String? = nil,
        handleSVC: Bool = false,
        deviceInformation: [String: String] = [
            "model": "server", "osName": "Linux", "primaryHardwareType": "Computer",
        ],
        deviceAddress: String? = nil,
        device: TrackingEvent.Device = .init(kind: .computer, client: "html5", operatingSystem: "Linux"),
        redirectURL: String = AccessEnablerOptions.documentedRedirectURL,
        login: Login = .browser,
        metadataKey: MetadataKey? = nil,
        preauthorizationLife: Duration = .seconds(300)
    ) {
        self.applicationProfile = applicationProfile
        self.visitorID = visitorID
        self.handleSVC = handleSVC
        self.deviceInformation = deviceInformation
        self.deviceAddress = deviceAddress
        self.device = device
        self.redirectURL = redirectURL
        self.login = login
        self.metadataKey = metadataKey
        self.preauthorizationLife = preauthorizationLife
    }
}
