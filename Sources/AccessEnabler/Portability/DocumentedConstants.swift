// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For portability: the documented constants with their documented names.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The status of a callback that succeeds.
public let ACCESS_ENABLER_STATUS_SUCCESS = Int32(AccessEnablerStatus.success.rawValue)
/// The status of a callback that fails.
public let ACCESS_ENABLER_STATUS_ERROR = Int32(AccessEnablerStatus.error.rawValue)

/// The code of a viewer who is authenticated: empty.
public let USER_AUTHENTICATED = EntitlementErrorCode.userAuthenticated.rawValue
/// The code if there is no valid authentication.
public let USER_NOT_AUTHENTICATED_ERROR = EntitlementErrorCode.userNotAuthenticated.rawValue
/// The code if the viewer left the picker without a choice.
public let PROVIDER_NOT_SELECTED_ERROR = EntitlementErrorCode.providerNotSelected.rawValue
/// The code if the selected provider does not work with the requestor.
public let PROVIDER_NOT_AVAILABLE_ERROR = EntitlementErrorCode.providerNotAvailable.rawValue
/// The code of a fault, or of an abandoned login.
public let GENERIC_AUTHENTICATION_ERROR = EntitlementErrorCode.genericAuthentication.rawValue
/// The code if the provider denies the viewer the resource.
public let USER_NOT_AUTHORIZED_ERROR = EntitlementErrorCode.userNotAuthorized.rawValue
/// The code of a fault in an authorization.
public let GENERIC_AUTHORIZATION_ERROR = EntitlementErrorCode.genericAuthorization.rawValue

/// The URL to which browsers are redirected at the end of a login or a logout.
public let ADOBEPASS_REDIRECT_URL = AccessEnablerOptions.documentedRedirectURL

/// The tracking event of an authentication.
public let TRACKING_AUTHENTICATION = Int32(TrackingEventType.authentication.rawValue)
/// The tracking event of an authorization.
public let TRACKING_AUTHORIZATION = Int32(TrackingEventType.authorization.rawValue)
/// The tracking event of a selection of a provider.
public let TRACKING_GET_SELECTED_PROVIDER = Int32(TrackingEventType.getSelectedProvider.rawValue)

/// The key of the opcode in a metadata request.
public let METADATA_OPCODE_KEY = "METADATA_OPCODE_KEY"
/// The key of the resource in a metadata request.
public let METADATA_RESOURCE_ID_KEY = "METADATA_RESOURCE_ID_KEY"
/// The key of the name in a metadata request.
public let METADATA_USER_META_KEY = "METADATA_USER_META_KEY"
/// The opcode of the expiry of the authentication.
public let METADATA_AUTHENTICATION = Int32(MetadataRequest.authentication.opcode)
/// The opcode of the expiry of the authorization for a resource.
public let METADATA_AUTHORIZATION = Int32(MetadataRequest.authorization(resource: "").opcode)
/// The opcode of the device's id.
public let METADATA_DEVICE_ID = Int32(MetadataRequest.deviceID.opcode)
/// The opcode of the provider's metadata of the viewer.
public let METADATA_USER_META = Int32(MetadataRequest.userMetadata(key: "").opcode)

/// The key of the providers to show, in a filter.
public let TV_PROVIDERS = "TV_PROVIDERS"
/// The key of the providers to show first, in a filter.
public let FEATURED_TV_PROVIDERS = "FEATURED_TV_PROVIDERS"
