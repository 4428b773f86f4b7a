// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import MediaTokens
internal import NIOCore

/// Asks for the start of a playback.
struct PlaybackBody: StrictBody {
    static let members = ["media", "path", "token", "playbackID"]

    let media: String?
    let path: String?
    let token: String?
    let playbackID: String?

    init(_ object: BodyObject) throws(BodyFault) {
        media = try object.text("media", limit: 1024)
        path = try object.text("path", limit: 8 * 1024)
        // What is too large for a token is for the verifier to refuse.
        token = try object.text("token", limit: .max)
        playbackID = try object.text("playbackID", limit: 256)
        guard (media == nil) != (path == nil) else {
            throw BodyFault("there must be either media or path")
        }
        if playbackID?.isEmpty ?? false { throw BodyFault("playbackID must not be empty") }
    }
}

/// Asks for the start of several playbacks.
struct BatchBody: StrictBody {
    static let members = ["playbacks"]
    static let limit = 100
    static let largestBody = limit * 32 * 1024

    let playbacks: [PlaybackBody]

    init(_ object: BodyObject) throws(BodyFault) {
        playbacks = try object.list("playbacks", limit: Self.limit, PlaybackBody.self)
        if playbacks.isEmpty { throw BodyFault("playbacks must have from 1 to \(Self.limit) members") }
    }
}

/// Asks whether a token is good, without using it up.
struct VerifyBody: StrictBody {
    static let members = ["token", "resource", "requestor", "authenticityOnly"]

    let token: String
    let resource: String?
    let requestor: String?
    let isAuthenticityOnly: Bool

    init(_ object: BodyObject) throws(BodyFault) {
        guard let token = try object.text("token", limit: .max) else { throw BodyFault("token is missing") }
        self.token = token
        resource = try object.text("resource", limit: .max)
        requestor = try object.text("requestor", limit: 1024)
        isAuthenticityOnly = try object.bool("authenticityOnly") ?? false
        guard isAuthenticityOnly == (resource == nil) else {
            throw BodyFault(
                resource == nil
                    ? "resource is missing; to check signature and time alone, say \"authenticityOnly\": true"
                    : "with authenticityOnly there is no resource"
            )
        }
    }
}

/// Revokes a token, a session or an MVPD.
struct RevocationBody: StrictBody {
    static let members = ["token", "fingerprint", "sessionGUID", "mvpd", "issuedBefore", "expires"]

    enum Subject {
        case token(String)
        case fingerprint(TokenFingerprint)
        case session(String)
        case mvpd(String)
    }

    let subject: Subject
    let issuedBefore: Timestamp?
    let expires: Timestamp?

    init(_ object: BodyObject) throws(BodyFault) {
        var subjects: [Subject] = []
        if let token = try object.text("token", limit: .max) { subjects.append(.token(token)) }
        if let text = try object.text("fingerprint", limit: 64) {
            guard let fingerprint = TokenFingerprint(hexadecimal: text) else {
                throw BodyFault("fingerprint must have 64 hexadecimal digits")
            }
            subjects.append(.fingerprint(fingerprint))
        }
        if let guid = try object.text("sessionGUID", limit: 4096), !guid.isEmpty { subjects.append(.session(guid)) }
        if let mvpd = try object.text("mvpd", limit: 4096), !mvpd.isEmpty { subjects.append(.mvpd(mvpd)) }
        guard let subject = subjects.first, subjects.count == 1 else {
            throw BodyFault("there must be one of token, fingerprint, sessionGUID and mvpd")
        }
        self.subject = subject
        issuedBefore = try object.time("issuedBefore")
        expires = try object.time("expires")
        switch subject {
        case .token, .fingerprint:
            if issuedBefore != nil { throw BodyFault("issuedBefore is for sessionGUID and mvpd") }
        default: break
        }
    }
}

// MARK: Reading

/// A body whose members are all known: a member that is misspelt must not be overlooked.
protocol StrictBody: Decodable {
    static var members: [String] { get }
    /// The most bytes that are read, even where more are allowed.
    static var largestBody: Int { get }

    init(_ object: BodyObject) throws(BodyFault)
}

extension StrictBody {
    static var largestBody: Int { 64 * 1024 }

    /// No body nests deeper than a list of objects in an object.
    private static var maximumDepth: Int { 8 }

    /// Reads a body.
    static func read(_ buffer: ByteBuffer) throws(BodyFault) -> Self {
        guard buffer.readableBytesView.jsonDepth <= maximumDepth else { throw BodyFault("it is nested too deep") }
        do { return try JSONDecoder().decode(Self.self, from: Data(buffer.readableBytesView)) } catch let fault
            as BodyFault
        {
            throw fault
        } catch DecodingError.typeMismatch {
            throw BodyFault("it must be a JSON object")
        } catch {
            // Not the decoder's own words, which quote what they could not read.
            throw BodyFault("it is not JSON")
        }
    }

    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: AnyKey.self) else {
            throw BodyFault("it must be a JSON object")
        }
        for key in container.allKeys where !Self.members.contains(key.stringValue) {
            let name = JSONText.string(String(key.stringValue.prefix(64))).line
            throw BodyFault("unknown member \(name); known are \(Self.members.joined(separator: ", "))")
        }
        try self.init(BodyObject(container))
    }
}

extension Sequence<UInt8> {
    /// How deep the arrays and objects of a JSON text nest, as far as it is well-formed.
    ///
    /// Foundation's decoder, which has a limit of 512, traps on a text that ends exactly there.
    fileprivate var jsonDepth: Int {
        var (depth, deepest, isString, isEscaped) = (0, 0, false, false)
        for byte in self {
            if isString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = Swift.max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }
}

/// What is wrong with a body.
struct BodyFault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The members of an object of a body. A member that is null is not there.
struct BodyObject {
    private let container: KeyedDecodingContainer<AnyKey>

    fileprivate init(_ container: KeyedDecodingContainer<AnyKey>) { self.container = container }

    func text(_ name: String, limit: Int) throws(BodyFault) -> String? {
        guard let text = try value(name, "a text", String.self) else { return nil }
        guard text.utf8.count <= limit else { throw BodyFault("\(name) must not have more than \(limit) bytes") }
        return text
    }

    func bool(_ name: String) throws(BodyFault) -> Bool? { try value(name, "true or false", Bool.self) }

    /// A time: Unix milliseconds, or ISO 8601 with a zone.
    func time(_ name: String) throws(BodyFault) -> Timestamp? {
        let what = "Unix milliseconds, or ISO 8601 with a zone (2031-01-02T10:04:05Z)"
        guard has(name) else { return nil }
        if let number = try? container.decode(Int64.self, forKey: AnyKey(stringValue: name)) {
            guard 0...(1 << 53) ~= number else { throw BodyFault("\(name) must be \(what)") }
            return Timestamp(millisecondsSince1970: number)
        }
        guard let text = try value(name, what, String.self), let time = Timestamp(iso8601: text) else {
            throw BodyFault("\(name) must be \(what)")
        }
        return time
    }

    func list<Element: StrictBody>(_ name: String, limit: Int, _: Element.Type) throws(BodyFault) -> [Element] {
        guard has(name), var values = try? container.nestedUnkeyedContainer(forKey: AnyKey(stringValue: name)) else {
            throw BodyFault("\(name) must be a list")
        }
        var elements: [Element] = []
        while !values.isAtEnd {
            guard elements.count < limit else { throw BodyFault("\(name) must not have more than \(limit) members") }
            do { elements.append(try values.decode(Element.self)) } catch let fault as BodyFault {
                throw BodyFault("\(name)[\(elements.count)]: \(fault.reason)")
            } catch {
                throw BodyFault("\(name)[\(elements.count)] must be a JSON object")
            }
        }
        return elements
    }

    private func has(_ name: String) -> Bool {
        (try? container.decodeNil(forKey: AnyKey(stringValue: name))) == false
    }

    private func value<Value: Decodable>(_ name: String, _ what: String, _: Value.Type) throws(BodyFault) -> Value? {
        do { return try container.decodeIfPresent(Value.self, forKey: AnyKey(stringValue: name)) } catch {
            throw BodyFault("\(name) must be \(what)")
        }
    }
}

/// A name of a member, whatever it is.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}
