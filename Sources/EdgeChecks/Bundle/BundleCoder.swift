// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
internal import PlaybackGate

/// A reader or a writer of the members of an object in a bundle.
///
/// A value lists its members once, in `code(by:)`, for both ways: none is written by one name and read by another.
struct BundleCoder {
    /// The object to read; `nil` to write.
    private let object: JSONObject?
    /// The members that are written.
    private(set) var members = BundleMembers()

    /// Creates a reader.
    init(reading object: JSONObject) { self.object = object }

    /// Creates a writer that adds to some members.
    init(writing members: BundleMembers) { (object, self.members) = (nil, members) }

    mutating func text(_ value: inout String, as name: String) throws(JSONObjectFault) {
        if let object { value = try object.text(name) } else { members.add(name, value: value) }
    }

    mutating func text(_ value: inout String?, as name: String) throws(JSONObjectFault) {
        if let object { value = try object.optionalText(name) } else { members.add(name, value: value) }
    }

    mutating func texts(_ value: inout [String], as name: String) throws(JSONObjectFault) {
        if let object { value = try object.texts(name) } else { members.add(name, value: value) }
    }

    /// Texts that are left out if there are none.
    mutating func someTexts(_ value: inout [String], as name: String) throws(JSONObjectFault) {
        if object != nil || !value.isEmpty { try texts(&value, as: name) }
    }

    /// A duration, which does not change if the member is missing.
    mutating func duration(_ value: inout Duration, as name: String) throws(JSONObjectFault) {
        if let object { value = try object.duration(name) ?? value } else { members.add(name, value: value) }
    }

    mutating func number(_ value: inout Int?, in range: ClosedRange<Int64>, as name: String) throws(JSONObjectFault) {
        if let object {
            value = try object.optionalNumber(name, in: range).map { Int($0) }
        } else {
            members.add(name, value: value.map { Int64($0) })
        }
    }

    /// A flag that is false by default.
    mutating func flag(_ value: inout Bool, as name: String) throws(JSONObjectFault) {
        if let object { value = try object.flag(name) } else { members.add(name, value: value) }
    }

    /// A flag that is true by default, and whose member says the opposite.
    mutating func flag(not value: inout Bool, as name: String) throws(JSONObjectFault) {
        var opposite = !value
        try flag(&opposite, as: name)
        value = !opposite
    }

    /// A flag that is true by default, and is left out then.
    mutating func flag(unlessFalse value: inout Bool, as name: String) throws(JSONObjectFault) {
        if let object {
            value = try object.optionalFlag(name) ?? true
        } else if !value {
            members.add(name, value: .bool(false) as JSON)
        }
    }

    mutating func choice<Choice: RawRepresentable<String>>(
        _ value: inout Choice,
        as name: String,
        default fallback: Choice,
        isAlwaysWritten: Bool = true
    ) throws(JSONObjectFault) {
        if let object {
            value = try object.choice(name) { Choice(rawValue: $0) } ?? fallback
        } else if isAlwaysWritten || value.rawValue != fallback.rawValue {
            members.add(name, value: value.rawValue)
        }
    }

    mutating func choices<Choice: RawRepresentable<String> & Hashable>(
        _ values: inout Set<Choice>,
        as name: String
    ) throws(JSONObjectFault) {
        guard let object else { return members.add(name, value: values.map(\.rawValue).sorted()) }
        values = []
        for text in try object.texts(name) {
            guard let value = Choice(rawValue: text) else {
                throw object.fault("has one that is not known here", member: name)
            }
            values.insert(value)
        }
    }

    /// An object that is there or not.
    mutating func object<Value: BundleCoded>(_ value: inout Value?, as name: String) throws(JSONObjectFault) {
        if let object {
            value = try object.object(name) { (object) throws(JSONObjectFault) in try Value(object) }
        } else {
            members.add(name, value: value?.json)
        }
    }

    /// An object, which does not change if the member is missing.
    mutating func object<Value: BundleCoded>(_ value: inout Value, as name: String) throws(JSONObjectFault) {
        var optional: Value? = value
        try object(&optional, as: name)
        if let optional { value = optional }
    }
}

/// A value whose members are listed once, for reading and writing.
protocol BundleCoded {
    init()

    /// Reads or writes the members.
    mutating func code(by coder: inout BundleCoder) throws(JSONObjectFault)
}

extension BundleCoded {
    /// Reads a value.
    init(_ object: JSONObject) throws(JSONObjectFault) {
        self.init()
        var coder = BundleCoder(reading: object)
        try code(by: &coder)
    }

    /// Writes the value behind some members.
    func write(into members: inout BundleMembers) {
        var (value, coder) = (self, BundleCoder(writing: members))
        do throws(JSONObjectFault) { try value.code(by: &coder) } catch { preconditionFailure("writing reads nothing") }
        members = coder.members
    }

    /// The value as an object.
    var json: JSON {
        var members = BundleMembers()
        write(into: &members)
        return members.json
    }
}

// MARK: Profiles of grants

extension GrantProfile.Rules: BundleCoded {
    mutating func code(by coder: inout BundleCoder) throws(JSONObjectFault) {
        try coder.texts(&audience, as: "audience")
        try coder.duration(&life, as: "life")
        try coder.duration(&session, as: "session")
        try coder.object(&renewal, as: "renewal")
        try coder.texts(&methods, as: "methods")
        var prefix: String?
        if case .prefix(let path) = scope { prefix = path }
        try coder.text(&prefix, as: "prefix")
        if let prefix { scope = .prefix(prefix) }
        try coder.choice(&binding.address, as: "address", default: .none, isAlwaysWritten: false)
        try coder.someTexts(&binding.headers, as: "headers")
        try coder.text(&host, as: "host")
        try coder.flag(not: &isSecure, as: "insecure")
        try coder.choices(&deliveries, as: "deliver")
        try coder.object(&cookie, as: "cookie")
        try coder.flag(unlessFalse: &isRevocable, as: "revocable")
        try coder.number(&streamLimit, in: 1...64, as: "streams")
        try coder.flag(&coversUnverified, as: "unverified")
        // The usual rules are left out.
        var signing: GrantProfile.SignedURIs? = self.signing == GrantProfile.SignedURIs() ? nil : self.signing
        try coder.object(&signing, as: "signing")
        if let signing { self.signing = signing }
    }
}

extension GrantProfile.Renewal: BundleCoded {
    mutating func code(by coder: inout BundleCoder) throws(JSONObjectFault) {
        try coder.choice(&way, as: "way", default: .cookie)
        try coder.duration(&deadline, as: "deadline")
    }
}

extension GrantProfile.Cookie: BundleCoded {
    mutating func code(by coder: inout BundleCoder) throws(JSONObjectFault) {
        try coder.text(&name, as: "name")
        try coder.choice(&sameSite, as: "sameSite", default: .none)
        try coder.flag(&isPartitioned, as: "partitioned")
        try coder.text(&domain, as: "domain")
    }
}

extension GrantProfile.SignedURIs: BundleCoded {
    mutating func code(by coder: inout BundleCoder) throws(JSONObjectFault) {
        try coder.choice(&container, as: "container", default: .regex)
        try coder.choice(&subject, as: "subject", default: .none)
        try coder.text(&encryptionKey, as: "encryptionKey")
        try coder.flag(&omitsHeader, as: "omitsHeader")
    }
}
