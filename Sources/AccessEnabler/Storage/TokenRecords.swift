// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import Platform

/// The persistent records of a client, keyed by requestor and provider. Their contents are private to the client.
public struct TokenRecords: Hashable, Sendable, Codable {
    /// The id of this device at services; created once.
    var device: String?
    /// The registrations of the application, keyed by the URL of the service.
    var registrations: [String: Registration] = [:]
    /// The records of requestors, keyed by id.
    var requestors: [String: Requestor] = [:]

    /// Creates empty records.
    public init() {}

    struct Registration: Hashable, Codable {
        var clientID: String
        var clientSecret: String
        /// The SHA-256 digest of the statement and the redirect URL. Other inputs need another registration.
        var statement: String
    }

    struct Requestor: Hashable, Codable {
        /// The id of the selected provider.
        var provider: String?
        /// The authenticated viewers, keyed by provider id.
        var viewers: [String: Viewer] = [:]
        /// The grants, keyed by provider id.
        var authorizations: [String: [Grant]] = [:]
    }

    struct Viewer: Hashable, Codable {
        var userID: String
        /// Milliseconds since 1970.
        var expires: Int64
        var kind: String
        /// The URL of the service that authenticated the viewer.
        var service: String
    }

    /// The authorization to get media tokens for a resource; not a media token.
    struct Grant: Hashable, Codable {
        var resource: String
        /// Milliseconds since 1970.
        var expires: Int64
    }
}

extension TokenRecords: CustomStringConvertible, CustomReflectable {
    /// A description with the number of requestors, without contents.
    public var description: String { "TokenRecords(\(requestors.count) requestors)" }

    /// A `Mirror` for debuggers and `dump`, with the number of requestors only.
    public var customMirror: Mirror { Mirror(self, children: ["requestors": requestors.count]) }
}

extension TokenRecords {
    /// The maximum number of grants of a viewer; the first to expire are removed first.
    static let maximumGrants = 256

    /// Returns the authenticated viewer of the provider, if not expired.
    func viewer(of requestor: String, mvpd: String, at now: Timestamp) -> Viewer? {
        guard let viewer = requestors[requestor]?.viewers[mvpd], now.millisecondsSince1970 < viewer.expires else {
            return nil
        }
        return viewer
    }

    /// Returns the expiry of the viewer's grant for the resource, if not expired.
    func grant(of requestor: String, mvpd: String, for resource: String, at now: Timestamp) -> Timestamp? {
        let grants = requestors[requestor]?.authorizations[mvpd] ?? []
        let grant = grants.first { $0.resource.utf8.elementsEqual(resource.utf8) }
        guard let grant, now.millisecondsSince1970 < grant.expires else { return nil }
        return Timestamp(millisecondsSince1970: grant.expires)
    }

    mutating func remember(
        grantOf requestor: String,
        mvpd: String,
        for resource: String,
        until expires: Timestamp,
        at now: Timestamp
    ) {
        forgetGrant(of: requestor, mvpd: mvpd, for: resource)
        var grants = requestors[requestor]?.authorizations[mvpd] ?? []
        grants.removeAll { $0.expires <= now.millisecondsSince1970 }
        grants.append(Grant(resource: resource, expires: expires.millisecondsSince1970))
        if grants.count > Self.maximumGrants {
            grants = Array(grants.sorted { $0.expires < $1.expires }.suffix(Self.maximumGrants))
        }
        requestors[requestor, default: Requestor()].authorizations[mvpd] = grants
    }

    mutating func forgetGrant(of requestor: String, mvpd: String, for resource: String) {
        requestors[requestor]?.authorizations[mvpd]?.removeAll { $0.resource.utf8.elementsEqual(resource.utf8) }
    }

    /// Removes the viewer of a provider, with all grants.
    mutating func forgetViewer(of requestor: String, mvpd: String) {
        requestors[requestor]?.viewers[mvpd] = nil
        requestors[requestor]?.authorizations[mvpd] = nil
    }
}
