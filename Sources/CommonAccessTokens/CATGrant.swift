// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys
internal import RequestTargets

/// An authentic Common Access Token, whose restrictions are evaluated on every call.
///
/// It may be cached under the bytes of the token as presented, for as long as the key set is in use.
public final class CATGrant: PlaybackGrant {
    /// The key that made the token. Its validity is checked on every call.
    public let key: TokenKey
    package let profile: CATVerifier.Profile

    /// The claims as they were signed.
    public let payload: [UInt8]
    package let claims: ClaimSet
    package let patterns: [LocatedPattern]
    /// True if the answer depends on more than time, method, host, path and query of a request, such as the client's
    /// address. An answer for one request must then not be reused for another.
    public let isBoundToClient: Bool

    package init(_ opened: OpenedToken, payload: [UInt8]) {
        key = opened.key
        profile = opened.profile
        claims = opened.claims
        patterns = opened.patterns
        self.payload = payload
        isBoundToClient = opened.claims.areBoundToClient(payload.span)
    }

    /// The issuer.
    public var issuer: AcceptedIssuer { profile.issuer }

    public var issuerName: String { profile.issuer.name }

    /// The time from which on the token is expired, if it expires.
    public var expires: Timestamp? { claims.expires.map { Timestamp(millisecondsSince1970: $0) } }

    /// The first time at which the token is valid, if it has one.
    public var notBefore: Timestamp? { claims.notBefore.map { Timestamp(millisecondsSince1970: $0) } }

    /// The time of issue, if the token has one.
    public var issued: Timestamp? { claims.issuedAt.map { Timestamp(millisecondsSince1970: $0) } }

    /// The identity of the token among those of its issuer, if it has one.
    public var identifier: [UInt8]? { string(.identifier) }

    /// The identity of the token among those of all issuers, as in ``GrantObligations/use``; `nil` if it has no identifier.
    public var identity: SHA256Digest? {
        let payload = payload
        return claims.identity(payload.span)
    }

    /// The number of claims that were ignored because they are not registered.
    public var ignoredClaims: Int { claims.ignored }

    /// The time from which on the token is renewed; `nil` if it is not renewable.
    public var renewalStart: Timestamp? {
        guard case .valid(let times) = claims.renewal, let end = claims.expires else { return nil }
        return Timestamp(millisecondsSince1970: times.start(end: end))
    }

    /// The renewal of the token; `nil` if it is not renewable.
    public var renewal: CATRenewal? {
        guard case .valid = claims.renewal, let range = claims[.renewal] else { return nil }
        let payload = payload
        return CATRenewal(payload.span.extracting(range))
    }

    /// True if the token is valid for one use only.
    public var isForOneUse: Bool { claims.replay == 1 }

    /// The path of the cookie that the token names for its renewal; `nil` if it names none.
    package var cookiePath: String? {
        for attribute in renewal?.cookieAttributes ?? [] where attribute.utf8.starts(with: "Path=/".utf8) {
            return String(attribute.dropFirst("Path=".count))
        }
        return nil
    }

    // MARK: Session

    /// The id of the playback session, if the token has one.
    public var sessionID: SessionID? { sixteenBytes(.session) }

    /// The end of the playback session, if the token has one.
    public var sessionEnd: Timestamp? { claims.sessionEnd.map { Timestamp(secondsSince1970: Int64($0)) } }

    /// The number of tags by which the token can be revoked.
    public var tagCount: Int { claims[.revocation].map { ($0.count - 10) / 16 } ?? 0 }

    /// Returns a tag by which the token can be revoked: of the media token, the session GUID, the MVPD and the proxy MVPD.
    ///
    /// - Parameter index: A number below ``tagCount``.
    public func tag(_ index: Int) -> SubjectTag? {
        guard 0..<tagCount ~= index, let range = claims[.revocation] else { return nil }
        let payload = payload
        // A head of two bytes and the time stand before the tags.
        let start = range.lowerBound + 10 + 16 * index
        return SubjectTag(payload.span.extracting(start..<start + 16))
    }

    /// The issue time of the media token, for comparison with revocations; `nil` if the token cannot be revoked.
    public var mediaTokenIssued: Timestamp? {
        guard let range = claims[.revocation] else { return nil }
        var time: UInt64 = 0
        for index in range.lowerBound + 2..<range.lowerBound + 10 { time = time << 8 | UInt64(payload[index]) }
        return Timestamp(millisecondsSince1970: Int64(bitPattern: time))
    }

    public var protection: ProtectionTag? { sixteenBytes(.protection) }

    public var profileName: String? { string(.profile).map { String(decoding: $0, as: UTF8.self) } }

    public var isCounted: Bool { renewals != nil }

    /// The renewals since the grant was issued; `nil` if they are not counted.
    public var renewals: RenewalCount? {
        guard let range = claims[.generation] else { return nil }
        let payload = payload
        var walker = ItemWalker(payload.span, at: range)
        return RenewalCount(code: walker.head().value)
    }

    private func sixteenBytes<Value: SixteenBytes>(_ claim: CATClaim) -> Value? {
        guard let range = claims[claim] else { return nil }
        let payload = payload
        // A head of one byte stands before the value.
        return Value(payload.span.extracting(range.lowerBound + 1..<range.upperBound))
    }

    private func string(_ claim: CATClaim) -> [UInt8]? {
        guard let range = claims[claim] else { return nil }
        let payload = payload
        var walker = ItemWalker(payload.span, at: range)
        return [UInt8](copying: payload.span.extracting(walker.string()))
    }
}

extension CATGrant {
    /// The path that all permitted paths begin with; `nil` if no rule of the token is of that kind.
    public var pathPrefix: String? { path(.prefix) }

    /// The only permitted path; `nil` if no rule of the token names one.
    public var exactPath: String? { path(.exact) }

    private func path(_ wanted: ValueMatch) -> String? {
        guard let range = claims[.uri] else { return nil }
        let payload = payload
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.span.extracting(range))
            for _ in 0..<(try reader.map(1...256)) {
                let component = try reader.integer()
                for _ in 0..<(try reader.map(1...256)) {
                    let match = try reader.integer()
                    guard component == Int64(URIComponent.path.rawValue), match == wanted.rawValue else {
                        try reader.skip()
                        continue
                    }
                    let text = try reader.text(1...4096)
                    return String(copying: payload.span.extracting(range).extracting(text))
                }
            }
            return nil
        } catch {
            return nil
        }
    }
}

extension CATGrant {
    /// True if the restrictions of the token on URIs give the same result for all files of a folder with the same host.
    ///
    /// - Parameter path: A path in the folder, percent-encoded in normal form.
    package func isUniform(around path: Substring) -> Bool {
        guard let range = claims[.uri] else { return true }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { path.utf8.distance(from: path.startIndex, to: $0) + 1 }
        let payload = payload
        var walker = ItemWalker(payload.span, at: range)
        for _ in 0..<walker.count() {
            let component = walker.integer()
            for _ in 0..<walker.count() {
                let match = walker.integer()
                let operand = match == ValueMatch.regex.rawValue ? walker.firstText() : walker.string()
                if component == Int64(URIComponent.host.rawValue) { continue }
                guard component == Int64(URIComponent.path.rawValue), match == ValueMatch.prefix.rawValue,
                    let folder, operand.count <= folder
                else { return false }
            }
        }
        return true
    }
}

extension ClaimSet {
    /// True if a claim depends on more than time, method, host, path and query of a request.
    func areBoundToClient(_ payload: Span<UInt8>) -> Bool {
        for claim in CATClaim.allCases where !claim.isForAllClients && self[claim] != nil { return true }
        guard let range = self[.uri] else { return false }
        let unbound: Set<Int64> = [URIComponent.scheme, .port].reduce(into: []) { $0.insert(Int64($1.rawValue)) }
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.extracting(range))
            for _ in 0..<(try reader.map(1...256)) {
                if unbound.contains(try reader.integer()) { return true }
                try reader.skip()
            }
            return false
        } catch {
            return true
        }
    }
}

extension CATClaim {
    /// True if the claim restricts nothing, or only facts that an edge's cache key has.
    fileprivate var isForAllClients: Bool {
        switch self {
        case .issuer, .subject, .audience, .expiration, .notBefore, .issuedAt, .identifier, .version, .uri, .methods,
            .answerData, .answers, .renewal, .session, .sessionEnd, .revocation, .protection, .profile,
            .generation:
            true
        default: false
        }
    }
}
