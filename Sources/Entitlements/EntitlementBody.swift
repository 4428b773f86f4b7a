// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import MediaResources
internal import StrictJSON

/// Why a body of the entitlement service cannot be read.
public struct EntitlementBodyError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Code: String, Sendable, CaseIterable {
        /// More than ``EntitlementBody/maximumSize`` bytes.
        case tooLarge = "entitlement_body_too_large"
        /// Not JSON, or not XML.
        case malformed = "entitlement_body_malformed"
        /// Without a member that must be there, or with one of another type.
        case unexpected = "entitlement_body_unexpected"
    }

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

    /// Reads a body in JSON. Members that are not known are passed over.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public static func read<Value: Decodable>(
        _ type: Value.Type,
        json bytes: [UInt8]
    ) throws(EntitlementBodyError) -> Value {
        guard bytes.count <= maximumSize else { throw EntitlementBodyError(.tooLarge, "\(bytes.count) bytes") }
        // Foundation's decoder takes what is no JSON, takes one of two members of a name, and traps on some that are deep.
        do throws(JSONFault) { _ = try JSONReader.read(bytes.span, limits: limits) } catch {
            throw EntitlementBodyError(.malformed, error == .notJSON ? "not JSON" : "\(error)")
        }
        do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch let error as DecodingError {
            throw EntitlementBodyError(error)
        } catch { throw EntitlementBodyError(.malformed, "not JSON") }
    }

    private static let limits = JSONLimits(depth: 16, members: 128, elements: 50_000)

    /// Writes a body in JSON, in one line, with its members in the order of their names.
    public static func json(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Values of this module are objects, arrays, texts, whole numbers and truths: all of that is JSON.
        return (try? encoder.encode(value)).map { [UInt8]($0) } ?? []
    }
}

extension EntitlementBodyError {
    fileprivate init(_ error: DecodingError) {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.unexpected, "\(path(context)): no \(key.stringValue)")
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.init(.unexpected, "\(path(context)): of another type")
        case .dataCorrupted(let context):
            self.init(
                context.codingPath.isEmpty ? .malformed : .unexpected,
                context.codingPath.isEmpty ? "not JSON" : "\(path(context)): \(context.debugDescription)"
            )
        @unknown default: self.init(.malformed, "not JSON")
        }
    }
}

// MARK: XML

extension XMLElement {
    /// Reads a document whose root has one of the names.
    static func body(_ bytes: [UInt8], root names: String...) throws(EntitlementBodyError) -> XMLElement {
        guard bytes.count <= EntitlementBody.maximumSize else {
            throw EntitlementBodyError(.tooLarge, "\(bytes.count) bytes")
        }
        let root: XMLElement
        do throws(Fault) { root = try XMLElement(reading: bytes.span) } catch {
            throw EntitlementBodyError(.malformed, error.reason)
        }
        guard names.contains(root.name) else {
            throw EntitlementBodyError(.unexpected, "the root is \(root.name), not \(names.joined(separator: " or "))")
        }
        return root
    }

    /// The text of the element of that name in this one.
    func required(_ name: String) throws(EntitlementBodyError) -> String {
        guard let text = optional(name) else { throw EntitlementBodyError(.unexpected, "\(self.name): no \(name)") }
        return text
    }

    /// The text of the element of that name; nil where there is none, or nothing in it.
    func optional(_ name: String) -> String? {
        guard let text = first(name)?.text, !text.isEmpty else { return nil }
        return text
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
