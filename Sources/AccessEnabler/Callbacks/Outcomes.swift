// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
public import Platform

/// How ``AccessEnabler/setRequestor(_:serviceProviders:)`` ended.
public struct RequestorStatus: Hashable, Sendable {
    /// Success where at least one service knows the requestor.
    public let status: AccessEnablerStatus
    /// The providers that work with the requestor, each once, bound to the service that named it first.
    public let mvpds: [MVPD]
    /// Why services gave no configuration, one for each that did not.
    public let failures: [Status]
}

/// A viewer whom a provider has authenticated.
public struct AuthenticatedViewer: Hashable, Sendable {
    /// The id of the provider.
    public let mvpd: String
    /// The viewer at the provider, obscured; not for showing.
    public let userID: String
    /// Until when it holds.
    public let expires: Timestamp
    /// How it came to be.
    public let kind: Profile.Kind
    /// Whether this was kept from before, and nobody was asked.
    public let isCached: Bool
}

/// Whether the viewer is authenticated.
public enum AuthenticationStatus: Hashable, Sendable {
    /// The viewer is.
    case authenticated(AuthenticatedViewer)
    /// The viewer is not, and why; with what the service said, where it was asked.
    case notAuthenticated(EntitlementErrorCode, Status?)

    /// What the documented callback says first.
    public var status: AccessEnablerStatus {
        switch self {
        case .authenticated: .success
        case .notAuthenticated: .error
        }
    }

    /// What the documented callback says second.
    public var errorCode: EntitlementErrorCode {
        switch self {
        case .authenticated: .userAuthenticated
        case .notAuthenticated(let code, _): code
        }
    }

    /// Who is authenticated, where somebody is.
    public var viewer: AuthenticatedViewer? {
        if case .authenticated(let viewer) = self { return viewer }
        return nil
    }
}

/// A media token for one start of a playback. **Show it to the gate once, and keep it nowhere.**
public struct GrantedToken: Hashable, Sendable {
    /// The resource as it was asked for.
    public let resource: String
    /// The token in Base64, as services hand it out.
    public let serializedToken: String
    /// The token as it is: what the documented callback carries.
    public let token: String
    /// Until when it starts a playback.
    public let expires: Timestamp
}

/// Whether the viewer may play a resource.
public enum AuthorizationStatus: Hashable, Sendable {
    /// The viewer may: the documented `setToken`.
    case token(GrantedToken)
    /// The viewer may not: the documented `tokenRequestFailed`.
    case failed(AuthorizationFailure)

    /// The token, where there is one.
    public var token: GrantedToken? {
        if case .token(let token) = self { return token }
        return nil
    }

    /// Why not, where there is none.
    public var failure: AuthorizationFailure? {
        if case .failed(let failure) = self { return failure }
        return nil
    }
}

/// Why there is no media token.
public struct AuthorizationFailure: Error, Hashable, Sendable {
    /// The resource as it was asked for.
    public let resource: String
    /// The documented code.
    public let errorCode: EntitlementErrorCode
    /// For the viewer, in the provider's words; often empty. **Untrusted text: escape it where it is shown.**
    public let errorDescription: String
    /// What the service said, or the client itself; its ``Status/action`` tells what may help.
    public let status: Status?
}

/// The answer to ``AccessEnabler/getMetadata(_:)``.
public struct MetadataAnswer: Hashable, Sendable {
    /// What was asked for.
    public let request: MetadataRequest
    /// The value: a text of the client's own values; nil where there is none, or nobody is authenticated.
    public let value: MetadataValue?
    /// Whether the value is still encrypted: Base64 of RSA ciphertext. With ``AccessEnablerOptions/metadataKey`` it never is.
    public let isEncrypted: Bool
}

/// How a logout ended.
public enum LogoutStatus: Hashable, Sendable {
    /// Nobody is authenticated here, and at the service.
    case complete
    /// Nobody is authenticated here; the platform still is, and will authenticate again: have the viewer sign out in its
    /// settings.
    case signOutOfPlatform
    /// Nobody is authenticated here; at the service, who knows.
    case onlyHere(Status)

    /// The status of the documented `setAuthenticationStatus` after a logout, where 0 means that it has succeeded.
    public var documentedStatus: Int { 0 }
}

// MARK: Without the token

extension GrantedToken: CustomStringConvertible, CustomReflectable {
    /// What the token is for, and not the token.
    public var description: String { "GrantedToken(\(resource), until \(expires))" }

    /// What a debugger and `dump` show: the same.
    public var customMirror: Mirror { Mirror(self, children: ["resource": resource, "expires": expires]) }
}
