// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A TV provider (multichannel video programming distributor).
public struct MVPD: Hashable, Sendable {
    /// The level of support for the platform's single sign-on. Unknown values are retained, and mean no support.
    public struct BoardingStatus: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The platform's picker lists the provider, and the service performs the login.
        public static let picker = BoardingStatus(rawValue: "PICKER")
        /// The platform performs the login too.
        public static let supported = BoardingStatus(rawValue: "SUPPORTED")
    }

    /// The provider's id. It is compared byte for byte, without case folding.
    public var id: String
    /// The name that viewers know.
    public var displayName: String
    /// The URL of the logo.
    public var logoURL: String?
    /// True if the provider supports the platform's single sign-on.
    public var enablePlatformServices: Bool
    /// The level of support for the platform's single sign-on; `nil` if there is none.
    public var boardingStatus: BoardingStatus?
    /// True if this is temporary access, modelled as a provider.
    public var isTempPass: Bool
    /// True if other providers are behind this one.
    public var isProxy: Bool
    /// The provider's id on the platform.
    public var platformMappingID: String?
    /// True if the platform's picker lists the provider.
    public var displayInPlatformPicker: Bool?
    /// True if the provider requires the platform's permission.
    public var enforcePlatformPermissions: Bool?
    /// True if viewers log in once for each application.
    public var authPerAggregator: Bool?
    /// True if the login page refuses web views and needs the system's in-app browser (SVC: `SFSafariViewController`). No
    /// document names the member of the configuration; here it is `requiresSVC`.
    public var requiresSVC: Bool

    /// Creates a provider.
    public init(
        id: String,
        displayName: String,
        logoURL: String? = nil,
        enablePlatformServices: Bool = false,
        boardingStatus: BoardingStatus? = nil,
        isTempPass: Bool = false,
        isProxy: Bool = false,
        platformMappingID: String? = nil,
        displayInPlatformPicker: Bool? = nil,
        enforcePlatformPermissions: Bool? = nil,
        authPerAggregator: Bool? = nil,
        requiresSVC: Bool = false
    ) {
        self.id = id
        self.displayName = displayName
        self.logoURL = logoURL
        self.enablePlatformServices = enablePlatformServices
        self.boardingStatus = boardingStatus
        self.isTempPass = isTempPass
        self.isProxy = isProxy
        self.platformMappingID = platformMappingID
        self.displayInPlatformPicker = displayInPlatformPicker
        self.enforcePlatformPermissions = enforcePlatformPermissions
        self.authPerAggregator = authPerAggregator
        self.requiresSVC = requiresSVC
    }

    /// True if the platform's single sign-on can be used with the provider.
    public var supportsPlatformSSO: Bool {
        enablePlatformServices && (boardingStatus == .picker || boardingStatus == .supported)
    }
}

extension MVPD: Codable {
    private enum Key: String, CodingKey {
        case id, displayName, logoUrl, enablePlatformServices, boardingStatus, isTempPass, isProxy, platformMappingId
        case displayInPlatformPicker, enforcePlatformPermissions, authPerAggregator, requiresSVC
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        id = try members.decode(String.self, forKey: .id)
        displayName = try members.decode(String.self, forKey: .displayName)
        logoURL = try members.decodeIfPresent(String.self, forKey: .logoUrl)
        enablePlatformServices = try members.decodeIfPresent(Bool.self, forKey: .enablePlatformServices) ?? false
        boardingStatus = try members.decodeIfPresent(String.self, forKey: .boardingStatus).map(BoardingStatus.init)
        isTempPass = try members.decodeIfPresent(Bool.self, forKey: .isTempPass) ?? false
        isProxy = try members.decodeIfPresent(Bool.self, forKey: .isProxy) ?? false
        platformMappingID = try members.decodeIfPresent(String.self, forKey: .platformMappingId)
        displayInPlatformPicker = try members.decodeIfPresent(Bool.self, forKey: .displayInPlatformPicker)
        enforcePlatformPermissions = try members.decodeIfPresent(Bool.self, forKey: .enforcePlatformPermissions)
        authPerAggregator = try members.decodeIfPresent(Bool.self, forKey: .authPerAggregator)
        requiresSVC = try members.decodeIfPresent(Bool.self, forKey: .requiresSVC) ?? false
    }

    /// Encodes the provider, without members that have their default value.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(id, forKey: .id)
        try members.encode(displayName, forKey: .displayName)
        try members.encodeIfPresent(logoURL, forKey: .logoUrl)
        if enablePlatformServices { try members.encode(true, forKey: .enablePlatformServices) }
        try members.encodeIfPresent(boardingStatus?.rawValue, forKey: .boardingStatus)
        if isTempPass { try members.encode(true, forKey: .isTempPass) }
        if isProxy { try members.encode(true, forKey: .isProxy) }
        try members.encodeIfPresent(platformMappingID, forKey: .platformMappingId)
        try members.encodeIfPresent(displayInPlatformPicker, forKey: .displayInPlatformPicker)
        try members.encodeIfPresent(enforcePlatformPermissions, forKey: .enforcePlatformPermissions)
        try members.encodeIfPresent(authPerAggregator, forKey: .authPerAggregator)
        if requiresSVC { try members.encode(true, forKey: .requiresSVC) }
    }
}
