// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A report that a client makes in addition to its results, with the documented `status` callback.
///
/// Its order relative to the results is not defined.
public struct AdvancedStatus: Hashable, Sendable {
    /// The severity of a status.
    public enum Level: String, Sendable, CaseIterable {
        /// A fact about a flow that continues.
        case info
        /// A limitation, such as a degradation rule.
        case warning
        /// A failure.
        case error
        /// A step that succeeded.
        case success
    }

    /// The id of the status, such as `VSA203` or `Z100`. Unknown ids are retained.
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

    /// The documented ids that the client reports.
    public enum DocumentedID: String, Sendable, CaseIterable {
        // Platform single sign-on.
        /// The viewer is logged out here, and still signed on to the platform.
        case vsa203 = "VSA203"
        /// The application has no permission for the platform's single sign-on, or the viewer denies it.
        case vsa404 = "VSA404"
        /// The platform's single sign-on is out of order.
        case vsa503 = "VSA503"
        // Authentication.
        /// The viewer is not authenticated.
        case notAuthenticated = "N000"
        /// The viewer wants a provider that the platform does not list.
        case otherProvider = "N003"
        /// The viewer chose a provider that the platform cannot sign on with.
        case providerUnsupported = "N004"
        /// The viewer left the platform's picker.
        case pickerCancelled = "N005"
        /// The viewer is authenticated by a degradation rule.
        case authenticationDegraded = "N010"
        /// The viewer is authenticated by temporary access.
        case authenticatedByTempPass = "N011"
        /// The temporary access has expired.
        case tempPassExpired = "N111"
        /// The browser returned from a login, and the session has no authentication.
        case tokenNotOnSession = "N130"
        /// The service did not respond to the login.
        case authenticationFault = "N500"
        // Device and application.
        /// Records cannot be stored: logins last only as long as the process.
        case volatileStorage = "LS011"
        /// The service failed with the HTTP status 500.
        case serverError = "500"
        /// The service refuses the configuration with the HTTP status 403.
        case notAllowed = "SEC403"
        /// The service refuses the requestor with the HTTP status 400, or another below 500.
        case invalidRequestor = "CFG400"
        /// The service cannot be reached, or has no configuration (HTTP status 404).
        case unreachable = "CFG404"
        /// The service no longer has the configuration (HTTP status 410).
        case gone = "CFG410"
        /// The service limits the rate of requests (HTTP status 429).
        case throttled = "CFG429"
        /// The service failed to give a configuration (HTTP status 500 and above).
        case configurationFault = "CFG5xx"
        /// The service refuses the software statement.
        case invalidSoftwareStatement = "R400"
        /// The service gives no access token.
        case noAccessToken = "R401"
        /// The code for a second screen expired before a login.
        case registrationFault = "REG500"
        /// The code that the viewer enters on a second screen; it is the message.
        case registrationCode = "REGCODE"
        // Authorization.
        /// The viewer is authorized by a degradation rule.
        case authorizationDegraded = "Z010"
        /// The viewer is authorized by temporary access.
        case authorizedByTempPass = "Z011"
        /// The viewer is not authorized for the resource.
        case notAuthorized = "Z100"
        /// The provider cannot be reached.
        case providerUnreachable = "Z120"
        /// The resource is malformed, or is an identifier where a Media RSS fragment is required.
        case invalidResource = "Z130"
        /// A degradation rule denies all resources of the provider.
        case authorizationRefusedByRule = "Z169"
        /// The authorization failed without a decision of the provider.
        case authorizationFault = "Z500"
        /// A preauthorization has too many resources, or is requested too often.
        case tooManyResources = "P100"

        /// The severity of a status with this id.
        public var level: Level {
            switch self {
            case .vsa203, .vsa404, .vsa503, .notAuthenticated, .otherProvider, .providerUnsupported, .pickerCancelled,
                .authenticatedByTempPass, .authorizedByTempPass:
                .info
            case .authenticationDegraded, .tempPassExpired, .authorizationDegraded, .volatileStorage:
                .warning
            case .registrationCode: .success
            case .tokenNotOnSession, .authenticationFault, .serverError, .notAllowed, .invalidRequestor, .unreachable,
                .gone,
                .throttled, .configurationFault, .invalidSoftwareStatement, .noAccessToken, .registrationFault,
                .notAuthorized, .providerUnreachable, .invalidResource, .authorizationRefusedByRule,
                .authorizationFault,
                .tooManyResources:
                .error
            }
        }
    }
}
