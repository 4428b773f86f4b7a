// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A registered application: the response to dynamic client registration.
public struct ClientRegistration: Hashable, Sendable {
    /// The id of the application at the service.
    public var clientID: String
    /// The secret with which the application requests access tokens.
    public var clientSecret: String
    /// The URLs at which a login may end.
    public var redirectURIs: [String]
    /// The grant types with which the application may request access tokens.
    public var grantTypes: [String]
    /// The scopes of the access tokens.
    public var scopes: [String]
    /// The time of the registration, to the second.
    public var issued: Timestamp

    /// Creates a registration.
    public init(
        clientID: String,
        clientSecret: String,
        redirectURIs: [String] = [],
        grantTypes: [String] = ["client_credentials"],
        scopes: [String] = ["api:client:v2"],
        issued: Timestamp
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.redirectURIs = redirectURIs
        self.grantTypes = grantTypes
        self.scopes = scopes
        self.issued = issued
    }
}

/// The access token that an application sends with every request.
public struct AccessToken: Hashable, Sendable {
    /// The id of the token.
    public var id: String?
    /// The token itself, a secret.
    public var accessToken: String
    /// The time at which the token was created.
    public var created: Timestamp?
    /// The lifetime in seconds; `nil` if the service does not report it.
    public var expiresIn: Int?
    /// The type of the token: `bearer`.
    public var tokenType: String

    /// Creates an access token.
    public init(id: String?, accessToken: String, created: Timestamp?, expiresIn: Int?, tokenType: String = "bearer") {
        self.id = id
        self.accessToken = accessToken
        self.created = created
        self.expiresIn = expiresIn
        self.tokenType = tokenType
    }
}

/// An OAuth 2.0 error of a registration or token request (RFC 6749 §5.2, RFC 7591 §3.2.2). Unknown codes are retained.
public struct RegistrationError: Error, Hashable, Sendable, Codable {
    /// The error code.
    public var error: String

    /// Creates an error.
    public init(error: String) { self.error = error }

    /// A parameter is missing or malformed.
    public static let invalidRequest = RegistrationError(error: "invalid_request")
    /// The redirect URI is not one of the application's.
    public static let invalidRedirectURI = RegistrationError(error: "invalid_redirect_uri")
    /// The software statement is not valid.
    public static let invalidSoftwareStatement = RegistrationError(error: "invalid_software_statement")
    /// The software statement is no longer approved.
    public static let unapprovedSoftwareStatement = RegistrationError(error: "unapproved_software_statement")
    /// The application is unknown, or its secret is wrong.
    public static let invalidClient = RegistrationError(error: "invalid_client")
    /// The application may not use this grant type.
    public static let unauthorizedClient = RegistrationError(error: "unauthorized_client")
    /// The service does not support this grant type.
    public static let unsupportedGrantType = RegistrationError(error: "unsupported_grant_type")
}

extension ClientRegistration: Codable {
    private enum Key: String, CodingKey {
        case clientID = "client_id"
        case clientSecret = "client_secret"
        case redirectURIs = "redirect_uris"
        case grantTypes = "grant_types"
        case scopes
        case issued = "client_id_issued_at"
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        clientID = try members.decode(String.self, forKey: .clientID)
        clientSecret = try members.decode(String.self, forKey: .clientSecret)
        redirectURIs = try members.decodeIfPresent([String].self, forKey: .redirectURIs) ?? []
        grantTypes = try members.decodeIfPresent([String].self, forKey: .grantTypes) ?? []
        scopes = try members.decodeIfPresent([String].self, forKey: .scopes) ?? []
        issued = Timestamp(secondsSince1970: try members.decodeIfPresent(Int64.self, forKey: .issued) ?? 0)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(clientID, forKey: .clientID)
        try members.encode(clientSecret, forKey: .clientSecret)
        try members.encode(redirectURIs, forKey: .redirectURIs)
        try members.encode(grantTypes, forKey: .grantTypes)
        try members.encode(scopes, forKey: .scopes)
        try members.encode(issued.millisecondsSince1970 / 1000, forKey: .issued)
    }
}

extension AccessToken: Codable {
    private enum Key: String, CodingKey {
        case id
        case accessToken = "access_token"
        case created = "created_at"
        case expiresIn = "expires_in"
        case tokenType = "token_type"
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        id = try members.decodeIfPresent(String.self, forKey: .id)
        accessToken = try members.decode(String.self, forKey: .accessToken)
        created = try members.millisecondsIfPresent(.created)
        expiresIn = try members.decodeIfPresent(Int.self, forKey: .expiresIn)
        tokenType = try members.decodeIfPresent(String.self, forKey: .tokenType) ?? "bearer"
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encodeIfPresent(id, forKey: .id)
        try members.encode(accessToken, forKey: .accessToken)
        try members.encode(created, asNumberFor: .created)
        try members.encodeIfPresent(expiresIn, forKey: .expiresIn)
        try members.encode(tokenType, forKey: .tokenType)
    }
}

// MARK: Descriptions without secrets

extension ClientRegistration: CustomStringConvertible, CustomReflectable {
    /// A description with the id of the application, without its secret.
    public var description: String { "ClientRegistration(\(clientID))" }

    /// A `Mirror` for debuggers and `dump`, without the secret.
    public var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// A description with the id of the token, without the token.
    public var description: String { "AccessToken(\(id ?? "unnamed"))" }

    /// A `Mirror` for debuggers and `dump`, without the token.
    public var customMirror: Mirror { Mirror(self, children: ["id": id as Any]) }
}
