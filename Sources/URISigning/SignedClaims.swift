// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Encodings
internal import Keys

/// The claims of a signed URI, read once with types and limits checked, and evaluated on every call.
package struct SignedClaims: Sendable {
    package private(set) var issuer: ClaimText?
    package private(set) var subject: ClaimText?
    package private(set) var audience: Audience?
    /// The time from which on the token is expired, in milliseconds.
    package private(set) var expires: Int64?
    /// The first time at which the token is valid, in milliseconds.
    package private(set) var notBefore: Int64?
    /// The time of issue, in milliseconds.
    package private(set) var issuedAt: Int64?
    package private(set) var identifier: ClaimText?
    package private(set) var version: Int64 = 1
    package private(set) var critical: ClaimText?
    package private(set) var address: ClaimText?
    package private(set) var container: ClaimText?
    /// The life that a renewal gives, in milliseconds; may be 0 or less, which renews nothing.
    package private(set) var life: Int64?
    package private(set) var transport: Int64?
    package private(set) var depth: Int64?
    package private(set) var sessionID: SessionID?
    /// The end of the playback session, in seconds.
    package private(set) var sessionEnd: Int64?
    package private(set) var revocation: [UInt8]?
    package private(set) var protection: ProtectionTag?
    package private(set) var profile: String?
    /// The number of claims without a meaning.
    package private(set) var ignored = 0
    /// True if the private claims have the meaning of this package.
    package let hasPrivateClaims: Bool

    /// The recipients of a token.
    package enum Audience {
        case one(ClaimText)
        case several([String])
    }

    /// A malformed claim; `nil` for malformed JSON.
    package struct Fault: Error {
        package let claim: URISigningClaim?
    }

    package static let limits = JSONLimits(depth: 8, members: 64, elements: 64)
    /// The latest time of a claim, in seconds.
    private static let latest: Int64 = 1 << 53
    /// The largest text, in bytes.
    private static let largest = 4096

    /// Reads the claims of a payload.
    ///
    /// - Parameter hasPrivateClaims: True if the private claims have the meaning of this package.
    init(_ payload: Span<UInt8>, hasPrivateClaims: Bool) throws(Fault) {
        self.hasPrivateClaims = hasPrivateClaims
        var reader = JSONMemberReader(payload, limits: Self.limits)
        while true {
            var claim: URISigningClaim?
            do throws(JSONFault) {
                guard let member = try reader.next() else { return }
                claim = try URISigningClaim(member, in: reader)
                if let found = claim, hasPrivateClaims || !found.isPrivate {
                    try read(found, from: ClaimValue(bytes: payload, member: member))
                } else {
                    claim = nil
                    ignored += 1
                }
            } catch {
                throw Fault(claim: claim)
            }
        }
    }

    private mutating func read(_ claim: URISigningClaim, from value: ClaimValue) throws(JSONFault) {
        switch claim {
        case .issuer: issuer = try value.text(Self.largest)
        case .subject: subject = try value.text(Self.largest)
        case .audience: audience = try value.audience(Self.largest)
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
        case .session: sessionID = try value.sixteenBytes()
        case .sessionEnd:
            let end = try value.integer()
            guard 0...Self.latest ~= end else { throw .notJSON }
            sessionEnd = end
        case .revocation:
            guard let bytes = Base64.decodeURLSafe(try value.string(128)), [56, 72].contains(bytes.count) else {
                throw .notJSON
            }
            revocation = bytes
        case .protection: protection = try value.sixteenBytes()
        case .profile:
            let name = try value.string(32)
            guard !name.isEmpty else { throw .notJSON }
            profile = name
        }
    }

    /// The state of the claims of a renewal.
    package enum Renewal {
        case none, malformed
        /// The way and the life, in milliseconds.
        case valid(URISigningRenewal.Transport, life: Int64)
    }

    /// The renewal: `cdnistt` and `cdniets` stand together or not at all.
    package var renewal: Renewal {
        guard let transport else { return life == nil ? .none : .malformed }
        guard let life, life > 0, 0...2 ~= transport else { return .malformed }
        return URISigningRenewal.Transport(rawValue: transport).map { .valid($0, life: life) } ?? .none
    }

    /// True if each critical claim is present and understood: only the private ones can be, as those of RFC 9246 may not be
    /// named.
    func isCriticalUnderstood(_ payload: Span<UInt8>) -> Bool {
        guard let critical = critical?.string(in: payload) else { return true }
        var seen: [Substring] = []
        for name in critical.split(separator: ",", omittingEmptySubsequences: false) {
            guard !seen.contains(name), let claim = URISigningClaim(rawValue: String(name)), claim.isPrivate else {
                return false
            }
            let isPresent =
                switch claim {
                case .session: sessionID != nil
                case .sessionEnd: sessionEnd != nil
                case .protection: protection != nil
                case .profile: profile != nil
                default: revocation != nil
                }
            guard isPresent else { return false }
            seen.append(name)
        }
        return true
    }
}

extension URISigningClaim {
    private static let all = allCases
    private static let names = JSONNames(all.map(\.rawValue))

    /// Creates the claim of a member that `reader` has read; `nil` if it has no meaning here.
    init?(_ member: JSONMemberReader.Member, in reader: borrowing JSONMemberReader) throws(JSONFault) {
        guard let index = try reader.index(of: member, in: Self.names) else { return nil }
        self = Self.all[index]
    }
}
