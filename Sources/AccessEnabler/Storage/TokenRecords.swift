// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import Platform

/// What a client keeps, by requestor and provider. Its contents are the client's own; storages pass them on.
public struct TokenRecords: Hashable, Sendable, Codable {
    /// What services know this device by; made once.
    var device: String?
    /// How the application is registered at services, by their URLs.
    var registrations: [String: Registration] = [:]
    /// What is kept of requestors, by their ids.
    var requestors: [String: Requestor] = [:]

    /// Makes records with nothing in them.
    public init() {}

    struct Registration: Hashable, Codable {
        var clientID: String
        var clientSecret: String
        /// What it was made by, the statement and the redirect URL: others need another registration. Their SHA-256.
        var statement: String
    }

    struct Requestor: Hashable, Codable {
        /// The id of the provider that was chosen.
        var provider: String?
        /// By the ids of providers.
        var viewers: [String: Viewer] = [:]
        /// By the ids of providers.
        var authorizations: [String: [Grant]] = [:]
    }

    struct Viewer: Hashable, Codable {
        var userID: String
        /// Milliseconds since 1970.
        var expires: Int64
        var kind: String
        /// The URL of the service that authenticated the viewer.
        var service: String
        /// The application's own words of the login, in Base64, where there were any.
        var identity: String?
    }

    /// That the viewer may have media tokens for a resource; it is none itself.
    struct Grant: Hashable, Codable {
        var resource: String
        /// Milliseconds since 1970.
        var expires: Int64
    }
}

extension TokenRecords: CustomStringConvertible, CustomReflectable {
    /// How much there is, and nothing of what.
    public var description: String { "TokenRecords(\(requestors.count) requestors)" }

    /// What a debugger and `dump` show: the same.
    public var customMirror: Mirror { Mirror(self, children: ["requestors": requestors.count]) }
}

extension TokenRecords {
    /// The most authorizations that are kept of a viewer; the first to expire leave first.
    static let maximumGrants = 256

    /// Who is authenticated with the provider, if it still holds.
    func viewer(_ requestor: String, _ mvpd: String, at now: Timestamp) -> Viewer? {
        guard let viewer = requestors[requestor]?.viewers[mvpd], now.millisecondsSince1970 < viewer.expires else {
            return nil
        }
        return viewer
    }

    /// Until when the viewer is authorized for the resource, if it still holds.
    func grant(_ requestor: String, _ mvpd: String, _ resource: String, at now: Timestamp) -> Timestamp? {
        let grants = requestors[requestor]?.authorizations[mvpd] ?? []
        let grant = grants.first { $0.resource.utf8.elementsEqual(resource.utf8) }
        guard let grant, now.millisecondsSince1970 < grant.expires else { return nil }
        return Timestamp(millisecondsSince1970: grant.expires)
    }

    mutating func remember(
        _ requestor: String,
        _ mvpd: String,
        _ resource: String,
        until expires: Timestamp,
        at now: Timestamp
    ) {
        forgetGrant(requestor, mvpd, resource)
        var grants = requestors[requestor]?.authorizations[mvpd] ?? []
        grants.removeAll { $0.expires <= now.millisecondsSince1970 }
        grants.append(Grant(resource: resource, expires: expires.millisecondsSince1970))
        if grants.count > Self.maximumGrants {
            grants = Array(grants.sorted { $0.expires < $1.expires }.suffix(Self.maximumGrants))
        }
        requestors[requestor, default: Requestor()].authorizations[mvpd] = grants
    }

    mutating func forgetGrant(_ requestor: String, _ mvpd: String, _ resource: String) {
        requestors[requestor]?.authorizations[mvpd]?.removeAll { $0.resource.utf8.elementsEqual(resource.utf8) }
    }

    /// Forgets the viewer of a provider with all that was granted.
    mutating func forgetViewer(_ requestor: String, _ mvpd: String) {
        requestors[requestor]?.viewers[mvpd] = nil
        requestors[requestor]?.authorizations[mvpd] = nil
    }
}
