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
    static let members = ["media", "path", "host", "token", "playbackID", "client", "headers", "proof"]

    let media: String?
    let path: String?
    let host: String?
    let token: String?
    let playbackID: String?
    let player: PlaybackRequest.Player?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        media = try object.optionalText("media", limit: 1024)
        path = try object.optionalText("path", limit: 8 * 1024)
        // The verifier refuses a token that is too large.
        token = try object.optionalText("token")
        playbackID = try object.optionalText("playbackID", limit: 256)
        guard (media == nil) != (path == nil) else {
            throw JSONObjectFault("exactly one of media and path is required")
        }
        host = try object.host()
        if playbackID?.isEmpty ?? false { throw JSONObjectFault("playbackID must not be empty") }
        player = try object.player(proof: try object.proof())
    }
}

/// A request to start several playbacks.
struct BatchBody: StrictBody {
    static let members = ["playbacks"]
    static let limit = 100
    static let largestBody = limit * 32 * 1024

    let playbacks: [PlaybackBody]

    init(_ object: JSONObject) throws(JSONObjectFault) {
        playbacks = try object.list("playbacks", limit: Self.limit, of: PlaybackBody.self)
        if playbacks.isEmpty { throw JSONObjectFault("playbacks must have from 1 to \(Self.limit) members") }
    }
}

/// A request to verify a token without consuming it.
struct VerifyBody: StrictBody {
    static let members = ["token", "resource", "requestor", "authenticityOnly"]

    let token: String
    let resource: String?
    let requestor: String?
    let isAuthenticityOnly: Bool

    init(_ object: JSONObject) throws(JSONObjectFault) {
        token = try object.text("token")
        resource = try object.optionalText("resource")
        requestor = try object.optionalText("requestor", limit: 1024)
        isAuthenticityOnly = try object.flag("authenticityOnly")
        guard isAuthenticityOnly == (resource == nil) else {
            throw JSONObjectFault(
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

    package init(_ object: JSONObject) throws(JSONObjectFault) {
        isForced = try object.flag("force")
        var subjects: [Subject] = []
        if let token = try object.optionalText("token") { subjects.append(.token(token)) }
        if let text = try object.optionalText("fingerprint", limit: 64) {
            guard let fingerprint = TokenFingerprint(hexadecimal: text) else {
                throw JSONObjectFault("fingerprint must have 64 hexadecimal digits")
            }
            subjects.append(.fingerprint(fingerprint))
        }
        if let guid = try object.optionalText("sessionGUID", limit: 4096) { subjects.append(.session(guid)) }
        if let mvpd = try object.optionalText("mvpd", limit: 4096) { subjects.append(.mvpd(mvpd)) }
        if let text = try object.optionalText("playback", limit: 32) {
            guard let session = SessionID(hexadecimal: text) else {
                throw JSONObjectFault("playback must have 32 hexadecimal digits")
            }
            subjects.append(.playback(session))
        }
        // A revocation with an empty name would revoke nothing and look like a success.
        switch subjects.last {
        case .session(""), .mvpd(""): throw JSONObjectFault("sessionGUID and mvpd must not be empty")
        default: break
        }
        guard let subject = subjects.first, subjects.count == 1 else {
            throw JSONObjectFault("exactly one of token, fingerprint, sessionGUID, mvpd and playback is required")
        }
        self.subject = subject
        issuedBefore = try object.timestamp("issuedBefore")
        expires = try object.timestamp("expires")
        switch subject {
        case .token, .fingerprint, .playback:
            if issuedBefore != nil { throw JSONObjectFault("issuedBefore requires sessionGUID or mvpd") }
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

    init(_ object: JSONObject) throws(JSONObjectFault)
}

extension StrictBody {
    package static var largestBody: Int { 64 * 1024 }

    /// Parses a body.
    package static func read(_ buffer: ByteBuffer) throws(JSONObjectFault) -> Self {
        let value: JSON
        do throws(JSONFault) {
            // No body nests deeper than a list of objects in an object.
            let limits = JSONLimits(depth: 8, members: 64, elements: 1024)
            value = try JSONReader.read(buffer.readableBytesUInt8Span, limits: limits)
        } catch { throw JSONObjectFault(error) }
        return try read(value)
    }

    fileprivate static func read(_ value: JSON) throws(JSONObjectFault) -> Self {
        guard case .object = value else { throw JSONObjectFault("the body must be a JSON object") }
        let object = try JSONObject(value)
        for member in object.names where !Self.members.contains(member) {
            let name = JSON.string(String(member.prefix(64))).line
            throw JSONObjectFault("unknown member \(name); known members: \(Self.members.joined(separator: ", "))")
        }
        return try Self(object)
    }
}

extension JSONObjectFault {
    package init(_ fault: JSONFault) {
        let message =
            switch fault {
            case .notJSON: "the body is not JSON"
            case .tooDeep: "the body is nested too deeply"
            case .tooManyMembers(let limit): "an object has more than \(limit) members"
            case .tooLong(let limit): "a list has more than \(limit) members"
            case .repeatedMember(let name): "the member \(JSON.string(name).line) is a duplicate"
            }
        self.init(message)
    }
}

/// The members of bodies. A `null` is refused like any value of a wrong type.
extension JSONObject {
    /// Reads the member `host`.
    package func host() throws(JSONObjectFault) -> String? {
        guard let text = try optionalText("host", limit: 255) else { return nil }
        guard let name = HostName(text[...]) else {
            throw fault("must be a name or an address with an optional port, such as live.example.com", member: "host")
        }
        return String(name.text)
    }

    /// Reads the member `client`, the address of a player.
    package func clientAddress() throws(JSONObjectFault) -> IPAddress? {
        guard let text = try optionalText("client", limit: 64) else { return nil }
        guard let address = IPAddress(text) else { throw fault("must be an IPv4 or IPv6 address", member: "client") }
        return address
    }

    /// Reads the members `client` and `headers`; `nil` if the body has neither, and there is no proof.
    package func player(proof: PresentedProof? = nil) throws(JSONObjectFault) -> PlaybackRequest.Player? {
        let (address, headers) = (try clientAddress(), try textMembers("headers"))
        guard address != nil || !headers.isEmpty || proof != nil else { return nil }
        return PlaybackRequest.Player(address: address, headers: headers, proof: proof)
    }

    /// Reads the member `proof`: what the backend's client presented as proof of possession; `nil` if there is none.
    package func proof() throws(JSONObjectFault) -> PresentedProof? {
        try object("proof") { (object) throws(JSONObjectFault) in
            let proof = try object.optionalText("dpop", limit: 8 * 1024)
            let (method, url) = (
                try object.optionalText("method", limit: 32), try object.optionalText("url", limit: 8192)
            )
            let uri = url.flatMap { RequestURI(absolute: $0) }
            guard (proof == nil) == (method == nil), (proof == nil) == (url == nil) else {
                throw object.fault("dpop, method and url belong together", member: "dpop")
            }
            if url != nil, uri == nil {
                throw object.fault("must be an absolute http or https URL without a fragment", member: "url")
            }
            let certificate = try object.optionalText("certificate", limit: 64).map { text throws(JSONObjectFault) in
                guard let digest = Base64.decodeURLSafe(text), digest.count == 32 else {
                    throw object.fault("must be the SHA-256 digest in URL-safe Base64", member: "certificate")
                }
                return digest
            }
            return PresentedProof(
                proofs: proof.map { [$0[...]] } ?? [],
                method: (method ?? "")[...],
                uri: uri,
                certificate: certificate ?? nil
            )
        }
    }

    /// Reads a time: Unix milliseconds, or ISO 8601 with a zone; `nil` if the member is missing.
    package func timestamp(_ name: String) throws(JSONObjectFault) -> Timestamp? {
        switch value(name) {
        case nil: return nil
        case .number(let number) where 0...(1 << 53) ~= number: return Timestamp(millisecondsSince1970: number)
        case .string(let text):
            if let time = Timestamp(iso8601: text) { return time }
            fallthrough
        default:
            throw fault("must be Unix milliseconds, or ISO 8601 with a zone (2031-01-02T10:04:05Z)", member: name)
        }
    }

    /// Reads a list of bodies.
    package func list<Element: StrictBody>(
        _ name: String,
        limit: Int,
        of: Element.Type
    ) throws(JSONObjectFault) -> [Element] {
        guard let values = try values(name) else { throw JSONObjectFault("\(name) is missing") }
        guard values.count <= limit else { throw fault("must not have more than \(limit) members", member: name) }
        var elements: [Element] = []
        for (number, value) in values.enumerated() {
            do throws(JSONObjectFault) { elements.append(try Element.read(value)) } catch {
                throw JSONObjectFault("\(name)[\(number)]: \(error.message)")
            }
        }
        return elements
    }
}
