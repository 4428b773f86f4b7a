// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

extension StatusCode {
    /// The meaning of a code with advice, in the sandbox's own words. It is the message of errors and the text of the page
    /// of all codes.
    var explanation: String { Self.explanations[self] ?? rawValue }

    private static let explanations: [StatusCode: String] = [
        .invalidParameterServiceProvider: "There is no such service provider; look at the id in the path.",
        .invalidParameterMVPD: "There is no such MVPD; take one from the configuration.",
        .invalidParameterCode: "The code is unknown, used or expired; begin a new session.",
        .invalidParameterResources: "The list of resources is missing, empty or malformed.",
        .invalidParameterRedirectURL: "The redirect URL is not one that this application may be sent to.",
        .invalidParameterPartner: "There is no such partner for single sign-on.",
        .invalidParameterSAMLResponse: "The SAML response is missing, malformed, used or expired.",
        .invalidHeaderDeviceInfo: "X-Device-Info is not Base64 of a JSON object.",
        .invalidHeaderDeviceIdentifier: "AP-Device-Identifier is missing, or not `fingerprint` and Base64.",
        .invalidHeaderIdentityForTemporaryAccess:
            "AP-TempPass-Identity is missing, or not Base64 of a JSON object.",
        .invalidHeaderPermissionAccessNotPresent: "AP-Partner-Framework-Status does not tell the permission.",
        .invalidHeaderPermissionAccessNotDetermined: "The viewer has not decided about the permission yet.",
        .invalidHeaderPermissionAccessNotGranted: "The viewer has not granted the permission.",
        .invalidHeaderProviderIDNotDetermined: "AP-Partner-Framework-Status does not tell the provider.",
        .invalidHeaderProviderIDMismatch: "The platform's provider is not the one that is asked about.",
        .invalidHeaderProviderInfoExpired: "The login at the platform has expired.",
        .invalidIntegration: "The MVPD does not work with this service provider.",
        .invalidAuthenticationSession: "The session does not fit what is asked of it; begin a new one.",
        .invalidRequestor: "The requestor parameter is missing or unknown.",
        .invalidDeviceInfo: "The device information is not Base64 of a JSON object.",
        .invalidDeviceID: "The deviceId parameter is missing or malformed.",
        .missingResource: "The resource parameter is missing.",
        .malformedAuthorizationRequest: "The resource is not an identifier or a well-formed Media RSS fragment.",
        .badRequest: "Something that must be there is missing.",
        .preauthorizationDeniedByMVPD: "The MVPD would deny this resource to the viewer.",
        .authorizationDeniedByMVPD: "User not authorized",
        .authorizationDeniedByParentalControls: "The resource is rated above what this viewer may see.",
        .authorizationDeniedByDegradationRule: "A rule of degradation denies all resources of this MVPD.",
        .authorizationDeniedByHBAPolicies: "The MVPD does not allow this with home-based authentication.",
        .authorizationDeniedBySessionInvalidated: "The MVPD has ended the viewer's session.",
        .identityNotRecognizedByMVPD: "The MVPD does not know the viewer any more.",
        .temporaryAccessDurationLimitExceeded: "The time of the temporary access is over.",
        .temporaryAccessResourcesLimitExceeded: "The temporary access is used up: no further resource.",
        .tooManyResources: "More resources than may be asked for at once.",
        .unknownIntegration: "The MVPD does not work with this requestor.",
        .invalidConfigurationUserMetadataCertificate:
            "The certificate that metadata is encrypted for is not usable.",
        .invalidConfigurationTemporaryAccess: "The temporary access is not set up well.",
        .invalidConfigurationPlatform: "The platform is not set up.",
        .invalidConfigurationPlatformID: "The platform has no id.",
        .invalidConfigurationPlatformTrait: "The platform is not set up for single sign-on.",
        .invalidConfigurationPlatformCategoryTrait:
            "The category of the platform is not set up for single sign-on.",
        .invalidConfigurationPlatformServices: "Platform services are switched off for this integration.",
        .invalidConfigurationMVPDPlatform: "The MVPD is not set up on this platform.",
        .invalidConfigurationMVPDPlatformBoardingStatus: "The MVPD is not supported on this platform.",
        .invalidConfigurationMVPDPlatformProfileExchange:
            "The MVPD's profiles cannot be exchanged on this platform.",
        .invalidAccessTokenServiceProvider: "The access token is for another service provider.",
        .invalidAccessTokenClientApplication: "The access token is missing, unknown or expired.",
        .authenticatedProfileMissing: "There is no profile: the viewer must log in.",
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
        .networkReceivedError: "The MVPD has answered with an error.",
        .networkConnectionTimeout: "The MVPD could not be reached in time.",
        .maximumExecutionTimeExceeded: "The MVPD has not answered in time.",
        .internalServerError: "Something went wrong in the service.",
        .internalError: "Something went wrong in the service.",
        .requestorNotConfigured: "Of a client: it has no configuration yet.",
        .accessTokenUnavailable: "Of a client: it could not register.",
        .serverResponseFormatUnknown: "Of a client: it could not read an answer.",
        .networkError: "Of a client: it could not reach the service.",
    ]
}
