// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A value of a viewer's metadata. Most are texts; lists (`channelID`), maps (`maxRating`) and lists of lists occur.
public enum MetadataValue: Hashable, Sendable {
    /// A text.
    case text(String)
    /// An integer.
    case number(Int64)
    /// A Boolean value.
    case truth(Bool)
    /// No value.
    case null
    /// A list of values.
    indirect case list([MetadataValue])
    /// A map of values, keyed by name.
    indirect case map([String: MetadataValue])
}

/// The metadata that the provider supplies about a viewer, in the form of REST API v1. It complements the media token and
/// never replaces it.
public struct UserMetadata: Hashable, Sendable {
    /// The time of the last change, to the second.
    public var updated: Timestamp
    /// The names of the encrypted values: Base64 of RSA ciphertext, for the programmer's private key.
    public var encrypted: [String]
    /// The values, keyed by name: `zip`, `householdID`, `maxRating`, `userID`, `channelID` and others.
    public var data: [String: MetadataValue]

    /// Creates metadata.
    public init(updated: Timestamp, encrypted: [String] = [], data: [String: MetadataValue]) {
        self.updated = updated
        self.encrypted = encrypted
        self.data = data
    }
}

extension UserMetadata: Codable {
    private enum Key: String, CodingKey { case updated, encrypted, data }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        updated = Timestamp(secondsSince1970: try members.decode(Int64.self, forKey: .updated))
        encrypted = try members.decodeIfPresent([String].self, forKey: .encrypted) ?? []
        data = try members.decode([String: MetadataValue].self, forKey: .data)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(updated.millisecondsSince1970 / 1000, forKey: .updated)
        try members.encode(encrypted, forKey: .encrypted)
        try members.encode(data, forKey: .data)
    }
}

extension MetadataValue: Codable {
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let truth = try? value.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let list = try? value.decode([MetadataValue].self) {
            self = .list(list)
        } else {
            self = .map(try value.decode([String: MetadataValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .text(let text): try value.encode(text)
        case .number(let number): try value.encode(number)
        case .truth(let truth): try value.encode(truth)
        case .null: try value.encodeNil()
        case .list(let list): try value.encode(list)
        case .map(let map): try value.encode(map)
        }
    }
}
