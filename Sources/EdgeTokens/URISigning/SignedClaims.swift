// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Keys

/// The claims of a signed URI, read once with types and limits checked, and evaluated on every call.
struct SignedClaims: Sendable {
    private(set) var issuer: String?
    private(set) var subject: String?
    private(set) var audience: [String]?
    /// The time from which on the token is expired, in milliseconds.
    private(set) var expires: Int64?
    /// The first time at which the token is valid, in milliseconds.
    private(set) var notBefore: Int64?
    /// The time of issue, in milliseconds.
    private(set) var issuedAt: Int64?
    private(set) var identifier: String?
    private(set) var version: Int64 = 1
    private(set) var critical: String?
    private(set) var address: String?
    private(set) var container: String?
    /// The life that a renewal gives, in milliseconds; may be 0 or less, which renews nothing.
    private(set) var life: Int64?
    private(set) var transport: Int64?
    private(set) var depth: Int64?
    private(set) var sessionID: SessionID?
    /// The end of the playback session, in seconds.
    private(set) var sessionEnd: Int64?
    private(set) var revocation: [UInt8]?
    /// The names of the claims without a meaning.
    private(set) var ignored: [String] = []

    /// A malformed claim; `nil` for malformed JSON.
    struct Fault: Error {
        let claim: URISigningClaim?
    }

    static let limits = JSONLimits(depth: 8, members: 64, elements: 64)
    /// The latest time of a claim, in seconds.
    private static let latest: Int64 = 1 << 53
    /// The largest text, in bytes.
    private static let largest = 4096

    /// Reads the claims of a payload.
    ///
    /// - Parameter hasPrivateClaims: True if the private claims have the meaning of this package.
    init(_ payload: Span<UInt8>, hasPrivateClaims: Bool) throws(Fault) {
        var reader = JSONMemberReader(payload, limits: Self.limits)
        while true {
            var claim: URISigningClaim?
            do throws(JSONFault) {
                guard let member = try reader.next() else { return }
                let name = try reader.name(member)
                claim = URISigningClaim(rawValue: name)
                if let found = claim, hasPrivateClaims || !found.isPrivate {
                    try read(found, ClaimValue(bytes: payload, member: member))
                } else {
                    claim = nil
                    ignored.append(name)
                }
            } catch {
                throw Fault(claim: claim)
            }
        }
    }

    private mutating func read(_ claim: URISigningClaim, _ value: ClaimValue) throws(JSONFault) {
        switch claim {
        case .issuer: issuer = try value.text(Self.largest)
        case .subject: subject = try value.text(Self.largest)
        case .audience: audience = try value.texts(Self.largest)
        case .expiration: expires = try value.time(Self.latest)
        case .notBefore: notBefore = try value.time(Self.latest, roundsUp: true)
        case .issuedAt: issuedAt = try value.time(Self.latest)
        case .identifier: identifier = try value.text(Self.largest)
        case .version: version = try value.integer()
        case .critical: critical = try value.text(Self.largest)
        case .address: address = try value.text(Self.largest)
        case .container: container = try value.text(Self.largest)
        case .life: life = try value.duration(Self.latest)
        case .transport: transport = try value.integer()
        case .depth:
            depth = try value.integer()
            guard depth ?? 0 >= 0 else { throw .notJSON }
        case .session:
            guard let bytes = Base64.decodeURLSafe(try value.text(22)), let id = SessionID(bytes: bytes) else {
                throw .notJSON
            }
            sessionID = id
        case .sessionEnd:
            let end = try value.integer()
            guard 0...Self.latest ~= end else { throw .notJSON }
            sessionEnd = end
        case .revocation:
            guard let bytes = Base64.decodeURLSafe(try value.text(128)), [56, 72].contains(bytes.count) else {
                throw .notJSON
            }
            revocation = bytes
        }
    }

    /// The state of the claims of a renewal.
    enum Renewal {
        case none, malformed
        /// The way and the life, in milliseconds.
        case valid(URISigningRenewal.Transport, life: Int64)
    }

    /// The renewal: `cdnistt` and `cdniets` stand together or not at all.
    var renewal: Renewal {
        guard let transport else { return life == nil ? .none : .malformed }
        guard let life, life > 0, 0...2 ~= transport else { return .malformed }
        return URISigningRenewal.Transport(rawValue: transport).map { .valid($0, life: life) } ?? .none
    }

    /// True if each critical claim is present and understood: only the private ones can be, as those of RFC 9246 may not be
    /// named.
    var isCriticalUnderstood: Bool {
        guard let critical else { return true }
        var seen: [Substring] = []
        for name in critical.split(separator: ",", omittingEmptySubsequences: false) {
            guard !seen.contains(name), let claim = URISigningClaim(rawValue: String(name)), claim.isPrivate else {
                return false
            }
            let isPresent =
                switch claim {
                case .session: sessionID != nil
                case .sessionEnd: sessionEnd != nil
                default: revocation != nil
                }
            guard isPresent else { return false }
            seen.append(name)
        }
        return true
    }
}

/// The value of a claim.
struct ClaimValue: ~Escapable {
    private let bytes: Span<UInt8>
    private let member: JSONMemberReader.Member

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, member: JSONMemberReader.Member) {
        self.bytes = bytes
        self.member = member
    }

    /// The spelling of the value.
    var spelling: String { String(copying: bytes.extracting(member.value)) }

    func text(_ limit: Int) throws(JSONFault) -> String {
        guard case .string(let isEscaped) = member.kind else { throw .notJSON }
        let text =
            isEscaped
            ? try JSONMemberReader.text(bytes, member.value)
            : String(copying: bytes.extracting(member.value.lowerBound + 1..<member.value.upperBound - 1))
        guard text.utf8.count <= limit else { throw .notJSON }
        return text
    }

    /// Returns a text, or the texts of a list.
    func texts(_ limit: Int) throws(JSONFault) -> [String] {
        guard member.kind == .array else { return [try text(limit)] }
        let list = try JSONReader.read(bytes.extracting(member.value), limits: SignedClaims.limits)
        var texts: [String] = []
        for value in list.values ?? [] {
            guard let text = value.text, text.utf8.count <= limit else { throw .notJSON }
            texts.append(text)
        }
        return texts
    }

    func integer() throws(JSONFault) -> Int64 {
        guard member.kind == .integer, let number = Int64(spelling) else { throw .notJSON }
        return number
    }

    /// Returns a time in milliseconds, from 0 on.
    func time(_ latest: Int64, roundsUp: Bool = false) throws(JSONFault) -> Int64 {
        let time = try milliseconds(latest, roundsUp: roundsUp)
        guard time >= 0 else { throw .notJSON }
        return time
    }

    /// Returns a number of seconds in milliseconds.
    func duration(_ latest: Int64) throws(JSONFault) -> Int64 { try milliseconds(latest, roundsUp: false) }

    private func milliseconds(_ latest: Int64, roundsUp: Bool) throws(JSONFault) -> Int64 {
        switch member.kind {
        case .integer:
            guard let seconds = Int64(spelling), -latest...latest ~= seconds else { throw .notJSON }
            return seconds * 1000
        case .decimal:
            guard let seconds = Double(spelling), seconds.magnitude <= Double(latest) else { throw .notJSON }
            return Int64((seconds * 1000).rounded(roundsUp ? .up : .down))
        default: throw .notJSON
        }
    }
}
