// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
public import MediaTokens

/// The settings of a client, and the values that it sends with every request: the documented `setOptions:`.
public struct AccessEnablerOptions: Sendable {
    /// `applicationProfile`: the programmer's configuration to use at the service.
    public var applicationProfile: String?
    /// `visitorID`: the visitor's id in the programmer's analytics.
    public var visitorID: String?
    /// `handleSVC`: true if the application opens the system's in-app browser itself for the providers that need one
    /// (`MVPD.requiresSVC`).
    public var handleSVC: Bool
    /// `device_info`: the description of the device, in the service's names. It replaces the client's default description.
    public var deviceInformation: [String: String]
    /// `device_info` as the application encoded it, a JSON object in Base64. It replaces ``deviceInformation``.
    public var encodedDeviceInformation: String?
    /// Other options, keyed by name: parameters of every request and of every URL of the service for a browser.
    public var others: [String: String]
    /// The address of the device, if a server makes the requests: the service limits rates and locates devices by it.
    public var deviceAddress: String?
    /// The device in tracking events.
    public var device: TrackingEvent.Device
    /// The URL to which browsers are redirected at the end of a login or a logout. The browser must not load it.
    public var redirectURL: String
    /// The redirect URL with the application's own scheme, for the providers that need the system's in-app browser, if
    /// ``handleSVC`` is true: `adbe.<id>://adobe.com`. Without one they have ``redirectURL`` too.
    public var applicationRedirectURL: String?
    /// The login method.
    public var login: Login
    /// The programmer's private key, for metadata that is encrypted for it.
    public var metadataKey: MetadataKey?
    /// The time for which a preauthorization decision may be returned from the cache, at most one day.
    public var preauthorizationLife: Duration

    /// True if the programmer may read the id of the device (`METADATA_DEVICE_ID`), which is off by default.
    public var isDeviceIDAvailable: Bool

    /// The login method.
    public enum Login: Hashable, Sendable {
        /// A browser on this device.
        case browser
        /// A login on another device, with a code that this one displays. The polling interval is at least one second.
        case secondScreen(askingEvery: Duration)
    }

    /// The documented `ADOBEPASS_REDIRECT_URL`.
    public static let documentedRedirectURL = "adobepass://ios.app"

    /// Creates options. The defaults describe a Linux computer with a browser.
    public init(
        applicationProfile: String? = nil,
        visitorID: String? = nil,
        handleSVC: Bool = false,
        deviceInformation: [String: String] = [
            "model": "server", "osName": "Linux", "primaryHardwareType": "Computer",
        ],
        encodedDeviceInformation: String? = nil,
        others: [String: String] = [:],
        deviceAddress: String? = nil,
        device: TrackingEvent.Device = .init(kind: .computer, client: "html5", operatingSystem: "Linux"),
        redirectURL: String = AccessEnablerOptions.documentedRedirectURL,
        applicationRedirectURL: String? = nil,
        login: Login = .browser,
        metadataKey: MetadataKey? = nil,
        preauthorizationLife: Duration = .seconds(300),
        isDeviceIDAvailable: Bool = false
    ) {
        self.applicationProfile = applicationProfile
        self.visitorID = visitorID
        self.handleSVC = handleSVC
        self.deviceInformation = deviceInformation
        self.encodedDeviceInformation = encodedDeviceInformation
        self.others = others
        self.deviceAddress = deviceAddress
        self.device = device
        self.redirectURL = redirectURL
        self.applicationRedirectURL = applicationRedirectURL
        self.login = login
        self.metadataKey = metadataKey
        self.preauthorizationLife = preauthorizationLife
        self.isDeviceIDAvailable = isDeviceIDAvailable
    }

    /// The redirect URL of a login or a logout at a provider; `nil` stands for one that is not known.
    func redirectURL(for mvpd: MVPD?) -> String {
        let needsApplication = handleSVC && mvpd?.requiresSVC ?? false
        return needsApplication ? applicationRedirectURL ?? redirectURL : redirectURL
    }

    /// True if a URL is at one of the redirect URLs.
    func isRedirect(_ url: String) -> Bool {
        [redirectURL, applicationRedirectURL].contains { $0.map { url.isAtOrBelow($0) } ?? false }
    }

    /// Sets options by their documented names, and the two redirect URLs by those of their properties. Unknown names
    /// are stored in ``others``.
    public mutating func set(_ values: [String: String]) {
        for (name, value) in values {
            switch name {
            case "applicationProfile": applicationProfile = value
            case "visitorID": visitorID = value
            case "handleSVC": handleSVC = ["true", "1"].contains(value)
            case "device_info": encodedDeviceInformation = value
            case "redirectURL": redirectURL = value
            case "applicationRedirectURL": applicationRedirectURL = value.isEmpty ? nil : value
            default: others[name] = value
            }
        }
    }
}
