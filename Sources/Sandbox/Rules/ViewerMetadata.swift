// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import MediaResources
internal import MediaTokens

/// The metadata of a viewer, encrypted in part for the programmer.
struct ViewerMetadata: Sendable {
    /// The values by name. Those in ``encrypted`` are ciphertext.
    let values: [String: MetadataValue]
    /// The names of the values that only the programmer can decrypt.
    let encrypted: [String]

    /// Collects the metadata of a viewer.
    ///
    /// - Throws: ``EndpointError`` if a value cannot be encrypted.
    init(_ viewer: Viewer) throws {
        var values: [String: MetadataValue] = ["userID": .text(viewer.id)]
        if let (user, household) = viewer.person {
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

    /// Encrypts a text as it is, and any other value as JSON.
    private static func encrypt(_ value: MetadataValue, for certificate: MetadataCertificate) throws -> String? {
        if case .text(let text) = value { return certificate.encrypt(text) }
        return certificate.encrypt(String(decoding: try EntitlementBody.json(value), as: UTF8.self))
    }

    /// The metadata as attributes of a profile.
    var attributes: [String: Profile.Attribute] {
        var attributes: [String: Profile.Attribute] = [:]
        for (name, value) in values {
            attributes[name] = Profile.Attribute(value, state: encrypted.contains(name) ? .encrypted : .plain)
        }
        return attributes
    }
}

extension Rating {
    /// The name of the scheme in metadata.
    fileprivate var shortScheme: String {
        switch scheme {
        case "urn:v-chip", "urn:vchip": "VCHIP"
        case "urn:mpaa": "MPAA"
        default: "URL"
        }
    }
}
