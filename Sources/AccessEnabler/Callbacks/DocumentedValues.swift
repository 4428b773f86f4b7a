// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Whether a documented callback says yes or no: `ACCESS_ENABLER_STATUS_…`.
public enum AccessEnablerStatus: Int, Sendable {
    /// `ACCESS_ENABLER_STATUS_ERROR`.
    case error = 0
    /// `ACCESS_ENABLER_STATUS_SUCCESS`.
    case success = 1
}

/// The documented error codes of callbacks; their raw values are the texts that callbacks carry.
public enum EntitlementErrorCode: String, Sendable, CaseIterable {
    /// `USER_AUTHENTICATED`: no error.
    case userAuthenticated = ""
    /// `USER_NOT_AUTHENTICATED_ERROR`: there is no valid authentication.
    case userNotAuthenticated = "User Not Authenticated Error"
    /// `PROVIDER_NOT_SELECTED_ERROR`: the viewer left the picker without a choice.
    case providerNotSelected = "Provider not Selected Error"
    /// `PROVIDER_NOT_AVAILABLE_ERROR`: the provider that was chosen does not work with this requestor.
    case providerNotAvailable = "Provider not Available Error"
    /// `GENERIC_AUTHENTICATION_ERROR`: a fault of the network or the service, or the login was given up.
    case genericAuthentication = "Generic Authentication Error"
    /// `USER_NOT_AUTHORIZED_ERROR`: the provider does not let the viewer see the resource.
    case userNotAuthorized = "User not Authorized Error"
    /// `GENERIC_AUTHORIZATION_ERROR`: a fault of the network or the service, or the resource is malformed.
    case genericAuthorization = "Generic Authorization Error"
}

/// What a client is asked for by ``AccessEnabler/getMetadata(_:)``; the documented `METADATA_…` keys.
public enum MetadataRequest: Hashable, Sendable {
    /// `METADATA_AUTHENTICATION`: until when the viewer is authenticated.
    case authentication
    /// `METADATA_AUTHORIZATION` with `METADATA_RESOURCE_ID_KEY`: until when the viewer is authorized for the resource.
    case authorization(resource: String)
    /// `METADATA_DEVICE_ID`: what this device is called at the service.
    case deviceID
    /// `METADATA_USER_META` with `METADATA_USER_META_KEY`: what the provider tells of the viewer, by its name, as `zip`.
    case userMetadata(key: String)

    /// The number of the opcode, as the documented callback has it.
    public var opcode: Int {
        switch self {
        case .authentication: 0
        case .authorization: 1
        case .deviceID: 2
        case .userMetadata: 3
        }
    }

    /// The arguments in the documented names, so that an answer can be told from others.
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
