// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The recommended action for a ``Status``. The service may add actions; unknown ones are kept.
public struct StatusAction: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// No action helps: inform the viewer.
    public static let noAction = StatusAction(rawValue: "none")
    /// The programmer's or the provider's configuration must change.
    public static let configuration = StatusAction(rawValue: "configuration")
    /// Register the application again.
    public static let applicationRegistration = StatusAction(rawValue: "application-registration")
    /// Authenticate the viewer again.
    public static let authentication = StatusAction(rawValue: "authentication")
    /// Ask for authorization again.
    public static let authorization = StatusAction(rawValue: "authorization")
    /// A degradation rule applies.
    public static let degradation = StatusAction(rawValue: "degradation")
    /// Retry a few times, with back-off.
    public static let retry = StatusAction(rawValue: "retry")
    /// Retry after the time that the response states.
    public static let retryAfter = StatusAction(rawValue: "retry-after")

    /// All documented actions.
    public static let documented: [StatusAction] = [
        .noAction, .configuration, .applicationRegistration, .authentication, .authorization, .degradation, .retry,
        .retryAfter,
    ]
}

/// The documented codes of enhanced errors. A ``Status`` also keeps undocumented codes.
public enum StatusCode: String, Sendable, CaseIterable {
    // Parameters and header fields of REST API v2.
    case invalidParameterServiceProvider = "invalid_parameter_service_provider"
    case invalidParameterMVPD = "invalid_parameter_mvpd"
    case invalidParameterCode = "invalid_parameter_code"
    case invalidParameterResources = "invalid_parameter_resources"
    case invalidParameterRedirectURL = "invalid_parameter_redirect_url"
    case invalidParameterPartner = "invalid_parameter_partner"
    case invalidParameterSAMLResponse = "invalid_parameter_saml_response"
    case invalidHeaderDeviceInfo = "invalid_header_device_info"
    case invalidHeaderDeviceIdentifier = "invalid_header_device_identifier"
    case invalidHeaderIdentityForTemporaryAccess = "invalid_header_identity_for_temporary_access"
    case invalidHeaderPermissionAccessNotPresent = "invalid_header_pfs_permission_access_not_present"
    case invalidHeaderPermissionAccessNotDetermined = "invalid_header_pfs_permission_access_not_determined"
    case invalidHeaderPermissionAccessNotGranted = "invalid_header_pfs_permission_access_not_granted"
    case invalidHeaderProviderIDNotDetermined = "invalid_header_pfs_provider_id_not_determined"
    case invalidHeaderProviderIDMismatch = "invalid_header_pfs_provider_id_mismatch"
    case invalidHeaderProviderInfoExpired = "invalid_header_pfs_provider_info_expired"
    case invalidIntegration = "invalid_integration"
    case invalidAuthenticationSession = "invalid_authentication_session"

    // Parameters of REST API v1.
    case invalidRequestor = "invalid_requestor"
    case invalidDeviceInfo = "invalid_device_info"
    case invalidDeviceID = "invalid_device_id"
    case missingResource = "missing_resource"
    case malformedAuthorizationRequest = "malformed_authz_request"
    case badRequest = "bad_request"

    // Denials by the provider or by a rule.
    case preauthorizationDeniedByMVPD = "preauthorization_denied_by_mvpd"
    case authorizationDeniedByMVPD = "authorization_denied_by_mvpd"
    case authorizationDeniedByParentalControls = "authorization_denied_by_parental_controls"
    case authorizationDeniedByDegradationRule = "authorization_denied_by_degradation_rule"
    case authorizationDeniedByHBAPolicies = "authorization_denied_by_hba_policies"
    case authorizationDeniedBySessionInvalidated = "authorization_denied_by_session_invalidated"
    case identityNotRecognizedByMVPD = "identity_not_recognized_by_mvpd"
    case temporaryAccessDurationLimitExceeded = "temporary_access_duration_limit_exceeded"
    case temporaryAccessResourcesLimitExceeded = "temporary_access_resources_limit_exceeded"

    // Configuration.
    case tooManyResources = "too_many_resources"
    case unknownIntegration = "unknown_integration"
    case invalidConfigurationUserMetadataCertificate = "invalid_configuration_user_metadata_certificate"
    case invalidConfigurationTemporaryAccess = "invalid_configuration_temporary_access"
    case invalidConfigurationPlatform = "invalid_configuration_platform"
    case invalidConfigurationPlatformID = "invalid_configuration_platform_id"
    case invalidConfigurationPlatformTrait = "invalid_configuration_platform_trait"
    case invalidConfigurationPlatformCategoryTrait = "invalid_configuration_platform_category_trait"
    case invalidConfigurationPlatformServices = "invalid_configuration_platform_services"
    case invalidConfigurationMVPDPlatform = "invalid_configuration_mvpd_platform"
    case invalidConfigurationMVPDPlatformBoardingStatus = "invalid_configuration_mvpd_platform_boarding_status"
    case invalidConfigurationMVPDPlatformProfileExchange = "invalid_configuration_mvpd_platform_profile_exchange"

    // The application, and the sessions of viewers.
    case invalidAccessTokenServiceProvider = "invalid_access_token_service_provider"
    case invalidAccessTokenClientApplication = "invalid_access_token_client_application"
    case authenticatedProfileMissing = "authenticated_profile_missing"
    case authenticatedProfileExpired = "authenticated_profile_expired"
    case authenticatedProfileInvalidated = "authenticated_profile_invalidated"
    case authenticationSessionIssuerMismatch = "authentication_session_issuer_mismatch"
    case authenticationSessionInvalidated = "authentication_session_invalidated"
    case authenticationSessionMissing = "authentication_session_missing"
    case authenticationSessionExpired = "authentication_session_expired"
    case preauthorizationAuthenticationSessionMissing = "preauthorization_authentication_session_missing"
    case preauthorizationAuthenticationSessionExpired = "preauthorization_authentication_session_expired"
    case authorizationNotFound = "authorization_not_found"
    case authorizationExpired = "authorization_expired"

    // Faults.
    case networkReceivedError = "network_received_error"
    case networkConnectionTimeout = "network_connection_timeout"
    case maximumExecutionTimeExceeded = "maximum_execution_time_exceeded"
    case internalServerError = "internal_server_error"
    case internalError = "internal_error"

    // The client library itself.
    case requestorNotConfigured = "requestor_not_configured"
    case accessTokenUnavailable = "access_token_unavailable"
    case serverResponseFormatUnknown = "server_response_format_unknown"
    case networkError = "network_error"
}

extension StatusCode {
    /// The sender of a code.
    public enum Origin: String, Sendable, CaseIterable {
        /// REST API v2.
        case v2
        /// REST API v1, and the service that answers the preauthorization of a client library.
        case v1
        /// A client library, without a response of the service.
        case client
    }

    /// The documentation of a code for one of its origins.
    public struct Documentation: Hashable, Sendable {
        /// The recommended action.
        public let action: StatusAction
        /// The HTTP statuses of responses with the code; 0 for a client library.
        public let statuses: [Int]
    }

    /// Returns the documentation of this code; `nil` if `origin` does not use it.
    public func documentation(_ origin: Origin) -> Documentation? {
        switch origin {
        case .v2: v2
        case .v1: v1
        case .client: client
        }
    }

    private var v2: Documentation? {
        switch self {
        case .invalidParameterServiceProvider, .invalidParameterMVPD, .invalidParameterCode, .invalidParameterResources,
            .invalidParameterRedirectURL, .invalidParameterPartner, .invalidParameterSAMLResponse,
            .invalidHeaderDeviceInfo, .invalidHeaderDeviceIdentifier, .invalidHeaderIdentityForTemporaryAccess,
            .invalidHeaderPermissionAccessNotPresent, .invalidHeaderPermissionAccessNotDetermined,
            .invalidHeaderPermissionAccessNotGranted, .invalidHeaderProviderIDNotDetermined,
            .invalidHeaderProviderIDMismatch, .invalidHeaderProviderInfoExpired, .invalidIntegration,
            .invalidAuthenticationSession:
            Documentation(action: .noAction, statuses: [400])
        case .preauthorizationDeniedByMVPD, .authorizationDeniedByMVPD, .authorizationDeniedByParentalControls,
            .authorizationDeniedByDegradationRule:
            Documentation(action: .noAction, statuses: [403])
        case .internalServerError: Documentation(action: .noAction, statuses: [500])
        case .tooManyResources: Documentation(action: .configuration, statuses: [403])
        case .invalidConfigurationUserMetadataCertificate, .invalidConfigurationTemporaryAccess,
            .invalidConfigurationPlatform, .invalidConfigurationPlatformID, .invalidConfigurationPlatformTrait,
            .invalidConfigurationPlatformCategoryTrait, .invalidConfigurationPlatformServices,
            .invalidConfigurationMVPDPlatform, .invalidConfigurationMVPDPlatformBoardingStatus,
            .invalidConfigurationMVPDPlatformProfileExchange:
            Documentation(action: .configuration, statuses: [500])
        case .invalidAccessTokenServiceProvider, .invalidAccessTokenClientApplication:
            Documentation(action: .applicationRegistration, statuses: [401])
        case .authenticatedProfileMissing, .authenticatedProfileExpired, .authenticatedProfileInvalidated,
            .temporaryAccessDurationLimitExceeded, .temporaryAccessResourcesLimitExceeded,
            .authorizationDeniedByHBAPolicies, .authorizationDeniedBySessionInvalidated, .identityNotRecognizedByMVPD:
            Documentation(action: .authentication, statuses: [403])
        case .networkReceivedError, .networkConnectionTimeout, .maximumExecutionTimeExceeded:
            Documentation(action: .retry, statuses: [403])
        default: nil
        }
    }

    private var v1: Documentation? {
        switch self {
        case .invalidRequestor, .invalidDeviceInfo, .invalidDeviceID, .badRequest:
            Documentation(action: .noAction, statuses: [400])
        case .missingResource, .malformedAuthorizationRequest: Documentation(action: .noAction, statuses: [400, 412])
        case .preauthorizationDeniedByMVPD, .authorizationDeniedByMVPD, .authorizationDeniedByParentalControls:
            Documentation(action: .noAction, statuses: [403])
        case .internalError: Documentation(action: .noAction, statuses: [400, 405, 500])
        case .unknownIntegration: Documentation(action: .configuration, statuses: [400, 412])
        case .tooManyResources: Documentation(action: .configuration, statuses: [403])
        case .authenticationSessionIssuerMismatch: Documentation(action: .authentication, statuses: [400])
        case .authorizationDeniedByHBAPolicies, .authorizationDeniedBySessionInvalidated, .identityNotRecognizedByMVPD,
            .authenticationSessionInvalidated:
            Documentation(action: .authentication, statuses: [403])
        case .authenticationSessionMissing, .authenticationSessionExpired:
            Documentation(action: .authentication, statuses: [403, 412])
        case .preauthorizationAuthenticationSessionMissing, .preauthorizationAuthenticationSessionExpired:
            Documentation(action: .authentication, statuses: [412])
        case .authorizationNotFound: Documentation(action: .authorization, statuses: [403, 404])
        case .authorizationExpired: Documentation(action: .authorization, statuses: [410])
        case .networkReceivedError, .networkConnectionTimeout, .maximumExecutionTimeExceeded:
            Documentation(action: .retry, statuses: [403])
        default: nil
        }
    }

    private var client: Documentation? {
        switch self {
        case .requestorNotConfigured: Documentation(action: .retry, statuses: [0])
        case .authenticationSessionExpired, .authenticationSessionMissing:
            Documentation(action: .authentication, statuses: [0])
        case .accessTokenUnavailable, .serverResponseFormatUnknown, .networkError:
            Documentation(action: .noAction, statuses: [0])
        default: nil
        }
    }
}
