// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

extension StatusCode {
    /// The meaning of a code with advice, in the sandbox's own words. It is the message of errors and the text of the page
    /// of all codes.
    var explanation: String {
        switch self {
        case .invalidParameterServiceProvider: "The service provider is unknown; check the id in the path."
        case .invalidParameterMVPD: "The MVPD is unknown; use one of the configuration."
        case .invalidParameterCode: "The code is unknown, used or expired; create a new session."
        case .invalidParameterResources: "The list of resources is missing, empty or malformed."
        case .invalidParameterRedirectURL: "The redirect URL is not registered for this application."
        case .invalidParameterPartner: "The partner for single sign-on is unknown."
        case .invalidParameterSAMLResponse: "The SAML response is missing, malformed, used or expired."
        case .invalidHeaderDeviceInfo: "X-Device-Info is not a JSON object in Base64."
        case .invalidHeaderDeviceIdentifier: "AP-Device-Identifier is missing, or is not `fingerprint` and Base64."
        case .invalidHeaderIdentityForTemporaryAccess:
            "AP-TempPass-Identity is missing, or is not a JSON object in Base64."
        case .invalidHeaderPermissionAccessNotPresent: "AP-Partner-Framework-Status has no permission status."
        case .invalidHeaderPermissionAccessNotDetermined: "The viewer has not granted or denied the permission yet."
        case .invalidHeaderPermissionAccessNotGranted: "The viewer has not granted the permission."
        case .invalidHeaderProviderIDNotDetermined: "AP-Partner-Framework-Status has no provider id."
        case .invalidHeaderProviderIDMismatch: "The platform's provider differs from the provider of the request."
        case .invalidHeaderProviderInfoExpired: "The platform login has expired."
        case .invalidIntegration: "The MVPD is not integrated with this service provider."
        case .invalidAuthenticationSession: "The session does not allow this request; create a new session."
        case .invalidRequestor: "The requestor parameter is missing or unknown."
        case .invalidDeviceInfo: "The device information is not a JSON object in Base64."
        case .invalidDeviceID: "The deviceId parameter is missing or malformed."
        case .missingResource: "The resource parameter is missing."
        case .malformedAuthorizationRequest: "The resource is not an identifier or a well-formed Media RSS fragment."
        case .badRequest: "A required parameter is missing."
        case .preauthorizationDeniedByMVPD: "The MVPD would deny the viewer this resource."
        case .authorizationDeniedByMVPD: "User not authorized"
        case .authorizationDeniedByParentalControls: "The rating of the resource exceeds the viewer's limit."
        case .authorizationDeniedByDegradationRule: "A degradation rule denies all resources of this MVPD."
        case .authorizationDeniedByHBAPolicies: "The MVPD does not allow this resource with home-based authentication."
        case .authorizationDeniedBySessionInvalidated: "The MVPD has ended the viewer's session."
        case .identityNotRecognizedByMVPD: "The MVPD no longer recognizes the viewer."
        case .temporaryAccessDurationLimitExceeded: "The temporary access has expired."
        case .temporaryAccessResourcesLimitExceeded: "The temporary access has reached its limit of resources."
        case .tooManyResources: "The request has too many resources."
        case .unknownIntegration: "The MVPD is not integrated with this requestor."
        case .invalidConfigurationUserMetadataCertificate:
            "The certificate for the encryption of metadata cannot be used."
        case .invalidConfigurationTemporaryAccess: "The configuration of the temporary access is invalid."
        case .invalidConfigurationPlatform: "The platform is not configured."
        case .invalidConfigurationPlatformID: "The platform has no id."
        case .invalidConfigurationPlatformTrait: "The platform is not configured for single sign-on."
        case .invalidConfigurationPlatformCategoryTrait:
            "The category of the platform is not configured for single sign-on."
        case .invalidConfigurationPlatformServices: "Platform services are disabled for this integration."
        case .invalidConfigurationMVPDPlatform: "The MVPD is not configured on this platform."
        case .invalidConfigurationMVPDPlatformBoardingStatus: "The MVPD is not supported on this platform."
        case .invalidConfigurationMVPDPlatformProfileExchange:
            "The MVPD's profiles cannot be exchanged on this platform."
        case .invalidAccessTokenServiceProvider: "The access token is for another service provider."
        case .invalidAccessTokenClientApplication: "The access token is missing, unknown or expired."
        case .authenticatedProfileMissing: "No profile exists: the viewer must log in."
        case .authenticatedProfileExpired: "The profile has expired: the viewer must log in again."
        case .authenticatedProfileInvalidated: "The profile was ended: the viewer must log in again."
        case .authenticationSessionIssuerMismatch: "The viewer is authenticated with another MVPD."
        case .authenticationSessionInvalidated: "The MVPD has ended the session: the viewer must log in again."
        case .authenticationSessionMissing: "User not authenticated"
        case .authenticationSessionExpired: "Authentication token expired"
        case .preauthorizationAuthenticationSessionMissing: "The viewer is not authenticated."
        case .preauthorizationAuthenticationSessionExpired: "The authentication has expired."
        case .authorizationNotFound: "Not Found"
        case .authorizationExpired: "Gone"
        case .networkReceivedError: "The MVPD returned an error."
        case .networkConnectionTimeout: "The MVPD could not be reached in time."
        case .maximumExecutionTimeExceeded: "The MVPD did not answer in time."
        case .internalServerError, .internalError: "The service has an internal error."
        case .requestorNotConfigured: "Client code: the client has no configuration yet."
        case .accessTokenUnavailable: "Client code: the client could not get an access token."
        case .serverResponseFormatUnknown: "Client code: the client could not parse a response."
        case .networkError: "Client code: the client could not reach the service."
        }
    }
}
