// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A decoder of a value that the strict reader has read. Numbers are integers of 64 bits; nothing is converted from or to
/// text.
struct JSONBodyDecoder: Decoder {
    let value: JSON
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ value: JSON, at path: [any CodingKey] = []) {
        self.value = value
        codingPath = path
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(JSONObjectDecoder(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([Any].self) }
        return JSONListDecoder(values: values, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "the value has the wrong type")
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension JSONBodyDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let truth) = value else { throw mismatch(type) }
        return truth
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let text) = value else { throw mismatch(type) }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double { Double(try decode(Int64.self)) }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Int64.self)) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    func decode<Value: Decodable & FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard case .number(let number) = value, let whole = Value(exactly: number) else { throw mismatch(type) }
        return whole
    }
}

/// The name of a member, or the index of an element, in the path of an error.
private struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }
}

/// The members of an object. Their names are distinct.
private struct JSONObjectDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [JSON.Member]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { member(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try Value(from: decoder(key))
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = JSONKey(stringValue: "super")
        return JSONBodyDecoder(members.first { $0.name == key.stringValue }?.value ?? .null, at: codingPath + [key])
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        JSONBodyDecoder(member(key) ?? .null, at: codingPath + [key])
    }

    private func member(_ key: Key) -> JSON? { members.first { $0.name == key.stringValue }?.value }

    private func decoder(_ key: Key) throws -> JSONBodyDecoder {
        guard let value = member(key) else {
            throw DecodingError.keyNotFound(
                key,
                .init(codingPath: codingPath, debugDescription: "there is no such member")
            )
        }
        return JSONBodyDecoder(value, at: codingPath + [key])
    }
}

/// The elements of a list.
private struct JSONListDecoder: UnkeyedDecodingContainer {
    let values: [JSON]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(values: [JSON], codingPath: [any CodingKey]) {
        self.values = values
        self.codingPath = codingPath
    }

    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    mutating func decodeNil() throws -> Bool {
        guard try decoder().decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try consume { try Value(from: $0) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try consume { try $0.container(keyedBy: type) } }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try consume { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try consume { $0 } }

    /// Reads the next element. An element that cannot be read stays the next one.
    private mutating func consume<Value>(_ read: (JSONBodyDecoder) throws -> Value) throws -> Value {
        let value = try read(decoder())
        currentIndex += 1
        return value
    }

    private func decoder() throws -> JSONBodyDecoder {
        let path = codingPath + [JSONKey(intValue: currentIndex)]
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                JSON.self,
                .init(codingPath: path, debugDescription: "the list has no further element")
            )
        }
        return JSONBodyDecoder(values[currentIndex], at: path)
    }
}
