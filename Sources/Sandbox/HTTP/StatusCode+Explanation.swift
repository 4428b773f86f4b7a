// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

extension StatusCode {
    /// The meaning of a code with advice, in the sandbox's own words. It is the message of errors and the text of the page
    /// of all codes.
    var explanation: String {
        switch self {
        case .invalidParameterServiceProvider: "There is no such service provider; look at the id in the path."
        case .invalidParameterMVPD: "There is no such MVPD; take one from the configuration."
        case .invalidParameterCode: "The code is unknown, used or expired; begin a new session."
        case .invalidParameterResources: "The list of resources is missing, empty or malformed."
        case .invalidParameterRedirectURL: "The redirect URL is not one that this application may be sent to."
        case .invalidParameterPartner: "There is no such partner for single sign-on."
        case .invalidParameterSAMLResponse: "The SAML response is missing, malformed, used or expired."
        case .invalidHeaderDeviceInfo: "X-Device-Info is not Base64 of a JSON object."
        case .invalidHeaderDeviceIdentifier: "AP-Device-Identifier is missing, or not `fingerprint` and Base64."
        case .invalidHeaderIdentityForTemporaryAccess:
            "AP-TempPass-Identity is missing, or not Base64 of a JSON object."
        case .invalidHeaderPermissionAccessNotPresent: "AP-Partner-Framework-Status does not tell the permission."
        case .invalidHeaderPermissionAccessNotDetermined: "The viewer has not decided about the permission yet."
        case .invalidHeaderPermissionAccessNotGranted: "The viewer has not granted the permission."
        case .invalidHeaderProviderIDNotDetermined: "AP-Partner-Framework-Status does not tell the provider."
        case .invalidHeaderProviderIDMismatch: "The platform's provider is not the one that is asked about."
        case .invalidHeaderProviderInfoExpired: "The login at the platform has expired."
        case .invalidIntegration: "The MVPD does not work with this service provider."
        case .invalidAuthenticationSession: "The session does not fit what is asked of it; begin a new one."
        case .invalidRequestor: "The requestor parameter is missing or unknown."
        case .invalidDeviceInfo: "The device information is not Base64 of a JSON object."
        case .invalidDeviceID: "The deviceId parameter is missing or malformed."
        case .missingResource: "The resource parameter is missing."
        case .malformedAuthorizationRequest: "The resource is not an identifier or a well-formed Media RSS fragment."
        case .badRequest: "Something that must be there is missing."
        case .preauthorizationDeniedByMVPD: "The MVPD would deny this resource to the viewer."
        case .authorizationDeniedByMVPD: "User not authorized"
        case .authorizationDeniedByParentalControls: "The resource is rated above what this viewer may see."
        case .authorizationDeniedByDegradationRule: "A rule of degradation denies all resources of this MVPD."
        case .authorizationDeniedByHBAPolicies: "The MVPD does not allow this with home-based authentication."
        case .authorizationDeniedBySessionInvalidated: "The MVPD has ended the viewer's session."
        case .identityNotRecognizedByMVPD: "The MVPD does not know the viewer any more."
        case .temporaryAccessDurationLimitExceeded: "The time of the temporary access is over."
        case .temporaryAccessResourcesLimitExceeded: "The temporary access is used up: no further resource."
        case .tooManyResources: "More resources than may be asked for at once."
        case .unknownIntegration: "The MVPD does not work with this requestor."
        case .invalidConfigurationUserMetadataCertificate:
            "The certificate that metadata is encrypted for is not usable."
        case .invalidConfigurationTemporaryAccess: "The temporary access is not set up well."
        case .invalidConfigurationPlatform: "The platform is not set up."
        case .invalidConfigurationPlatformID: "The platform has no id."
        case .invalidConfigurationPlatformTrait: "The platform is not set up for single sign-on."
        case .invalidConfigurationPlatformCategoryTrait:
            "The category of the platform is not set up for single sign-on."
        case .invalidConfigurationPlatformServices: "Platform services are switched off for this integration."
        case .invalidConfigurationMVPDPlatform: "The MVPD is not set up on this platform."
        case .invalidConfigurationMVPDPlatformBoardingStatus: "The MVPD is not supported on this platform."
        case .invalidConfigurationMVPDPlatformProfileExchange:
            "The MVPD's profiles cannot be exchanged on this platform."
        case .invalidAccessTokenServiceProvider: "The access token is for another service provider."
        case .invalidAccessTokenClientApplication: "The access token is missing, unknown or expired."
        case .authenticatedProfileMissing: "There is no profile: the viewer must log in."
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
        case .networkReceivedError: "The MVPD has answered with an error."
        case .networkConnectionTimeout: "The MVPD could not be reached in time."
        case .maximumExecutionTimeExceeded: "The MVPD has not answered in time."
        case .internalServerError, .internalError: "Something went wrong in the service."
        case .requestorNotConfigured: "Of a client: it has no configuration yet."
        case .accessTokenUnavailable: "Of a client: it could not register."
        case .serverResponseFormatUnknown: "Of a client: it could not read an answer."
        case .networkError: "Of a client: it could not reach the service."
        }
    }
}
