// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The recommended action for a ``Status``. The service may add actions; unknown ones are retained.
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
    /// Retry after the time that the response reports.
    public static let retryAfter = StatusAction(rawValue: "retry-after")

    /// All documented actions.
    public static let documented: [StatusAction] = [
        .noAction, .configuration, .applicationRegistration, .authentication, .authorization, .degradation, .retry,
        .retryAfter,
    ]
}

/// The documented codes of enhanced errors. A ``Status`` also accepts undocumented codes.
public enum StatusCode: String, Sendable, CaseIterable {
    // Parameters and header fields of REST API v2.
    /// The service provider is unknown.
    case invalidParameterServiceProvider = "invalid_parameter_service_provider"
    /// The MVPD is missing or unknown.
    case invalidParameterMVPD = "invalid_parameter_mvpd"
    /// The authentication code is unknown, used or expired.
    case invalidParameterCode = "invalid_parameter_code"
    /// The list of resources is missing, empty or malformed.
    case invalidParameterResources = "invalid_parameter_resources"
    /// The redirect URL is missing, or not registered for the application.
    case invalidParameterRedirectURL = "invalid_parameter_redirect_url"
    /// The partner for single sign-on is unknown.
    case invalidParameterPartner = "invalid_parameter_partner"
    /// The SAML response is missing, malformed, used or expired.
    case invalidParameterSAMLResponse = "invalid_parameter_saml_response"
    /// The header `X-Device-Info` is not a JSON object in Base64.
    case invalidHeaderDeviceInfo = "invalid_header_device_info"
    /// The header `AP-Device-Identifier` is missing or malformed.
    case invalidHeaderDeviceIdentifier = "invalid_header_device_identifier"
    /// The header `AP-TempPass-Identity` is missing, or is not a JSON object in Base64.
    case invalidHeaderIdentityForTemporaryAccess = "invalid_header_identity_for_temporary_access"
    /// The header `AP-Partner-Framework-Status` has no permission status.
    case invalidHeaderPermissionAccessNotPresent = "invalid_header_pfs_permission_access_not_present"
    /// The viewer has neither granted nor denied the platform's permission.
    case invalidHeaderPermissionAccessNotDetermined = "invalid_header_pfs_permission_access_not_determined"
    /// The viewer has not granted the platform's permission.
    case invalidHeaderPermissionAccessNotGranted = "invalid_header_pfs_permission_access_not_granted"
    /// The header `AP-Partner-Framework-Status` has no provider id.
    case invalidHeaderProviderIDNotDetermined = "invalid_header_pfs_provider_id_not_determined"
    /// The platform's provider differs from the provider of the request.
    case invalidHeaderProviderIDMismatch = "invalid_header_pfs_provider_id_mismatch"
    /// The login on the platform has expired.
    case invalidHeaderProviderInfoExpired = "invalid_header_pfs_provider_info_expired"
    /// The MVPD is not integrated with the service provider.
    case invalidIntegration = "invalid_integration"
    /// The authentication session does not allow the request.
    case invalidAuthenticationSession = "invalid_authentication_session"

    // Parameters of REST API v1.
    /// The requestor is missing or unknown.
    case invalidRequestor = "invalid_requestor"
    /// The device information is not a JSON object in Base64.
    case invalidDeviceInfo = "invalid_device_info"
    /// The device id is missing or malformed.
    case invalidDeviceID = "invalid_device_id"
    /// The resource is missing.
    case missingResource = "missing_resource"
    /// The resource is neither an identifier nor a well-formed Media RSS fragment.
    case malformedAuthorizationRequest = "malformed_authz_request"
    /// A required parameter is missing.
    case badRequest = "bad_request"

    // Denials by the provider or by a rule.
    /// The MVPD would deny the viewer the resource.
    case preauthorizationDeniedByMVPD = "preauthorization_denied_by_mvpd"
    /// The MVPD denies the viewer the resource.
    case authorizationDeniedByMVPD = "authorization_denied_by_mvpd"
    /// The rating of the resource exceeds the viewer's limit.
    case authorizationDeniedByParentalControls = "authorization_denied_by_parental_controls"
    /// A degradation rule denies all resources of the MVPD.
    case authorizationDeniedByDegradationRule = "authorization_denied_by_degradation_rule"
    /// The MVPD does not allow the resource with home-based authentication.
    case authorizationDeniedByHBAPolicies = "authorization_denied_by_hba_policies"
    /// The MVPD has ended the viewer's session.
    case authorizationDeniedBySessionInvalidated = "authorization_denied_by_session_invalidated"
    /// The MVPD no longer recognizes the viewer.
    case identityNotRecognizedByMVPD = "identity_not_recognized_by_mvpd"
    /// The temporary access has expired.
    case temporaryAccessDurationLimitExceeded = "temporary_access_duration_limit_exceeded"
    /// The temporary access has reached its limit of resources.
    case temporaryAccessResourcesLimitExceeded = "temporary_access_resources_limit_exceeded"

    // Configuration.
    /// The request has more resources than the service accepts.
    case tooManyResources = "too_many_resources"
    /// The MVPD is not integrated with the requestor.
    case unknownIntegration = "unknown_integration"
    /// The certificate for the encryption of metadata cannot be used.
    case invalidConfigurationUserMetadataCertificate = "invalid_configuration_user_metadata_certificate"
    /// The configuration of the temporary access is invalid.
    case invalidConfigurationTemporaryAccess = "invalid_configuration_temporary_access"
    /// The platform is not configured.
    case invalidConfigurationPlatform = "invalid_configuration_platform"
    /// The platform has no id.
    case invalidConfigurationPlatformID = "invalid_configuration_platform_id"
    /// The platform is not configured for single sign-on.
    case invalidConfigurationPlatformTrait = "invalid_configuration_platform_trait"
    /// The category of the platform is not configured for single sign-on.
    case invalidConfigurationPlatformCategoryTrait = "invalid_configuration_platform_category_trait"
    /// Platform services are disabled for the integration.
    case invalidConfigurationPlatformServices = "invalid_configuration_platform_services"
    /// The MVPD is not configured on the platform.
    case invalidConfigurationMVPDPlatform = "invalid_configuration_mvpd_platform"
    /// The MVPD is not supported on the platform.
    case invalidConfigurationMVPDPlatformBoardingStatus = "invalid_configuration_mvpd_platform_boarding_status"
    /// Profiles of the MVPD cannot be exchanged on the platform.
    case invalidConfigurationMVPDPlatformProfileExchange = "invalid_configuration_mvpd_platform_profile_exchange"

    // The application, and the sessions of viewers.
    /// The access token is for another service provider.
    case invalidAccessTokenServiceProvider = "invalid_access_token_service_provider"
    /// The access token is missing, unknown or expired.
    case invalidAccessTokenClientApplication = "invalid_access_token_client_application"
    /// No profile exists: the viewer must log in.
    case authenticatedProfileMissing = "authenticated_profile_missing"
    /// The profile has expired: the viewer must log in again.
    case authenticatedProfileExpired = "authenticated_profile_expired"
    /// The profile was ended: the viewer must log in again.
    case authenticatedProfileInvalidated = "authenticated_profile_invalidated"
    /// The viewer is authenticated with another MVPD.
    case authenticationSessionIssuerMismatch = "authentication_session_issuer_mismatch"
    /// The MVPD has ended the session: the viewer must log in again.
    case authenticationSessionInvalidated = "authentication_session_invalidated"
    /// The viewer is not authenticated.
    case authenticationSessionMissing = "authentication_session_missing"
    /// The authentication has expired.
    case authenticationSessionExpired = "authentication_session_expired"
    /// The viewer is not authenticated, in a preauthorization.
    case preauthorizationAuthenticationSessionMissing = "preauthorization_authentication_session_missing"
    /// The authentication has expired, in a preauthorization.
    case preauthorizationAuthenticationSessionExpired = "preauthorization_authentication_session_expired"
    /// No authorization exists for the resource.
    case authorizationNotFound = "authorization_not_found"
    /// The authorization has expired.
    case authorizationExpired = "authorization_expired"

    // Faults.
    /// The MVPD returned an error.
    case networkReceivedError = "network_received_error"
    /// The MVPD could not be reached in time.
    case networkConnectionTimeout = "network_connection_timeout"
    /// The MVPD did not answer in time.
    case maximumExecutionTimeExceeded = "maximum_execution_time_exceeded"
    /// A fault in the service, in REST API v2.
    case internalServerError = "internal_server_error"
    /// A fault in the service, in REST API v1.
    case internalError = "internal_error"

    // The client library itself.
    /// The client has no configuration of the requestor yet.
    case requestorNotConfigured = "requestor_not_configured"
    /// The client could not get an access token.
    case accessTokenUnavailable = "access_token_unavailable"
    /// The client could not parse a response.
    case serverResponseFormatUnknown = "server_response_format_unknown"
    /// The client could not reach the service, after all retries.
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
        let row = Self.documented.first { $0.origin == origin && $0.codes.contains(self) }
        return row.map { Documentation(action: $0.action, statuses: $0.statuses) }
    }

    private static let documented: [(origin: Origin, action: StatusAction, statuses: [Int], codes: Set<StatusCode>)] = [
        (
            .v2, .noAction, [400],
            [
                .invalidParameterServiceProvider, .invalidParameterMVPD, .invalidParameterCode,
                .invalidParameterResources, .invalidParameterRedirectURL, .invalidParameterPartner,
                .invalidParameterSAMLResponse, .invalidHeaderDeviceInfo, .invalidHeaderDeviceIdentifier,
                .invalidHeaderIdentityForTemporaryAccess, .invalidHeaderPermissionAccessNotPresent,
                .invalidHeaderPermissionAccessNotDetermined, .invalidHeaderPermissionAccessNotGranted,
                .invalidHeaderProviderIDNotDetermined, .invalidHeaderProviderIDMismatch,
                .invalidHeaderProviderInfoExpired, .invalidIntegration, .invalidAuthenticationSession,
            ]
        ), (.v2, .noAction, [403], denials.union([.authorizationDeniedByDegradationRule])),
        (.v2, .noAction, [500], [.internalServerError]), (.v2, .configuration, [403], [.tooManyResources]),
        (
            .v2, .configuration, [500],
            [
                .invalidConfigurationUserMetadataCertificate, .invalidConfigurationTemporaryAccess,
                .invalidConfigurationPlatform, .invalidConfigurationPlatformID, .invalidConfigurationPlatformTrait,
                .invalidConfigurationPlatformCategoryTrait, .invalidConfigurationPlatformServices,
                .invalidConfigurationMVPDPlatform, .invalidConfigurationMVPDPlatformBoardingStatus,
                .invalidConfigurationMVPDPlatformProfileExchange,
            ]
        ),
        (
            .v2, .applicationRegistration, [401],
            [.invalidAccessTokenServiceProvider, .invalidAccessTokenClientApplication]
        ),
        (
            .v2, .authentication, [403],
            endings.union([
                .authenticatedProfileMissing, .authenticatedProfileExpired, .authenticatedProfileInvalidated,
                .temporaryAccessDurationLimitExceeded, .temporaryAccessResourcesLimitExceeded,
            ])
        ), (.v2, .retry, [403], faults),
        (.v1, .noAction, [400], [.invalidRequestor, .invalidDeviceInfo, .invalidDeviceID, .badRequest]),
        (.v1, .noAction, [400, 412], [.missingResource, .malformedAuthorizationRequest]),
        (.v1, .noAction, [403], denials), (.v1, .noAction, [400, 405, 500], [.internalError]),
        (.v1, .configuration, [400, 412], [.unknownIntegration]), (.v1, .configuration, [403], [.tooManyResources]),
        (.v1, .authentication, [400], [.authenticationSessionIssuerMismatch]),
        (.v1, .authentication, [403], endings.union([.authenticationSessionInvalidated])),
        (.v1, .authentication, [403, 412], [.authenticationSessionMissing, .authenticationSessionExpired]),
        (
            .v1, .authentication, [412],
            [.preauthorizationAuthenticationSessionMissing, .preauthorizationAuthenticationSessionExpired]
        ), (.v1, .authorization, [403, 404], [.authorizationNotFound]),
        (.v1, .authorization, [410], [.authorizationExpired]), (.v1, .retry, [403], faults),
        (.client, .retry, [0], [.requestorNotConfigured]),
        (.client, .authentication, [0], [.authenticationSessionExpired, .authenticationSessionMissing]),
        (.client, .noAction, [0], [.accessTokenUnavailable, .serverResponseFormatUnknown, .networkError]),
    ]

    // Codes of REST API v1 and v2 alike.
    private static let denials: Set<StatusCode> = [
        .preauthorizationDeniedByMVPD, .authorizationDeniedByMVPD, .authorizationDeniedByParentalControls,
    ]
    private static let endings: Set<StatusCode> = [
        .authorizationDeniedByHBAPolicies, .authorizationDeniedBySessionInvalidated, .identityNotRecognizedByMVPD,
    ]
    private static let faults: Set<StatusCode> = [
        .networkReceivedError, .networkConnectionTimeout, .maximumExecutionTimeExceeded,
    ]

    /// The documented meaning of a client's code; `nil` for a code that clients do not report.
    var meaning: String? {
        switch self {
        case .requestorNotConfigured: "No requestor is configured yet, which every call but setRequestor requires."
        case .authenticationSessionExpired:
            "The authentication has expired; the viewer must log in with a provider again."
        case .authenticationSessionMissing: "No viewer is authenticated; the viewer must log in with a provider."
        case .accessTokenUnavailable:
            "There is no access token; check the software statement and the redirect URL's scheme."
        case .serverResponseFormatUnknown: "The response has an unknown format; send the log to the service's support."
        case .networkError: "The network failed; if several retries fail too, send the log to the service's support."
        default: nil
        }
    }
}
