// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import MediaResources
internal import MediaTokens

/// What is told of a viewer, and to whom.
struct ViewerMetadata: Sendable {
    /// The values by their names, those of ``encrypted`` as ciphertext.
    let values: [String: MetadataValue]
    /// The names of what only the programmer can read.
    let encrypted: [String]

    /// - Throws: ``EndpointError`` where something cannot be encrypted.
    init(_ viewer: Viewer) throws {
        var values: [String: MetadataValue] = ["userID": .text(viewer.guid)]
        if let (user, household) = viewer.person {
            values["userID"] = .text(user.id)
            values["householdID"] = .text(household.id)
            values["zip"] = .list([.text(household.zip)])
            let channels = Set(household.packages.flatMap(\.channels)).sorted()
            values["channelID"] = .list(channels.map { .text($0) })
            let ratings = household.ratings(of: user).map { ($0.shortScheme, MetadataValue.text($0.value)) }
            if !ratings.isEmpty { values["maxRating"] = .map(Dictionary(ratings, uniquingKeysWith: { $1 })) }
            for (name, value) in user.metadata { values[name] = .text(value) }
        }
        var encrypted: [String] = []
        if let encryption = viewer.requestor.encryption {
            for name in encryption.keys {
                guard let value = values[name] else { continue }
                guard let text = try Self.encrypt(value, for: encryption.certificate) else {
                    throw EndpointError.v2(.invalidConfigurationUserMetadataCertificate)
                }
                values[name] = .text(text)
                encrypted.append(name)
            }
        }
        self.values = values
        self.encrypted = encrypted
    }

    /// A text as it is, and anything else as JSON.
    private static func encrypt(_ value: MetadataValue, for certificate: MetadataCertificate) throws -> String? {
        if case .text(let text) = value { return certificate.encrypt(text) }
        return certificate.encrypt(String(decoding: try EntitlementBody.json(value), as: UTF8.self))
    }

    /// As profiles have it.
    var attributes: [String: Profile.Attribute] {
        var attributes: [String: Profile.Attribute] = [:]
        for (name, value) in values {
            attributes[name] = Profile.Attribute(value, state: encrypted.contains(name) ? .encrypted : .plain)
        }
        return attributes
    }
}

extension SandboxConfiguration.Household {
    /// The ratings that a user is held to: the user's own, or those of all.
    func ratings(of user: SandboxConfiguration.User) -> [Rating] {
        user.maximumRatings.isEmpty ? maximumRatings : user.maximumRatings
    }
}

extension Rating {
    /// The scheme as metadata names it.
    fileprivate var shortScheme: String {
        switch scheme {
        case "urn:v-chip", "urn:vchip": "VCHIP"
        case "urn:mpaa": "MPAA"
        default: "URL"
        }
    }
}
