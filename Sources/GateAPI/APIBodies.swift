// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
package import EdgeTokens
package import Encodings
package import MediaTokens
package import NIOCore
package import Platform
package import PlaybackGate
package import RequestTargets

/// A request to start a playback.
struct PlaybackBody: StrictBody {
    static let members = ["media", "path", "host", "token", "playbackID", "client", "headers"]

    let media: String?
    let path: String?
    let host: String?
    let token: String?
    let playbackID: String?
    let player: PlaybackRequest.Player?

    init(_ object: BodyObject) throws(BodyFault) {
        media = try object.text("media", limit: 1024)
        path = try object.text("path", limit: 8 * 1024)
        // The verifier refuses a token that is too large.
        token = try object.text("token", limit: .max)
        playbackID = try object.text("playbackID", limit: 256)
        guard (media == nil) != (path == nil) else {
            throw BodyFault("exactly one of media and path is required")
        }
        host = try object.host()
        if playbackID?.isEmpty ?? false { throw BodyFault("playbackID must not be empty") }
        player = try object.player()
    }
}

/// A request to start several playbacks.
struct BatchBody: StrictBody {
    static let members = ["playbacks"]
    static let limit = 100
    static let largestBody = limit * 32 * 1024

    let playbacks: [PlaybackBody]

    init(_ object: BodyObject) throws(BodyFault) {
        playbacks = try object.list("playbacks", limit: Self.limit, of: PlaybackBody.self)
        if playbacks.isEmpty { throw BodyFault("playbacks must have from 1 to \(Self.limit) members") }
    }
}

/// A request to verify a token without consuming it.
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
                    ? "resource is missing; to check only signature and time, set \"authenticityOnly\": true"
                    : "resource must be absent if authenticityOnly is true"
            )
        }
    }
}

/// A request to revoke a token, a session, an MVPD or a playback.
package struct RevocationBody: StrictBody {
    package static let members = [
        "token", "fingerprint", "sessionGUID", "mvpd", "playback", "issuedBefore", "expires", "force",
    ]

    package enum Subject {
        case token(String)
        case fingerprint(TokenFingerprint)
        case session(String)
        case mvpd(String)
        case playback(SessionID)
    }

    package let subject: Subject
    package let issuedBefore: Timestamp?
    package let expires: Timestamp?
    /// True to revoke an MVPD that no policy names.
    package let isForced: Bool

    /// Creates the body of a subject, whether a policy names its MVPD or not.
    package init(_ subject: Subject) { (self.subject, issuedBefore, expires, isForced) = (subject, nil, nil, true) }

    package init(_ object: BodyObject) throws(BodyFault) {
        isForced = try object.bool("force") ?? false
        var subjects: [Subject] = []
        if let token = try object.text("token", limit: .max) { subjects.append(.token(token)) }
        if let text = try object.text("fingerprint", limit: 64) {
            guard let fingerprint = TokenFingerprint(hexadecimal: text) else {
                throw BodyFault("fingerprint must have 64 hexadecimal digits")
            }
            subjects.append(.fingerprint(fingerprint))
        }
        if let guid = try object.text("sessionGUID", limit: 4096) { subjects.append(.session(guid)) }
        if let mvpd = try object.text("mvpd", limit: 4096) { subjects.append(.mvpd(mvpd)) }
        if let text = try object.text("playback", limit: 32) {
            guard let session = SessionID(hexadecimal: text) else {
                throw BodyFault("playback must have 32 hexadecimal digits")
            }
            subjects.append(.playback(session))
        }
        // A revocation with an empty name would revoke nothing and look like a success.
        switch subjects.last {
        case .session(""), .mvpd(""): throw BodyFault("sessionGUID and mvpd must not be empty")
        default: break
        }
        guard let subject = subjects.first, subjects.count == 1 else {
            throw BodyFault("exactly one of token, fingerprint, sessionGUID, mvpd and playback is required")
        }
        self.subject = subject
        issuedBefore = try object.time("issuedBefore")
        expires = try object.time("expires")
        switch subject {
        case .token, .fingerprint, .playback:
            if issuedBefore != nil { throw BodyFault("issuedBefore requires sessionGUID or mvpd") }
        default: break
        }
    }
}

// MARK: Reading

/// A request body in which an unknown member is an error, so that a misspelt member is not overlooked.
package protocol StrictBody {
    static var members: [String] { get }
    /// The most bytes that are read, even if the configuration allows more.
    static var largestBody: Int { get }

    init(_ object: BodyObject) throws(BodyFault)
}

extension StrictBody {
    package static var largestBody: Int { 64 * 1024 }

    /// Parses a body.
    package static func read(_ buffer: ByteBuffer) throws(BodyFault) -> Self {
        let value: JSON
        do throws(JSONFault) {
            // No body nests deeper than a list of objects in an object.
            let limits = JSONLimits(depth: 8, members: 64, elements: 1024)
            value = try JSONReader.read(buffer.readableBytesUInt8Span, limits: limits)
        } catch { throw BodyFault(error) }
        return try read(value)
    }

    fileprivate static func read(_ value: JSON) throws(BodyFault) -> Self {
        guard case .object(let members) = value else { throw BodyFault("the body must be a JSON object") }
        for member in members where !Self.members.contains(member.name) {
            let name = JSON.string(String(member.name.prefix(64))).line
            throw BodyFault("unknown member \(name); known members: \(Self.members.joined(separator: ", "))")
        }
        return try Self(BodyObject(members: members))
    }
}

/// A fault in a request body.
package struct BodyFault: Error {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }

    package init(_ fault: JSONFault) {
        switch fault {
        case .notJSON: reason = "the body is not JSON"
        case .tooDeep: reason = "the body is nested too deeply"
        case .tooManyMembers(let limit): reason = "an object has more than \(limit) members"
        case .tooLong(let limit): reason = "a list has more than \(limit) members"
        case .repeatedMember(let name): reason = "the member \(JSON.string(name).line) is a duplicate"
        }
    }
}

/// The members of an object in a body. A `null` is refused like any value of a wrong type.
package struct BodyObject {
    package let members: [JSON.Member]

    /// Creates a value of its members.
    package init(members: [JSON.Member]) {
        self.members = members
    }

    private subscript(name: String) -> JSON? { members.first { $0.name == name }?.value }

    package func text(_ name: String, limit: Int) throws(BodyFault) -> String? {
        switch self[name] {
        case nil: return nil
        case .string(let text):
            guard text.utf8.count <= limit else { throw BodyFault("\(name) must not have more than \(limit) bytes") }
            return text
        default: throw BodyFault("\(name) must be a string")
        }
    }

    /// Reads the member `host`.
    package func host() throws(BodyFault) -> String? {
        guard let text = try text("host", limit: 255) else { return nil }
        guard let name = HostName(text[...]) else {
            throw BodyFault("host must be a name or an address with an optional port, such as live.example.com")
        }
        return String(name.text)
    }

    /// Reads the member `client`, the address of a player.
    package func clientAddress() throws(BodyFault) -> IPAddress? {
        guard let text = try text("client", limit: 64) else { return nil }
        guard let address = IPAddress(text) else { throw BodyFault("client must be an IPv4 or IPv6 address") }
        return address
    }

    /// Reads the members `client` and `headers`; `nil` if the body has neither.
    package func player() throws(BodyFault) -> PlaybackRequest.Player? {
        let (address, headers) = (try clientAddress(), try texts("headers"))
        return address == nil && headers.isEmpty ? nil : PlaybackRequest.Player(address: address, headers: headers)
    }

    /// Reads an object of texts, such as header fields.
    package func texts(_ name: String) throws(BodyFault) -> [(name: String, value: String)] {
        guard let value = self[name] else { return [] }
        guard case .object(let members) = value else { throw BodyFault("\(name) must be an object") }
        var texts: [(name: String, value: String)] = []
        for member in members {
            guard case .string(let text) = member.value else {
                throw BodyFault("\(name).\(member.name) must be a string")
            }
            texts.append((member.name, text))
        }
        return texts
    }

    package func bool(_ name: String) throws(BodyFault) -> Bool? {
        switch self[name] {
        case nil: return nil
        case .bool(let value): return value
        default: throw BodyFault("\(name) must be true or false")
        }
    }

    /// Reads a time: Unix milliseconds, or ISO 8601 with a zone.
    package func time(_ name: String) throws(BodyFault) -> Timestamp? {
        switch self[name] {
        case nil: return nil
        case .number(let number) where 0...(1 << 53) ~= number: return Timestamp(millisecondsSince1970: number)
        case .string(let text):
            if let time = Timestamp(iso8601: text) { return time }
            fallthrough
        default: throw BodyFault("\(name) must be Unix milliseconds, or ISO 8601 with a zone (2031-01-02T10:04:05Z)")
        }
    }

    package func list<Element: StrictBody>(_ name: String, limit: Int, of: Element.Type) throws(BodyFault) -> [Element]
    {
        guard case .array(let values) = self[name] else { throw BodyFault("\(name) must be a list") }
        guard values.count <= limit else { throw BodyFault("\(name) must not have more than \(limit) members") }
        var elements: [Element] = []
        for (number, value) in values.enumerated() {
            do throws(BodyFault) { elements.append(try Element.read(value)) } catch {
                throw BodyFault("\(name)[\(number)]: \(error.reason)")
            }
        }
        return elements
    }
}
