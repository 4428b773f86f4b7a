// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import FoundationEssentials
internal import MediaResources
internal import XML

/// The reason why a body of the entitlement service cannot be read or written.
public struct EntitlementBodyError: Error, Hashable, Sendable {
    /// The kind of error.
    public enum Code: String, Sendable, CaseIterable {
        /// The body has more than ``EntitlementBody/maximumSize`` bytes.
        case tooLarge = "entitlement_body_too_large"
        /// The body is not JSON or not XML, or a value to write cannot be represented in XML.
        case malformed = "entitlement_body_malformed"
        /// A required member is missing, or a member has another type.
        case unexpected = "entitlement_body_unexpected"
    }

    /// The kind of error.
    public let code: Code
    /// A description for a log. It holds no values of the body.
    public let message: String

    init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }
}

extension EntitlementBodyError: CustomStringConvertible {
    public var description: String { "\(code.rawValue): \(message)" }
}

/// The bodies of the entitlement service in JSON.
public enum EntitlementBody {
    /// The maximum size of a body, in bytes.
    public static let maximumSize = 4 << 20

    /// Decodes a body from JSON. Unknown members are ignored; numbers must be 64-bit integers.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public static func read<Value: Decodable>(
        _ type: Value.Type,
        json bytes: [UInt8]
    ) throws(EntitlementBodyError) -> Value {
        guard bytes.count <= maximumSize else { throw EntitlementBodyError(.tooLarge, message: "\(bytes.count) bytes") }
        let value: JSON
        do throws(JSONFault) { value = try JSONReader.read(bytes.span, limits: limits) } catch {
            throw EntitlementBodyError(.malformed, message: error.reason)
        }
        var count = 50_000
        guard value.isPlain(&count) else {
            throw EntitlementBodyError(.unexpected, message: "a number is not an integer, or there are too many values")
        }
        do { return try Value(from: JSONBodyDecoder(value)) } catch let error as DecodingError {
            throw EntitlementBodyError(error)
        } catch { throw EntitlementBodyError(.unexpected, message: "the body cannot be decoded") }
    }

    private static let limits = JSONLimits(depth: 16, members: 128, elements: 50_000)

    /// Encodes a body as JSON, in one line, with its members sorted by name.
    ///
    /// - Throws: The error that `value` throws; the types of this module throw none.
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
        case .tooDeep: "nested too deeply"
        case .tooManyMembers: "an object has too many members"
        case .tooLong: "a list is too long"
        case .repeatedMember: "an object has a duplicate member"
        }
    }
}

extension JSON {
    /// True if all numbers are integers and there are at most `count` values.
    fileprivate func isPlain(_ count: inout Int) -> Bool {
        count -= 1
        guard count >= 0 else { return false }
        switch self {
        case .null, .bool, .number, .string: return true
        case .otherNumber: return false
        case .array(let values): return values.allSatisfy { $0.isPlain(&count) }
        case .object(let members): return members.allSatisfy { $0.value.isPlain(&count) }
        }
    }
}

extension EntitlementBodyError {
    fileprivate init(_ error: DecodingError) {
        /// The path of the error. It consists of names that the sender has chosen.
        func location(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".").printable(limit: 80)
            return path.isEmpty ? "the body" : path
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.unexpected, message: "\(location(context)) has no \(key.stringValue)")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            self.init(.unexpected, message: "\(location(context)) has the wrong type")
        @unknown default: self.init(.unexpected, message: "the body cannot be decoded")
        }
    }
}

// MARK: XML

extension XMLElement {
    /// Parses a document whose root element is `name`.
    static func body(_ bytes: [UInt8], root name: String) throws(EntitlementBodyError) -> XMLElement {
        guard bytes.count <= EntitlementBody.maximumSize else {
            throw EntitlementBodyError(.tooLarge, message: "\(bytes.count) bytes")
        }
        let root: XMLElement
        do throws(Fault) { root = try XMLElement(reading: bytes.span) } catch {
            throw EntitlementBodyError(.malformed, message: error.reason)
        }
        guard root.name == name else {
            throw EntitlementBodyError(
                .unexpected,
                message: "the root is \(root.name.printable(limit: 80)), not \(name)"
            )
        }
        return root
    }

    /// Returns the text of the child element `name`.
    func required(_ name: String) throws(EntitlementBodyError) -> String {
        guard let text = try optional(name) else {
            throw EntitlementBodyError(.unexpected, message: "\(self.name.printable(limit: 80)) has no \(name)")
        }
        return text
    }

    /// Returns the text of the child element `name`; `nil` if the element is absent or empty.
    ///
    /// - Throws: ``EntitlementBodyError`` if the element occurs more than once.
    func optional(_ name: String) throws(EntitlementBodyError) -> String? {
        let found = children.filter { $0.name == name }
        guard found.count < 2 else {
            throw EntitlementBodyError(.unexpected, message: "\(name) is a duplicate element")
        }
        guard let text = found.first?.text, !text.isEmpty else { return nil }
        return text
    }

    /// Returns this element as a document.
    func body(prefix: String = "") throws(EntitlementBodyError) -> String {
        do throws(Fault) { return try document(prefix: prefix) } catch {
            throw EntitlementBodyError(.malformed, message: error.reason)
        }
    }

    /// Creates an element with one text child for each field. Fields without a text are omitted.
    init(_ name: String, namespace: String = "", fields: [(String, String?)]) {
        self.init(
            name,
            namespace: namespace,
            children: fields.compactMap { name, text in text.map { XMLElement(name, text: $0) } }
        )
    }
}
