// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// An application that the service knows: the answer to dynamic client registration.
public struct ClientRegistration: Hashable, Sendable {
    /// The application's name at the service.
    public var clientID: String
    /// What the application shows for access tokens. A secret.
    public var clientSecret: String
    /// Where logins may end.
    public var redirectURIs: [String]
    /// How access tokens may be asked for.
    public var grantTypes: [String]
    /// What access tokens are good for.
    public var scopes: [String]
    /// To the second.
    public var issued: Timestamp

    /// Makes a registration.
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

/// What an application shows with every call.
public struct AccessToken: Hashable, Sendable {
    /// Names the token.
    public var id: String?
    /// The token. A secret.
    public var accessToken: String
    /// When it was made.
    public var created: Timestamp?
    /// For how many seconds it is good; nil where the service does not say.
    public var expiresIn: Int?
    /// How it is shown: `bearer`.
    public var tokenType: String

    /// Makes an access token.
    public init(id: String?, accessToken: String, created: Timestamp?, expiresIn: Int?, tokenType: String = "bearer") {
        self.id = id
        self.accessToken = accessToken
        self.created = created
        self.expiresIn = expiresIn
        self.tokenType = tokenType
    }
}

/// Why an application gets neither: an error of OAuth 2.0 (RFC 6749 §5.2, RFC 7591 §3.2.2). Unknown words are kept.
public struct RegistrationError: Error, Hashable, Sendable, Codable {
    /// The word for it.
    public var error: String

    /// Makes an error.
    public init(error: String) { self.error = error }

    /// Something is missing, or malformed.
    public static let invalidRequest = RegistrationError(error: "invalid_request")
    /// The redirect URI is not one of the application's.
    public static let invalidRedirectURI = RegistrationError(error: "invalid_redirect_uri")
    /// The software statement cannot be believed.
    public static let invalidSoftwareStatement = RegistrationError(error: "invalid_software_statement")
    /// The software statement is no longer approved.
    public static let unapprovedSoftwareStatement = RegistrationError(error: "unapproved_software_statement")
    /// No such application, or another secret.
    public static let invalidClient = RegistrationError(error: "invalid_client")
    /// The application may not ask in this way.
    public static let unauthorizedClient = RegistrationError(error: "unauthorized_client")
    /// Nobody may ask in this way.
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

// MARK: Without their secrets

extension ClientRegistration: CustomStringConvertible, CustomReflectable {
    /// The application's name, and not its secret.
    public var description: String { "ClientRegistration(\(clientID))" }

    /// What a debugger and `dump` show: the same.
    public var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// The token's name, and not the token.
    public var description: String { "AccessToken(\(id ?? "unnamed"))" }

    /// What a debugger and `dump` show: the same.
    public var customMirror: Mirror { Mirror(self, children: ["id": id as Any]) }
}
