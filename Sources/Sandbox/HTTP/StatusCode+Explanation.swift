// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

extension StatusCode {
    /// The meaning of a code with advice, in the sandbox's own words. It is the message of errors and the text of the page
    /// of all codes.
    var explanation: String { Self.explanations[self] ?? rawValue }

    private static let explanations: [StatusCode: String] = [
        .invalidParameterServiceProvider: "The service provider is unknown; check the id in the path.",
        .invalidParameterMVPD: "The MVPD is unknown; use one of the configuration.",
        .invalidParameterCode: "The code is unknown, used or expired; create a new session.",
        .invalidParameterResources: "The list of resources is missing, empty or malformed.",
        .invalidParameterRedirectURL: "The redirect URL is not registered for this application.",
        .invalidParameterPartner: "The partner for single sign-on is unknown.",
        .invalidParameterSAMLResponse: "The SAML response is missing, malformed, used or expired.",
        .invalidHeaderDeviceInfo: "X-Device-Info is not a JSON object in Base64.",
        .invalidHeaderDeviceIdentifier: "AP-Device-Identifier is missing, or is not `fingerprint` and Base64.",
        .invalidHeaderIdentityForTemporaryAccess:
            "AP-TempPass-Identity is missing, or is not a JSON object in Base64.",
        .invalidHeaderPermissionAccessNotPresent: "AP-Partner-Framework-Status has no permission status.",
        .invalidHeaderPermissionAccessNotDetermined: "The viewer has not granted or denied the permission yet.",
        .invalidHeaderPermissionAccessNotGranted: "The viewer has not granted the permission.",
        .invalidHeaderProviderIDNotDetermined: "AP-Partner-Framework-Status has no provider id.",
        .invalidHeaderProviderIDMismatch: "The platform's provider differs from the provider of the request.",
        .invalidHeaderProviderInfoExpired: "The platform login has expired.",
        .invalidIntegration: "The MVPD is not integrated with this service provider.",
        .invalidAuthenticationSession: "The session does not allow this request; create a new session.",
        .invalidRequestor: "The requestor parameter is missing or unknown.",
        .invalidDeviceInfo: "The device information is not a JSON object in Base64.",
        .invalidDeviceID: "The deviceId parameter is missing or malformed.",
        .missingResource: "The resource parameter is missing.",
        .malformedAuthorizationRequest: "The resource is not an identifier or a well-formed Media RSS fragment.",
        .badRequest: "A required parameter is missing.",
        .preauthorizationDeniedByMVPD: "The MVPD would deny the viewer this resource.",
        .authorizationDeniedByMVPD: "User not authorized",
        .authorizationDeniedByParentalControls: "The rating of the resource exceeds the viewer's limit.",
        .authorizationDeniedByDegradationRule: "A degradation rule denies all resources of this MVPD.",
        .authorizationDeniedByHBAPolicies: "The MVPD does not allow this resource with home-based authentication.",
        .authorizationDeniedBySessionInvalidated: "The MVPD has ended the viewer's session.",
        .identityNotRecognizedByMVPD: "The MVPD no longer recognizes the viewer.",
        .temporaryAccessDurationLimitExceeded: "The temporary access has expired.",
        .temporaryAccessResourcesLimitExceeded: "The temporary access has reached its limit of resources.",
        .tooManyResources: "The request has too many resources.",
        .unknownIntegration: "The MVPD is not integrated with this requestor.",
        .invalidConfigurationUserMetadataCertificate:
            "The certificate for the encryption of metadata cannot be used.",
        .invalidConfigurationTemporaryAccess: "The configuration of the temporary access is invalid.",
        .invalidConfigurationPlatform: "The platform is not configured.",
        .invalidConfigurationPlatformID: "The platform has no id.",
        .invalidConfigurationPlatformTrait: "The platform is not configured for single sign-on.",
        .invalidConfigurationPlatformCategoryTrait:
            "The category of the platform is not configured for single sign-on.",
        .invalidConfigurationPlatformServices: "Platform services are disabled for this integration.",
        .invalidConfigurationMVPDPlatform: "The MVPD is not configured on this platform.",
        .invalidConfigurationMVPDPlatformBoardingStatus: "The MVPD is not supported on this platform.",
        .invalidConfigurationMVPDPlatformProfileExchange:
            "The MVPD's profiles cannot be exchanged on this platform.",
        .invalidAccessTokenServiceProvider: "The access token is for another service provider.",
        .invalidAccessTokenClientApplication: "The access token is missing, unknown or expired.",
        .authenticatedProfileMissing: "No profile exists: the viewer must log in.",
        .authenticatedProfileExpired: "The profile has expired: the viewer must log in again.",
        .authenticatedProfileInvalidated: "The profile was ended: the viewer must log in again.",
        .authenticationSessionIssuerMismatch: "The viewer is authenticated with another MVPD.",
        .authenticationSessionInvalidated: "The MVPD has ended the session: the viewer must log in again.",
        .authenticationSessionMissing: "User not authenticated",
        .authenticationSessionExpired: "Authentication token expired",
        .preauthorizationAuthenticationSessionMissing: "The viewer is not authenticated.",
        .preauthorizationAuthenticationSessionExpired: "The authentication has expired.",
        .authorizationNotFound: "Not Found",
        .authorizationExpired: "Gone",
        .networkReceivedError: "The MVPD returned an error.",
        .networkConnectionTimeout: "The MVPD could not be reached in time.",
        .maximumExecutionTimeExceeded: "The MVPD did not answer in time.",
        .internalServerError: "Something went wrong in the service.",
        .internalError: "Something went wrong in the service.",
        .requestorNotConfigured: "Client code: the client has no configuration yet.",
        .accessTokenUnavailable: "Client code: the client could not get an access token.",
        .serverResponseFormatUnknown: "Client code: the client could not parse a response.",
        .networkError: "Client code: the client could not reach the service.",
    ]
}
