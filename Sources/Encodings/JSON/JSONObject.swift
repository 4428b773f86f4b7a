// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// A fault in a JSON object.
package struct JSONObjectFault: Error {
    /// The sentence, with the name of the member. Never a part of a secret.
    package let message: String
    /// The indices of members and elements that lead to the value.
    package fileprivate(set) var path: [Int] = []

    package init(_ message: String) { self.message = message }
}

/// A strict reader of a JSON object: ``finish()`` finds the members that nobody has read.
///
/// A class, so that a member that is read by a copy counts as read everywhere.
package final class JSONObject {
    private let members: [JSON.Member]
    private let parent: JSONObject?
    /// The indices from the parent to this object.
    private let steps: [Int]
    /// The members that were read, as a bit mask.
    private var read: UInt64 = 0

    /// The largest number of members of an object.
    package static let maximumMembers = 64

    /// Creates the object of a value.
    package init(_ json: JSON, in parent: JSONObject? = nil, steps: [Int] = []) throws(JSONObjectFault) {
        self.parent = parent
        self.steps = steps
        guard case .object(let members) = json else {
            self.members = []
            throw fault("must be an object")
        }
        guard members.count <= Self.maximumMembers else {
            self.members = []
            throw fault("must have at most \(Self.maximumMembers) members")
        }
        self.members = members
    }

    // MARK: Faults

    /// Returns a fault of the object, or of a member.
    package func fault(_ message: String, member name: String? = nil) -> JSONObjectFault {
        let index = name.flatMap { name in members.firstIndex { $0.name == name } }
        return fault(index.map { _ in "\(name ?? ""): \(message)" } ?? message, steps: index.map { [$0] } ?? [])
    }

    private func fault(_ message: String, steps own: [Int]) -> JSONObjectFault {
        var fault = JSONObjectFault(message)
        fault.path = own
        var object: JSONObject? = self
        while let next = object {
            fault.path = next.steps + fault.path
            object = next.parent
        }
        return fault
    }

    /// The names of the members.
    package var names: [String] { members.map(\.name) }

    /// Throws if there is a member that was not read.
    package func finish() throws(JSONObjectFault) {
        for index in members.indices where read & 1 << UInt64(index) == 0 {
            throw fault("\(members[index].name): unknown member", steps: [index])
        }
    }

    // MARK: Members

    /// True if there is such a member.
    package func has(_ name: String) -> Bool { members.contains { $0.name == name } }

    private func member(_ name: String) -> (value: JSON, index: Int)? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        read |= 1 << UInt64(index)
        return (members[index].value, index)
    }

    /// Returns the value of a member; `nil` if the member is missing.
    package func value(_ name: String) -> JSON? { member(name)?.value }

    /// Reads a list; `nil` if the member is missing.
    package func values(_ name: String) throws(JSONObjectFault) -> [JSON]? { try elements(of: name)?.values }

    /// Reads a list, and finds the index of its member; `nil` if the member is missing.
    private func elements(of name: String) throws(JSONObjectFault) -> (values: [JSON], index: Int)? {
        guard let member = member(name) else { return nil }
        guard case .array(let values) = member.value else { throw fault("must be a list", member: name) }
        return (values, member.index)
    }

    private func required<Value>(_ name: String, value: Value?) throws(JSONObjectFault) -> Value {
        guard let value else { throw fault("\(name) is missing") }
        return value
    }

    /// Reads a text; `nil` if the member is missing.
    ///
    /// - Parameter limit: The most bytes of its UTF-8.
    package func optionalText(_ name: String, limit: Int = .max) throws(JSONObjectFault) -> String? {
        guard let member = member(name) else { return nil }
        guard case .string(let text) = member.value else { throw fault("must be a string", member: name) }
        guard text.utf8.count <= limit else { throw fault("must not have more than \(limit) bytes", member: name) }
        return text
    }

    /// Reads a text.
    package func text(_ name: String, limit: Int = .max) throws(JSONObjectFault) -> String {
        try required(name, value: optionalText(name, limit: limit))
    }

    /// Reads a text that names a value of a closed list; `nil` if the member is missing.
    package func choice<Value>(_ name: String, parse: (String) -> Value?) throws(JSONObjectFault) -> Value? {
        guard let text = try optionalText(name) else { return nil }
        guard let value = parse(text) else { throw fault("is not known here", member: name) }
        return value
    }

    /// Reads bytes in base64url; `nil` if the member is missing.
    package func bytes(_ name: String) throws(JSONObjectFault) -> [UInt8]? {
        guard let text = try optionalText(name) else { return nil }
        guard let bytes = Base64.decodeURLSafe(text) else { throw fault("must be base64url", member: name) }
        return bytes
    }

    /// Reads a number; `nil` if the member is missing.
    package func optionalNumber(_ name: String, in range: ClosedRange<Int64>) throws(JSONObjectFault) -> Int64? {
        guard let member = member(name) else { return nil }
        guard case .number(let number) = member.value, range.contains(number) else {
            throw fault("must be a whole number from \(range.lowerBound) to \(range.upperBound)", member: name)
        }
        return number
    }

    /// Reads a number.
    package func number(_ name: String, in range: ClosedRange<Int64>) throws(JSONObjectFault) -> Int64 {
        try required(name, value: optionalNumber(name, in: range))
    }

    /// Reads a duration in milliseconds; `nil` if the member is missing.
    package func duration(_ name: String) throws(JSONObjectFault) -> Duration? {
        try optionalNumber(name, in: 0...(1 << 40)).map { .milliseconds($0) }
    }

    /// Reads a time in Unix milliseconds; `nil` if the member is missing.
    package func time(_ name: String) throws(JSONObjectFault) -> Timestamp? {
        try optionalNumber(name, in: -(1 << 53)...(1 << 53)).map { Timestamp(millisecondsSince1970: $0) }
    }

    /// Reads a flag; false if the member is missing.
    package func flag(_ name: String) throws(JSONObjectFault) -> Bool { try optionalFlag(name) ?? false }

    /// Reads a flag; `nil` if the member is missing.
    package func optionalFlag(_ name: String) throws(JSONObjectFault) -> Bool? {
        guard let member = member(name) else { return nil }
        guard case .bool(let flag) = member.value else { throw fault("must be true or false", member: name) }
        return flag
    }

    /// Reads a list of texts; `nil` if the member is missing.
    package func optionalTexts(_ name: String) throws(JSONObjectFault) -> [String]? {
        guard let (values, member) = try elements(of: name) else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            guard case .string(let text) = value else {
                throw fault("\(name): must be a string", steps: [member, index])
            }
            texts.append(text)
        }
        return texts
    }

    /// Reads a list of texts; empty if the member is missing.
    package func texts(_ name: String) throws(JSONObjectFault) -> [String] { try optionalTexts(name) ?? [] }

    /// Reads an object of texts, such as header fields; empty if the member is missing.
    package func textMembers(_ name: String) throws(JSONObjectFault) -> [(name: String, value: String)] {
        guard let member = member(name) else { return [] }
        guard case .object(let members) = member.value else { throw fault("must be an object", member: name) }
        var texts: [(name: String, value: String)] = []
        for (index, entry) in members.enumerated() {
            guard case .string(let text) = entry.value else {
                throw fault("\(name).\(entry.name): must be a string", steps: [member.index, index])
            }
            texts.append((entry.name, text))
        }
        return texts
    }

    /// Returns a fault of an element of a list.
    package func fault(_ message: String, member name: String, element: Int) -> JSONObjectFault {
        let index = members.firstIndex { $0.name == name } ?? 0
        return fault("\(name): \(message)", steps: [index, element])
    }

    /// Reads a list of objects, each by `read`; empty if the member is missing.
    package func list<Value>(
        _ name: String,
        read: (JSONObject) throws(JSONObjectFault) -> Value
    ) throws(JSONObjectFault) -> [Value] {
        guard let (values, member) = try elements(of: name) else { return [] }
        var list: [Value] = []
        list.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            let object = try JSONObject(value, in: self, steps: [member, index])
            list.append(try read(object))
            try object.finish()
        }
        return list
    }

    /// Reads an object; `nil` if the member is missing.
    package func object<Value>(
        _ name: String,
        read: (JSONObject) throws(JSONObjectFault) -> Value
    ) throws(JSONObjectFault) -> Value? {
        guard let member = member(name) else { return nil }
        let object = try JSONObject(member.value, in: self, steps: [member.index])
        let value = try read(object)
        try object.finish()
        return value
    }
}
