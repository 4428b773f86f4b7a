// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// A verifier of signed URIs (RFC 9246): every restriction is evaluated, or the token is refused by its name.
///
/// A check has two halves, as with `CATVerifier`. ``authenticate(_:at:)`` checks the signature, and its answer may be
/// cached under the bytes of the token. ``judge(_:for:at:)`` evaluates the restrictions for one request, on every call.
/// Checks that need a store are returned as ``GrantObligations``. The packages of a target are cut out first: see
/// ``PackageAttribute``.
///
/// ```swift
/// let cut = PackageAttribute.standard.cut(target)
/// guard let uri = RequestURI(cut.target, scheme: .https, authority: host) else { return refuse(.uriMismatch) }
/// switch verifier.verify(cut.packages[0].utf8.span, RequestFacts(uri: uri, method: method), at: .now()) {
/// case .allowed(let obligations): return answer(obligations)
/// case .refused(let refusal): return refuse(refusal.code)
/// }
/// ```
public struct URISigningVerifier: Sendable {
    package let settings: Settings

    /// All that is the same on every call.
    package final class Settings: Sendable {
        package let keys: KeySet
        package let profiles: [Profile]
        package let policy: URISigningPolicy
        /// True if two issuers may have the same key, so that a signature does not determine the issuer.
        package let hasSharedKeys: Bool
        /// The headers of tokens that have none, each for the keys of its issuer.
        package let headers: [(issuer: String, text: [UInt8])]

        package init(keys: KeySet, profiles: [Profile], policy: URISigningPolicy) {
            self.keys = keys
            self.profiles = profiles
            self.policy = policy
            hasSharedKeys = keys.sharesIdentifiers
            headers = profiles.flatMap { profile in
                profile.issuer.headers.map { (profile.issuer.name, [UInt8]($0.encoded.utf8)) }
            }
        }
    }

    /// An accepted issuer, held by reference so that no call copies it.
    package final class Profile: Sendable {
        package let issuer: AcceptedSigner

        package init(_ issuer: AcceptedSigner) { self.issuer = issuer }
    }

    /// The largest token, in characters.
    public static let maximumSize = JWS.maximumSize
    /// The largest number of different packages of a request that are looked at.
    public static let maximumPackages = 6
    /// The largest number of headers that are tried for a token without one.
    public static let maximumHeaders = KeySet.maximumCandidates

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys, each bound to an issuer.
    ///   - issuers: The accepted issuers. A token by a key of any other is refused. Of their headers for tokens without one, the
    ///     first ``maximumHeaders`` count.
    ///   - policy: The own names, and the means of the caller.
    public init(keys: KeySet, issuers: [AcceptedSigner], policy: URISigningPolicy) {
        settings = Settings(keys: keys, profiles: issuers.map { Profile($0) }, policy: policy)
    }

    /// The keys.
    public var keys: KeySet { settings.keys }
    /// The accepted issuers.
    public var issuers: [AcceptedSigner] { settings.profiles.map(\.issuer) }
    /// The own names, and the means of the caller.
    public var policy: URISigningPolicy { settings.policy }

    // MARK: Checks

    /// The outcome of checking a signature.
    public enum Authentication: Sendable {
        /// The token is authentic. It allows nothing yet.
        case authentic(URISigningGrant)
        /// The token is refused for any request.
        case refused(GrantRefusal)
    }

    /// Checks the signature of a token, the types of its claims, issuer, version and critical claims: steps 1 to 9 of a check.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - now: The time of receipt.
    public func authenticate(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        switch verifySignature(token, at: now) {
        case .refused(let refusal): return .refused(GrantRefusal(GrantCode(refusal)))
        case .verified(let key, let payload):
            guard let profile = settings.profiles.first(where: { $0.issuer.name.hasSameBytes(as: key.issuer) }) else {
                return .refused(GrantRefusal(.issuerRefused, member: .issuer))
            }
            return grant(from: payload, by: key, profile: profile)
        }
    }

    func verifySignature(_ token: Span<UInt8>, at now: Timestamp) -> JWSVerification {
        if !settings.headers.isEmpty, token.hasNoHeader { return verifyWithoutHeader(token, at: now) }
        let answer = settings.keys.verify(jws: token, at: now)
        // Of several issuers with the same key, the token's own is the one that it is checked for.
        guard settings.hasSharedKeys, case .verified(let key, _) = answer,
            let name = try? UnverifiedSignedURI(token).issuer, !name.hasSameBytes(as: key.issuer),
            case .verified(let other, let payload) = settings.keys.verify(jws: token, at: now, issuer: name)
        else { return answer }
        return .verified(other, payload: payload)
    }

    /// Verifies a token by each of the agreed headers, with only the keys of the header's issuer.
    private func verifyWithoutHeader(_ token: Span<UInt8>, at now: Timestamp) -> JWSVerification {
        var answer = JWSVerification.refused(.malformed)
        for header in settings.headers.prefix(Self.maximumHeaders) {
            let found = settings.keys.verify(jws: token, header: header.text.span, at: now, issuer: header.issuer)
            switch (found, answer) {
            case (.verified(_, let payload), _):
                // Of several issuers with the same key, the token's own is the one that it is checked for.
                let name = try? SignedClaims(payload.span, hasPrivateClaims: false).issuer
                if name?.isSame(as: header.issuer, in: payload.span) ?? true { return found }
                answer = found
            case (_, .verified), (_, .refused(.signatureInvalid)): continue
            case (.refused, .refused): answer = found
            }
        }
        return answer
    }

    /// Reads a payload, and makes the checks that do not depend on the request.
    package func grant(from payload: [UInt8], by key: TokenKey, profile: Profile) -> Authentication {
        let issuer = profile.issuer
        let claims: SignedClaims
        do throws(SignedClaims.Fault) {
            claims = try SignedClaims(
                payload.span,
                hasPrivateClaims: issuer.isOwn || issuer.maximumSession != nil
            )
        } catch {
            return .refused(GrantRefusal(.malformed, detail: error.claim.map { .member($0) }))
        }
        if let name = claims.issuer {
            guard name.isSame(as: issuer.name, in: payload.span) else {
                return .refused(GrantRefusal(.issuerRefused, member: .issuer))
            }
        } else if !issuer.isNameOptional {
            return .refused(GrantRefusal(.issuerRefused, member: .issuer))
        }
        guard claims.version == 1 else { return .refused(GrantRefusal(.versionUnsupported, member: .version)) }
        guard claims.isCriticalUnderstood(payload.span) else {
            return .refused(GrantRefusal(.claimUnsupported, member: .critical))
        }
        return .authentic(
            URISigningGrant(
                key: key,
                profile: profile,
                payload: payload,
                claims: claims,
                decryptionKeys: settings.policy.decryptionKeys
            )
        )
    }

    /// Evaluates the restrictions of an authentic token for a request.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func judge(_ grant: URISigningGrant, for facts: RequestFacts, at now: Timestamp) -> GrantVerdict {
        guard grant.key.isValid(at: now) else { return .refused(GrantRefusal(.keyUnknown)) }
        return grant.verdict(for: facts, under: settings.policy, now: now.millisecondsSince1970)
    }

    /// Checks a token for a request: authenticates and judges it, and stores nothing.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func verify(_ token: Span<UInt8>, for facts: RequestFacts, at now: Timestamp) -> GrantVerdict {
        switch authenticate(token, at: now) {
        case .refused(let refusal): .refused(refusal)
        case .authentic(let grant): judge(grant, for: facts, at: now)
        }
    }
}

extension Span<UInt8> {
    /// True for `payload.signature`.
    fileprivate var hasNoHeader: Bool {
        guard let dot = firstIndex(of: UInt8(ascii: "."), from: 0) else { return false }
        return firstIndex(of: UInt8(ascii: "."), from: dot + 1) == nil
    }
}

extension GrantCode {
    /// The code of a refused signature.
    package init(_ refusal: JOSERefusal) {
        switch refusal {
        case .tooLarge: self = .tooLarge
        case .malformed, .typeRefused: self = .malformed
        case .algorithmRefused: self = .algorithmRefused
        case .keyUnknown: self = .keyUnknown
        case .signatureInvalid: self = .signatureInvalid
        case .claimUnsupported: self = .claimUnsupported
        }
    }
}
