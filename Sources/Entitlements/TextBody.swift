// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

/// A body whose members are all strings. JSON and XML have the same members, so one list serves to read and write both.
protocol TextBody {
    /// The name of the root element in XML.
    static var root: String { get }

    init<Members: TextMembers>(_ members: Members) throws(Members.Failure)

    /// The members in the order of XML. Members without a text are omitted.
    var members: [(String, String?)] { get }
}

/// The members of a body, independent of its format.
protocol TextMembers {
    associatedtype Failure: Error

    func required(_ name: String) throws(Failure) -> String
    func optional(_ name: String) throws(Failure) -> String?
    /// Returns a time, in milliseconds since 1970.
    func time(_ name: String) throws(Failure) -> Timestamp
}

extension Timestamp {
    /// The milliseconds since 1970, as a string.
    var text: String { String(millisecondsSince1970) }
}

// MARK: JSON

extension TextBody {
    init(members decoder: any Decoder) throws {
        try self.init(JSONMembers(container: decoder.container(keyedBy: JSONMembers.Name.self)))
    }

    func encodeMembers(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONMembers.Name.self)
        for (name, text) in members { try container.encodeIfPresent(text, forKey: JSONMembers.Name(stringValue: name)) }
    }
}

private struct JSONMembers: TextMembers {
    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    let container: KeyedDecodingContainer<Name>

    func required(_ name: String) throws -> String {
        try container.decode(String.self, forKey: Name(stringValue: name))
    }

    func optional(_ name: String) throws -> String? {
        try container.decodeIfPresent(String.self, forKey: Name(stringValue: name))
    }

    func time(_ name: String) throws -> Timestamp { try container.milliseconds(Name(stringValue: name)) }
}

// MARK: XML

extension TextBody {
    init(element bytes: [UInt8]) throws(EntitlementBodyError) {
        try self.init(try XMLElement.body(bytes, root: Self.root))
    }

    var element: String {
        get throws(EntitlementBodyError) { try XMLElement(Self.root, fields: members).body() }
    }
}

extension XMLElement: TextMembers {
    func time(_ name: String) throws(EntitlementBodyError) -> Timestamp {
        guard let number = Int64(try required(name)) else {
            throw EntitlementBodyError(.unexpected, message: "\(self.name): \(name) is not a number of milliseconds")
        }
        return Timestamp(millisecondsSince1970: number)
    }
}
