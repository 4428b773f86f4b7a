// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaTokens

/// An application that the service knows: the answer to dynamic client registration.
public struct ClientRegistration: Hashable, Sendable {
    public var clientID: String
    public var clientSecret: String
    public var redirectURIs: [String]
    public var grantTypes: [String]
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
    public var id: String?
    public var accessToken: String
    public var created: Timestamp?
    /// For how many seconds it is good; nil where the service does not say.
    public var expiresIn: Int?
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
    public var error: String

    /// Makes an error.
    public init(error: String) { self.error = error }

    public static let invalidRequest = RegistrationError(error: "invalid_request")
    public static let invalidRedirectURI = RegistrationError(error: "invalid_redirect_uri")
    public static let invalidSoftwareStatement = RegistrationError(error: "invalid_software_statement")
    public static let unapprovedSoftwareStatement = RegistrationError(error: "unapproved_software_statement")
    public static let invalidClient = RegistrationError(error: "invalid_client")
    public static let unauthorizedClient = RegistrationError(error: "unauthorized_client")
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
