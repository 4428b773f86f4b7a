// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The result in a documented callback: `ACCESS_ENABLER_STATUS_…`.
public enum AccessEnablerStatus: Int, Sendable {
    /// `ACCESS_ENABLER_STATUS_ERROR`.
    case error = 0
    /// `ACCESS_ENABLER_STATUS_SUCCESS`.
    case success = 1
}

/// The documented error codes of callbacks. The raw values are the texts that callbacks carry.
public enum EntitlementErrorCode: String, Sendable, CaseIterable {
    /// `USER_AUTHENTICATED`: no error.
    case userAuthenticated = ""
    /// `USER_NOT_AUTHENTICATED_ERROR`: there is no valid authentication.
    case userNotAuthenticated = "User Not Authenticated Error"
    /// `PROVIDER_NOT_SELECTED_ERROR`: the viewer left the picker without a choice.
    case providerNotSelected = "Provider not Selected Error"
    /// `PROVIDER_NOT_AVAILABLE_ERROR`: the selected provider does not work with this requestor.
    case providerNotAvailable = "Provider not Available Error"
    /// `GENERIC_AUTHENTICATION_ERROR`: a fault of the network or the service, or an abandoned login.
    case genericAuthentication = "Generic Authentication Error"
    /// `USER_NOT_AUTHORIZED_ERROR`: the provider denies the viewer the resource.
    case userNotAuthorized = "User not Authorized Error"
    /// `GENERIC_AUTHORIZATION_ERROR`: a fault of the network or the service, or the resource is malformed.
    case genericAuthorization = "Generic Authorization Error"
}

/// A request for `AccessEnabler.getMetadata(_:)`; the documented `METADATA_…` keys.
public enum MetadataRequest: Hashable, Sendable {
    /// `METADATA_AUTHENTICATION`: the expiry of the authentication.
    case authentication
    /// `METADATA_AUTHORIZATION` with `METADATA_RESOURCE_ID_KEY`: the expiry of the authorization for the resource.
    case authorization(resource: String)
    /// `METADATA_DEVICE_ID`: the id of this device at the service.
    case deviceID
    /// `METADATA_USER_META` with `METADATA_USER_META_KEY`: metadata of the viewer by its name, such as `zip`.
    case userMetadata(key: String)

    /// The number of the opcode in the documented callback.
    public var opcode: Int {
        switch self {
        case .authentication: 0
        case .authorization: 1
        case .deviceID: 2
        case .userMetadata: 3
        }
    }

    /// The arguments, in the documented names, that match an answer to its request.
    public var arguments: [String: String] {
        switch self {
        case .authentication: ["METADATA_OPCODE_KEY": "METADATA_AUTHENTICATION"]
        case .authorization(let resource):
            ["METADATA_OPCODE_KEY": "METADATA_AUTHORIZATION", "METADATA_RESOURCE_ID_KEY": resource]
        case .deviceID: ["METADATA_OPCODE_KEY": "METADATA_DEVICE_ID"]
        case .userMetadata(let key):
            ["METADATA_OPCODE_KEY": "METADATA_USER_META", "METADATA_USER_META_KEY": key]
        }
    }
}

/// The documented numbers of tracking events.
public enum TrackingEventType: Int, Sendable, CaseIterable {
    /// `TRACKING_AUTHENTICATION`.
    case authentication = 0
    /// `TRACKING_AUTHORIZATION`.
    case authorization = 1
    /// `TRACKING_GET_SELECTED_PROVIDER`.
    case getSelectedProvider = 2
}
