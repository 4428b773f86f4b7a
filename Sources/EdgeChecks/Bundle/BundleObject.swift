// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
internal import PlaybackGate

/// A fault in a policy.
package struct EdgeBundleError: Error, Hashable, Sendable {
    /// The line, from 1 on; 0 if there is none.
    package var line = 0
    /// The column in the line, in bytes, from 1 on; 0 if there is none.
    package var column = 0
    /// The sentence for the operator, in one printable line. Never a part of a key.
    package let message: String
    /// The kind.
    package var kind = Kind.document
    /// The indices of members and elements that lead to the value.
    var path: [Int] = []

    /// A kind of faults.
    package enum Kind: Sendable {
        /// Of the document.
        case document
        /// Of its version, which is not known here.
        case version
        /// Of its signature.
        case signature
    }

    /// Creates a fault without a location.
    package init(_ message: String, kind: Kind = .document) {
        self.message = message.printable(limit: 200)
        self.kind = kind
    }
}

extension EdgeBundleError: CustomStringConvertible {
    package var description: String { line > 0 ? "line \(line): \(message)" : message }
}

/// A strict reader of an object of a policy: each member is read once, and a member that nobody reads is an error.
///
/// A class, so that a member that is read by a copy counts as read everywhere.
final class BundleObject {
    private let members: [JSON.Member]
    private let parent: BundleObject?
    /// The indices from the parent to this object.
    private let steps: [Int]
    /// The members that were read, as a bit mask.
    private var read: UInt64 = 0

    /// The largest number of members of an object.
    static let maximumMembers = 64

    /// Creates the object of a value.
    init(_ json: JSON, in parent: BundleObject? = nil, steps: [Int] = []) throws(EdgeBundleError) {
        self.parent = parent
        self.steps = steps
        guard case .object(let members) = json else {
            self.members = []
            throw fault("must be an object")
        }
        self.members = members
    }

    // MARK: Faults

    /// Returns a fault of the object, or of a member.
    func fault(_ message: String, member name: String? = nil) -> EdgeBundleError {
        let index = name.flatMap { name in members.firstIndex { $0.name == name } }
        return fault(index.map { _ in "\(name ?? ""): \(message)" } ?? message, steps: index.map { [$0] } ?? [])
    }

    private func fault(_ message: String, steps own: [Int]) -> EdgeBundleError {
        var fault = EdgeBundleError(message)
        fault.path = own
        var object: BundleObject? = self
        while let next = object {
            fault.path = next.steps + fault.path
            object = next.parent
        }
        return fault
    }

    /// Throws if there is a member that was not read.
    func finish() throws(EdgeBundleError) {
        for index in members.indices where read & 1 << UInt64(index) == 0 {
            throw fault("\(members[index].name): unknown member", steps: [index])
        }
    }

    // MARK: Members

    /// True if there is such a member.
    func has(_ name: String) -> Bool { members.contains { $0.name == name } }

    private func member(_ name: String) -> (value: JSON, index: Int)? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        read |= 1 << UInt64(index)
        return (members[index].value, index)
    }

    private func required<Value>(_ name: String, value: Value?) throws(EdgeBundleError) -> Value {
        guard let value else { throw fault("\(name) is missing") }
        return value
    }

    /// Reads a text; `nil` if the member is missing.
    func optionalText(_ name: String) throws(EdgeBundleError) -> String? {
        guard let member = member(name) else { return nil }
        guard case .string(let text) = member.value else { throw fault("must be a text", member: name) }
        return text
    }

    /// Reads a text.
    func text(_ name: String) throws(EdgeBundleError) -> String { try required(name, value: optionalText(name)) }

    /// Reads a text that names a value of a closed list; `nil` if the member is missing.
    func choice<Value>(_ name: String, parse: (String) -> Value?) throws(EdgeBundleError) -> Value? {
        guard let text = try optionalText(name) else { return nil }
        guard let value = parse(text) else { throw fault("is not known here", member: name) }
        return value
    }

    /// Reads bytes in base64url; `nil` if the member is missing.
    func bytes(_ name: String) throws(EdgeBundleError) -> [UInt8]? {
        guard let text = try optionalText(name) else { return nil }
        guard let bytes = Base64.decodeURLSafe(text) else { throw fault("must be base64url", member: name) }
        return bytes
    }

    /// Reads a number; `nil` if the member is missing.
    func optionalNumber(_ name: String, in range: ClosedRange<Int64>) throws(EdgeBundleError) -> Int64? {
        guard let member = member(name) else { return nil }
        guard case .number(let number) = member.value, range.contains(number) else {
            throw fault("must be a whole number from \(range.lowerBound) to \(range.upperBound)", member: name)
        }
        return number
    }

    /// Reads a number.
    func number(_ name: String, in range: ClosedRange<Int64>) throws(EdgeBundleError) -> Int64 {
        try required(name, value: optionalNumber(name, in: range))
    }

    /// Reads a duration in milliseconds; `nil` if the member is missing.
    func duration(_ name: String) throws(EdgeBundleError) -> Duration? {
        try optionalNumber(name, in: 0...(1 << 40)).map { .milliseconds($0) }
    }

    /// Reads a time in Unix milliseconds; `nil` if the member is missing.
    func time(_ name: String) throws(EdgeBundleError) -> Timestamp? {
        try optionalNumber(name, in: -(1 << 53)...(1 << 53)).map { Timestamp(millisecondsSince1970: $0) }
    }

    /// Reads the two ends of a period, `from` and `until`; `nil` for always.
    func period() throws(EdgeBundleError) -> ClosedRange<Timestamp>? {
        let (start, end) = (try time("from"), try time("until"))
        guard start != nil || end != nil else { return nil }
        let (lower, upper) = (
            start ?? Timestamp(millisecondsSince1970: .min), end ?? Timestamp(millisecondsSince1970: .max)
        )
        guard lower <= upper else { throw fault("must not be before from", member: "until") }
        return lower...upper
    }

    /// Reads a flag; false if the member is missing.
    func flag(_ name: String) throws(EdgeBundleError) -> Bool { try optionalFlag(name) ?? false }

    /// Reads a flag; `nil` if the member is missing.
    func optionalFlag(_ name: String) throws(EdgeBundleError) -> Bool? {
        guard let member = member(name) else { return nil }
        guard case .bool(let flag) = member.value else { throw fault("must be true or false", member: name) }
        return flag
    }

    /// Reads a list of texts; `nil` if the member is missing.
    func optionalTexts(_ name: String) throws(EdgeBundleError) -> [String]? {
        guard let member = member(name) else { return nil }
        guard case .array(let values) = member.value else { throw fault("must be a list", member: name) }
        var texts: [String] = []
        texts.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            guard case .string(let text) = value else {
                throw fault("\(name): must be a text", steps: [member.index, index])
            }
            texts.append(text)
        }
        return texts
    }

    /// Reads a list of texts; empty if the member is missing.
    func texts(_ name: String) throws(EdgeBundleError) -> [String] { try optionalTexts(name) ?? [] }

    /// Returns a fault of an element of a list.
    func fault(_ message: String, member name: String, element: Int) -> EdgeBundleError {
        let index = members.firstIndex { $0.name == name } ?? 0
        return fault("\(name): \(message)", steps: [index, element])
    }

    /// Reads a list of objects, each by `read`; empty if the member is missing.
    func list<Value>(
        _ name: String,
        read: (BundleObject) throws(EdgeBundleError) -> Value
    ) throws(EdgeBundleError) -> [Value] {
        guard let member = member(name) else { return [] }
        guard case .array(let values) = member.value else { throw fault("must be a list", member: name) }
        var list: [Value] = []
        list.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let object = try BundleObject(value, in: self, steps: [member.index, index])
            list.append(try read(object))
            try object.finish()
        }
        return list
    }

    /// Reads an object; `nil` if the member is missing.
    func object<Value>(
        _ name: String,
        read: (BundleObject) throws(EdgeBundleError) -> Value
    ) throws(EdgeBundleError) -> Value? {
        guard let member = member(name) else { return nil }
        let object = try BundleObject(member.value, in: self, steps: [member.index])
        let value = try read(object)
        try object.finish()
        return value
    }
}
