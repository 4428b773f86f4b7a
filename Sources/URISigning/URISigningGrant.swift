// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import Keys
package import RequestTargets

/// An authentic signed URI (RFC 9246), whose restrictions are evaluated on every call.
///
/// It may be cached under the bytes of the token as presented, for as long as the key set is in use.
public final class URISigningGrant: PlaybackGrant {
    public let key: TokenKey
    package let profile: URISigningVerifier.Profile

    public let payload: [UInt8]
    package let claims: SignedClaims
    package let container: Container
    package let network: Network
    /// True if `sub` is absent or a JWE.
    let isSubjectAcceptable: Bool

    /// The URIs that the token opens.
    package enum Container: Sendable {
        case absent
        /// The claim is none, or not supported.
        case refused(GrantCode)
        case present(URIContainer)
    }

    /// The network that the token is for.
    package enum Network: Sendable {
        case absent
        /// No key decrypts the claim, or its text is no network.
        case unknown
        case present(IPAddress, length: Int)
    }

    package init(
        key: TokenKey,
        profile: URISigningVerifier.Profile,
        payload: [UInt8],
        claims: SignedClaims,
        decryptionKeys keys: [EncryptionKey]
    ) {
        self.key = key
        self.profile = profile
        self.payload = payload
        self.claims = claims
        container =
            claims.container.map { text in
                text.withBytes(in: payload.span) { bytes in
                    do throws(URIContainer.Fault) {
                        return .present(try URIContainer(bytes, match: profile.issuer.match))
                    } catch { return .refused(error.code) }
                }
            } ?? .absent
        let keys = keys + profile.issuer.decryptionKeys
        network =
            claims.address.map { text in text.withBytes(in: payload.span) { Network(decrypting: $0, by: keys) } }
            ?? .absent
        isSubjectAcceptable = claims.subject.map { text in text.withBytes(in: payload.span) { JWE($0) != nil } } ?? true
    }

    /// The issuer.
    public var issuer: AcceptedSigner { profile.issuer }

    public var issuerName: String { profile.issuer.name }

    public var expires: Timestamp? { claims.expires.map { Timestamp(millisecondsSince1970: $0) } }

    public var notBefore: Timestamp? { claims.notBefore.map { Timestamp(millisecondsSince1970: $0) } }

    public var issued: Timestamp? { claims.issuedAt.map { Timestamp(millisecondsSince1970: $0) } }

    /// The identity of the token among those of its issuer (`jti`), if it has one.
    public var identifier: String? { string(claims.identifier) }

    /// The number of claims that were ignored because they have no meaning here.
    public var ignoredClaims: Int { claims.ignored }

    /// The renewal of the token; `nil` if it is not renewable.
    public var renewal: URISigningRenewal? {
        guard case .valid(let transport, let life) = claims.renewal else { return nil }
        return URISigningRenewal(transport, life: Int(life / 1000), depth: Int(clamping: claims.depth ?? 0))
    }

    public var renewalStart: Timestamp? {
        guard case .valid(_, let life) = claims.renewal, let end = claims.expires else { return nil }
        let window = profile.issuer.renewalWindow.map { min($0.components.seconds, 1 << 40) * 1000 } ?? life / 2
        return Timestamp(millisecondsSince1970: end - window)
    }

    public var isForOneUse: Bool { claims.identifier != nil }

    /// True, because scheme and port are part of the URI that a token opens, and caches of answers do not have them in
    /// their keys. False for a token that opens all URIs and is bound neither to a client nor to one use.
    public var isBoundToClient: Bool {
        guard case .absent = container, case .absent = network else { return true }
        return isForOneUse
    }

    public var sessionID: SessionID? { claims.sessionID }

    public var sessionEnd: Timestamp? { claims.sessionEnd.map { Timestamp(secondsSince1970: $0) } }

    public var tagCount: Int { claims.revocation.map { ($0.count - 8) / 16 } ?? 0 }

    public func tag(_ index: Int) -> SubjectTag? {
        guard 0..<tagCount ~= index, let bytes = claims.revocation else { return nil }
        return SubjectTag(bytes: bytes[8 + 16 * index..<24 + 16 * index])
    }

    public var mediaTokenIssued: Timestamp? {
        guard let bytes = claims.revocation else { return nil }
        let time = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Timestamp(millisecondsSince1970: Int64(bitPattern: time))
    }

    public var protection: ProtectionTag? { claims.protection }

    public var profileName: String? { claims.profile }

    /// Returns the subject of the token, if one of the keys decrypts it, or one of the issuer's. For information only.
    public func subject(_ keys: [EncryptionKey] = []) -> [UInt8]? {
        let payload = payload
        let keys = keys + profile.issuer.decryptionKeys
        return claims.subject.flatMap { text in text.withBytes(in: payload.span) { JWE($0) } }?.decrypted(by: keys)
    }

    /// The folder whose URIs the token opens, all of them and no others; `nil` for any other container.
    public var scope: URISigningClaims.Scope? {
        guard case .present(.prefix(let bytes)) = container, let text = String(validating: bytes, as: UTF8.self),
            let uri = RequestURI(url: text[...]), let host = uri.authorityText, uri.path.utf8.last == UInt8(ascii: "/"),
            uri.absolute?.hasSameBytes(as: text) ?? false
        else { return nil }
        return URISigningClaims.Scope(scheme: uri.scheme, host: host, path: String(uri.path))
    }

    /// Returns the text of a claim.
    package func string(_ text: ClaimText?) -> String? {
        let payload = payload
        return text?.string(in: payload.span)
    }
}

extension URISigningGrant.Network {
    /// Decrypts an address, or a network such as `203.0.113.0/24`.
    package init(decrypting serialized: Span<UInt8>, by keys: [EncryptionKey]) {
        self = .unknown
        guard let bytes = JWE(serialized)?.decrypted(by: keys), bytes.count <= 64,
            let text = String(validating: bytes, as: UTF8.self)
        else { return }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(parts[0]) else { return }
        let size = address.isIPv4 ? 32 : 128
        guard parts.count == 2 else {
            self = .present(address, length: size)
            return
        }
        guard 1...3 ~= parts[1].utf8.count, parts[1].utf8.allSatisfy(\.isASCIIDigit), let length = Int(parts[1]),
            length <= size
        else { return }
        self = .present(address, length: length)
    }

    /// True if an address is in the network.
    package func contains(_ client: IPAddress?) -> Bool {
        switch self {
        case .absent: true
        case .unknown: false
        case .present(let address, let length):
            client?.has(prefix: address.bytes.span, length: length, isIPv4: address.isIPv4) ?? false
        }
    }
}

extension URISigningGrant {
    /// Evaluates the token for a request, in the order of RFC 9246 §2 as this package fixes it.
    package func verdict(for facts: RequestFacts, under policy: URISigningPolicy, now: Int64) -> GrantVerdict {
        for claim in Self.restrictions {
            if let refusal = refusal(by: claim, for: facts, under: policy, now: now) { return .refused(refusal) }
        }
        var obligations = GrantObligations()
        if let identifier {
            guard policy.hasReplayStore, let expires = claims.expires, let uri = facts.uri.absolute,
                let key = Self.useKey(issuer: string(claims.issuer) ?? "", identifier: identifier, uri: uri)
            else { return .refused(GrantRefusal(.replayed, member: .identifier)) }
            obligations.use = .init(
                key: key,
                until: Timestamp(millisecondsSince1970: expires),
                isWatched: false
            )
        }
        obligations.isRenewalDue = isRenewalDue(facts, now: now)
        return .allowed(obligations)
    }

    /// The claims that restrict a request, in the order of their evaluation.
    package static let restrictions: [URISigningClaim] = [
        .audience, .expiration, .notBefore, .transport, .container, .address, .subject,
    ]

    /// Returns the refusal by a claim or its absence; `nil` if it holds or restricts nothing.
    package func refusal(
        by claim: URISigningClaim,
        for facts: RequestFacts,
        under policy: URISigningPolicy,
        now: Int64
    ) -> GrantRefusal? {
        switch claim {
        case .audience:
            return isAddressed(to: policy.audience) ? nil : GrantRefusal(.audienceMismatch, member: claim)
        case .expiration: return expirationRefusal(now: now)
        case .notBefore: return now >= claims.notBefore ?? .min ? nil : GrantRefusal(.notYetValid, member: claim)
        case .life, .transport:
            guard case .malformed = claims.renewal else { return nil }
            return GrantRefusal(.renewalInvalid, member: claims.transport == nil ? .life : .transport)
        case .container: return containerRefusal(facts.uri)
        case .address:
            if case .absent = network { return nil }
            return network.contains(facts.clientAddress) ? nil : GrantRefusal(.addressMismatch, member: claim)
        case .subject: return isSubjectAcceptable ? nil : GrantRefusal(.subjectInvalid, member: claim)
        case .identifier:
            let isKept = policy.hasReplayStore && claims.expires != nil
            return claims.identifier == nil || isKept ? nil : GrantRefusal(.replayed, member: claim)
        case .issuer, .issuedAt, .version, .critical, .depth, .session, .sessionEnd, .revocation, .protection, .profile:
            return nil
        }
    }

    /// True if the token is for one of `names`, or for any recipient.
    private func isAddressed(to names: [String]) -> Bool {
        let payload = payload
        return switch claims.audience {
        case nil: true
        case .one(let text): names.contains { text.isSame(as: $0, in: payload.span) }
        case .several(let texts): texts.contains { text in names.contains { $0.hasSameBytes(as: text) } }
        }
    }

    private func expirationRefusal(now: Int64) -> GrantRefusal? {
        guard let expires = claims.expires else {
            return profile.issuer.requiresExpiration ? GrantRefusal(.malformed, member: .expiration) : nil
        }
        guard now >= expires else { return nil }
        // The last token of a session expires with it, and no other can follow.
        let isEnded = claims.sessionEnd.map { now >= $0 * 1000 } ?? false
        return isEnded
            ? GrantRefusal(.sessionEnded, member: .sessionEnd) : GrantRefusal(.expired, member: .expiration)
    }

    private func containerRefusal(_ uri: RequestURI) -> GrantRefusal? {
        switch container {
        case .absent:
            return profile.issuer.requiresContainer ? GrantRefusal(.uriMismatch, member: .container) : nil
        case .refused(let code): return GrantRefusal(code, member: .container)
        case .present(let container):
            guard uri.scheme != nil else {
                return GrantRefusal(.contextMissing, detail: .memberFact(.scheme, for: .container))
            }
            guard uri.host != nil else {
                return GrantRefusal(.contextMissing, detail: .memberFact(.host, for: .container))
            }
            return container.holds(uri) ? nil : GrantRefusal(.uriMismatch, member: .container)
        }
    }

    /// Returns the key of a token's use for a URI: SHA-256 of issuer, identifier and URI. Issuer and identifier follow
    /// their lengths in two bytes, so that no two inputs have the same bytes.
    private static func useKey(issuer: String, identifier: String, uri: String) -> SHA256Digest? {
        var message: [UInt8] = []
        for text in [issuer, identifier] {
            let count = text.utf8.count
            message += [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            message += text.utf8
        }
        return SHA256.fingerprint(message + [UInt8](uri.utf8))
    }

    /// True if the request may get a renewed token: it is in the window, its method reads, and it has the cookie's
    /// path. The session must also continue.
    private func isRenewalDue(_ facts: RequestFacts, now: Int64) -> Bool {
        guard let renewal, let start = renewalStart, let expires = claims.expires,
            start.millisecondsSince1970 <= now, facts.method == "GET" || facts.method == "HEAD",
            renewal.transport == .query || renewal.cookiePath(for: facts.uri) != nil
        else { return false }
        guard now / 1000 + Int64(renewal.life) > expires / 1000 else { return false }
        if let end = claims.sessionEnd { return end * 1000 > expires }
        return profile.issuer.maximumSession != nil
    }
}
