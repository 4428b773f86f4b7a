// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A report that a client makes in addition to its results, with the documented `status` callback.
///
/// Its order relative to the results is not defined.
public struct AdvancedStatus: Hashable, Sendable {
    /// The severity of a status.
    public enum Level: String, Sendable, CaseIterable {
        case info, warning, error, success
    }

    /// The id of the status, such as `VSA203` or `Z100`. Unknown ids are kept.
    public var errorID: String
    /// The severity of the status.
    public var level: Level
    /// A description for developers, in English.
    public var message: String?
    /// The resource that the status is about.
    public var resource: String?

    /// Creates a status.
    public init(errorID: String, level: Level, message: String? = nil, resource: String? = nil) {
        self.errorID = errorID
        self.level = level
        self.message = message
        self.resource = resource
    }

    /// Creates a status with a documented id and the level that belongs to it.
    public init(_ id: DocumentedID, message: String? = nil, resource: String? = nil) {
        self.init(errorID: id.rawValue, level: id.level, message: message, resource: resource)
    }

    /// The documented ids.
    public enum DocumentedID: String, Sendable, CaseIterable {
        // Platform single sign-on.
        case vsa203 = "VSA203"
        case vsa404 = "VSA404"
        case vsa503 = "VSA503"
        // Authentication.
        case notAuthenticated = "N000"
        case passiveAuthentication = "N001"
        case otherProvider = "N003"
        case providerUnsupported = "N004"
        case pickerCancelled = "N005"
        case authenticationDegraded = "N010"
        case authenticatedByTempPass = "N011"
        case tempPassExpired = "N111"
        case tokenNotOnSession = "N130"
        case authenticationFault = "N500"
        // Device and application.
        case deviceMismatch = "SEC412"
        case wrongClock = "CFG100"
        case volatileStorage = "LS011"
        case apple = "AAPL"
        case appleError = "AAPL_ERROR"
        case serverError = "500"
        case notAllowed = "SEC403"
        case securityFault = "SEC420"
        case invalidRequestor = "CFG400"
        case unreachable = "CFG404"
        case gone = "CFG410"
        case throttled = "CFG429"
        case configurationFault = "CFG5xx"
        case invalidSoftwareStatement = "R400"
        case noAccessToken = "R401"
        case registrationFault = "REG500"
        case registrationCode = "REGCODE"
        // Authorization.
        case authorizationDegraded = "Z010"
        case authorizedByTempPass = "Z011"
        case notAuthorized = "Z100"
        case repeatedDenials = "Z110"
        case providerUnreachable = "Z120"
        case invalidResource = "Z130"
        case authorizationRefusedByRule = "Z169"
        case authorizationFault = "Z500"
        case tooManyResources = "P100"
        // Individualisation of browsers.
        case individualisation2xx = "IS2XX"
        case individualisation4xx = "IS4XX"
        case individualisation5xx = "IS5XX"
        case individualisation0 = "IS0"

        /// The severity of a status with this id.
        public var level: Level {
            switch self {
            case .vsa203, .vsa404, .vsa503, .notAuthenticated, .passiveAuthentication, .otherProvider,
                .providerUnsupported, .pickerCancelled, .authenticatedByTempPass, .authorizedByTempPass:
                .info
            case .deviceMismatch, .wrongClock, .authenticationDegraded, .tempPassExpired, .authorizationDegraded,
                .volatileStorage:
                .warning
            case .registrationCode: .success
            case .tokenNotOnSession, .authenticationFault, .apple, .appleError, .serverError, .notAllowed,
                .securityFault, .invalidRequestor, .unreachable, .gone, .throttled, .configurationFault,
                .invalidSoftwareStatement, .noAccessToken, .registrationFault, .notAuthorized, .repeatedDenials,
                .providerUnreachable, .invalidResource, .authorizationRefusedByRule, .authorizationFault,
                .tooManyResources, .individualisation2xx, .individualisation4xx, .individualisation5xx,
                .individualisation0:
                .error
            }
        }
    }
}
