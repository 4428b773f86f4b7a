// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import Platform

// The service writes times as milliseconds since 1970, some as numbers and some as strings. Both forms are read everywhere.

extension KeyedDecodingContainer {
    func milliseconds(_ key: Key) throws -> Timestamp {
        if let number = try? decode(Int64.self, forKey: key) { return Timestamp(millisecondsSince1970: number) }
        let text = try decode(String.self, forKey: key)
        guard let number = Int64(text) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not in milliseconds")
        }
        return Timestamp(millisecondsSince1970: number)
    }

    func millisecondsIfPresent(_ key: Key) throws -> Timestamp? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try milliseconds(key)
    }
}

extension KeyedEncodingContainer {
    mutating func encode(_ time: Timestamp?, asNumberFor key: Key) throws {
        try encodeIfPresent(time?.millisecondsSince1970, forKey: key)
    }

    mutating func encode(_ time: Timestamp?, asTextFor key: Key) throws {
        try encodeIfPresent((time?.millisecondsSince1970).map { String($0) }, forKey: key)
    }
}
