// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A TV provider (multichannel video programming distributor).
public struct MVPD: Hashable, Sendable {
    /// How a provider takes part in the sign-on of a platform. Unknown words are kept, and mean that it does not.
    public struct BoardingStatus: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// In the platform's picker; the service does the login.
        public static let picker = BoardingStatus(rawValue: "PICKER")
        /// The platform does the login too.
        public static let supported = BoardingStatus(rawValue: "SUPPORTED")
    }

    /// The provider's id. Byte for byte: ids have no case folding.
    public var id: String
    /// The name that viewers know.
    public var displayName: String
    /// Where its logo is.
    public var logoURL: String?
    /// Whether it takes part in the sign-on of the platform.
    public var enablePlatformServices: Bool
    /// How it takes part; nil where it does not.
    public var boardingStatus: BoardingStatus?
    /// Whether it is temporary access in the shape of a provider.
    public var isTempPass: Bool
    /// Whether other providers are behind it.
    public var isProxy: Bool
    /// Its id on the platform.
    public var platformMappingID: String?
    /// Whether the platform's picker shows it.
    public var displayInPlatformPicker: Bool?
    /// Whether it asks for the platform's permission.
    public var enforcePlatformPermissions: Bool?
    /// Whether viewers log in once for each application.
    public var authPerAggregator: Bool?

    /// Makes a provider.
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
        authPerAggregator: Bool? = nil
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
    }

    /// Whether the platform's sign-on can be used with it.
    public var supportsPlatformSSO: Bool {
        enablePlatformServices && (boardingStatus == .picker || boardingStatus == .supported)
    }
}

extension MVPD: Codable {
    private enum Key: String, CodingKey {
        case id, displayName, logoUrl, enablePlatformServices, boardingStatus, isTempPass, isProxy, platformMappingId
        case displayInPlatformPicker, enforcePlatformPermissions, authPerAggregator
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
    }

    /// Writes what is not the default.
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
    }
}
