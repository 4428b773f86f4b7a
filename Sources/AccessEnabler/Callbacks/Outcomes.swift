// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
public import Platform

/// The result of `AccessEnabler.setRequestor(_:serviceProviders:)`.
public struct RequestorStatus: Hashable, Sendable {
    /// `success` if at least one service knows the requestor.
    public let status: AccessEnablerStatus
    /// The providers that work with the requestor, each once, bound to the service that named it first.
    public let mvpds: [MVPD]
    /// The reasons of the services that gave no configuration, one for each.
    public let failures: [Status]
}

/// A viewer whom a provider has authenticated.
public struct AuthenticatedViewer: Hashable, Sendable {
    /// The id of the provider.
    public let mvpd: String
    /// The viewer's id at the provider, obscured; not for display.
    public let userID: String
    /// The expiry of the authentication.
    public let expires: Timestamp
    /// The kind of authentication.
    public let kind: Profile.Kind
    /// True if the viewer comes from the client's records, without a request to the service.
    public let isCached: Bool
}

/// The result of an authentication.
public enum AuthenticationStatus: Hashable, Sendable {
    /// The viewer is authenticated.
    case authenticated(AuthenticatedViewer)
    /// The viewer is not authenticated: the error code, and the status of the service or the client, if there is one.
    case notAuthenticated(EntitlementErrorCode, Status?)

    /// The first argument of the documented callback.
    public var status: AccessEnablerStatus {
        switch self {
        case .authenticated: .success
        case .notAuthenticated: .error
        }
    }

    /// The second argument of the documented callback.
    public var errorCode: EntitlementErrorCode {
        switch self {
        case .authenticated: .userAuthenticated
        case .notAuthenticated(let code, _): code
        }
    }

    /// The authenticated viewer; `nil` if there is none.
    public var viewer: AuthenticatedViewer? {
        if case .authenticated(let viewer) = self { return viewer }
        return nil
    }
}

/// The result of an authorization.
public enum AuthorizationStatus: Hashable, Sendable {
    /// The viewer may play the resource: the documented `setToken`.
    case token(AuthorizedToken)
    /// There is no token: the documented `tokenRequestFailed`.
    case failed(AuthorizationFailure)

    /// The token; `nil` if there is none.
    public var token: AuthorizedToken? {
        if case .token(let token) = self { return token }
        return nil
    }

    /// The failure; `nil` if there is a token.
    public var failure: AuthorizationFailure? {
        if case .failed(let failure) = self { return failure }
        return nil
    }
}

/// The reason why there is no media token.
public struct AuthorizationFailure: Error, Hashable, Sendable {
    /// The resource as it was requested.
    public let resource: String
    /// The documented code.
    public let errorCode: EntitlementErrorCode
    /// A description for the viewer: the provider's, or a notice of a fault or a degradation rule; empty for a denial without one.
    /// **Untrusted text: escape it for display.**
    public let errorDescription: String
    /// The status of the service or of the client; its `action` is the recommended action.
    public let status: Status?
}

/// The answer to `AccessEnabler.getMetadata(_:)`.
public struct MetadataAnswer: Hashable, Sendable {
    /// The request.
    public let request: MetadataRequest
    /// The value, a text for the client's own values; `nil` if there is none, or no viewer is authenticated.
    public let value: MetadataValue?
    /// True if the value is still encrypted: Base64 of RSA ciphertext. Never true with ``AccessEnablerOptions/metadataKey``.
    public let isEncrypted: Bool
}

/// The result of a logout.
public enum LogoutStatus: Hashable, Sendable {
    /// The viewer is logged out of the client and of the service.
    case complete
    /// The viewer is logged out of the client, but not of the platform, which will authenticate the viewer again. Ask the
    /// viewer to sign out in the platform's settings.
    case signOutOfPlatform
    /// The viewer is logged out of the client; the state at the service is unknown.
    case onlyHere(Status)

    /// The status of the documented `setAuthenticationStatus` after a logout, for which 0 means success.
    public var documentedStatus: Int { 0 }
}
