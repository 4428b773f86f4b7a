// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import FoundationEssentials
internal import MediaResources
internal import XML

/// Why a body of the entitlement service cannot be read.
public struct EntitlementBodyError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Code: String, Sendable, CaseIterable {
        /// More than ``EntitlementBody/maximumSize`` bytes.
        case tooLarge = "entitlement_body_too_large"
        /// Not JSON, or not XML; or to be written, and not possible in XML.
        case malformed = "entitlement_body_malformed"
        /// Without a member that must be there, or with one of another type.
        case unexpected = "entitlement_body_unexpected"
    }

    /// What is wrong.
    public let code: Code
    /// What was found, for a log. It holds no values of the body.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension EntitlementBodyError: CustomStringConvertible {
    public var description: String { "\(code.rawValue): \(message)" }
}

/// Bodies of the entitlement service in JSON.
public enum EntitlementBody {
    /// The most that is read, in bytes.
    public static let maximumSize = 4 << 20

    /// Reads a body in JSON. Members that are not known are passed over; numbers are whole, and of 64 bits.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public static func read<Value: Decodable>(
        _ type: Value.Type,
        json bytes: [UInt8]
    ) throws(EntitlementBodyError) -> Value {
        guard bytes.count <= maximumSize else { throw EntitlementBodyError(.tooLarge, "\(bytes.count) bytes") }
        // Foundation's decoder takes what is no JSON, takes one of two members of a name, and traps on some numbers and on
        // some depths: it gets what was looked at before.
        let value: JSONValue
        do throws(JSONFault) { value = try JSONReader.read(bytes.span, limits: limits) } catch {
            throw EntitlementBodyError(.malformed, error.reason)
        }
        var count = 50_000
        guard value.isPlain(&count) else {
            throw EntitlementBodyError(.unexpected, "a number is not whole, or there are too many values")
        }
        do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch let error as DecodingError {
            throw EntitlementBodyError(error)
        } catch { throw EntitlementBodyError(.unexpected, "it cannot be read") }
    }

    private static let limits = JSONLimits(depth: 16, members: 128, elements: 50_000)

    /// Writes a body in JSON, in one line, with its members in the order of their names.
    ///
    /// - Throws: What `value` throws; the types of this module throw nothing.
    public static func json(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }
}

extension JSONFault {
    fileprivate var reason: String {
        switch self {
        case .notJSON: "not JSON"
        case .tooDeep: "nested too deep"
        case .tooManyMembers: "an object has too many members"
        case .tooLong: "a list is too long"
        case .repeatedMember: "a member is there twice"
        }
    }
}

extension JSONValue {
    /// Whether all numbers are whole, and there are no more than `count` values.
    fileprivate func isPlain(_ count: inout Int) -> Bool {
        count -= 1
        guard count >= 0 else { return false }
        switch self {
        case .null, .bool, .text: return true
        case .number(let number): return number != nil
        case .list(let values): return values.allSatisfy { $0.isPlain(&count) }
        case .object(let members): return members.allSatisfy { $0.value.isPlain(&count) }
        }
    }
}

extension EntitlementBodyError {
    fileprivate init(_ error: DecodingError) {
        /// Where it is, in names that a sender has chosen.
        func place(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".").printable(limit: 80)
            return path.isEmpty ? "the body" : path
        }
        switch error {
        case .keyNotFound(let key, let context): self.init(.unexpected, "\(place(context)) has no \(key.stringValue)")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            self.init(.unexpected, "\(place(context)) is of another kind")
        @unknown default: self.init(.unexpected, "it cannot be read")
        }
    }
}

// MARK: XML

extension XMLElement {
    /// Reads a document whose root has that name.
    static func body(_ bytes: [UInt8], root name: String) throws(EntitlementBodyError) -> XMLElement {
        guard bytes.count <= EntitlementBody.maximumSize else {
            throw EntitlementBodyError(.tooLarge, "\(bytes.count) bytes")
        }
        let root: XMLElement
        do throws(Fault) { root = try XMLElement(reading: bytes.span) } catch {
            throw EntitlementBodyError(.malformed, error.reason)
        }
        guard root.name == name else {
            throw EntitlementBodyError(.unexpected, "the root is \(root.name.printable(limit: 80)), not \(name)")
        }
        return root
    }

    /// The text of the element of that name in this one.
    func required(_ name: String) throws(EntitlementBodyError) -> String {
        guard let text = try optional(name) else {
            throw EntitlementBodyError(.unexpected, "\(self.name.printable(limit: 80)) has no \(name)")
        }
        return text
    }

    /// The text of the element of that name; nil where there is none, or nothing in it. One may be there once.
    func optional(_ name: String) throws(EntitlementBodyError) -> String? {
        let found = children.filter { $0.name == name }
        guard found.count < 2 else { throw EntitlementBodyError(.unexpected, "\(name) is there twice") }
        guard let text = found.first?.text, !text.isEmpty else { return nil }
        return text
    }

    /// This as a document.
    func body(prefix: String = "") throws(EntitlementBodyError) -> String {
        do throws(Fault) { return try document(prefix: prefix) } catch {
            throw EntitlementBodyError(.malformed, error.reason)
        }
    }

    /// An element of elements with a text each; those without are left out.
    init(_ name: String, namespace: String = "", fields: [(String, String?)]) {
        self.init(
            name,
            namespace: namespace,
            children: fields.compactMap { name, text in text.map { XMLElement(name, text: $0) } }
        )
    }
}
