// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
public import Keys
public import MediaResources
public import Platform

/// A verifier of tokens of identity providers: JSON Web Tokens (RFC 7519), above all access tokens (RFC 9068).
///
/// The result is a pure function of token, keys, configuration and clock. Create one verifier and share it; create a new
/// one when the keys change.
///
/// ```swift
/// var provider = AccessTokenIssuer(
///     "https://id.example/realms/tv",
///     audience: ["playgate"],
///     rules: [ResourceRule(try ClaimPath("entitlements"))]
/// )
/// let keys = try KeySetReading(jwkSet: set, source: .published, binding: provider.binding).keys
/// let verifier = try AccessTokenVerifier([provider], keys: keys)
/// let answer = verifier.verify(token.utf8.span, for: try MediaResource("TNT"), at: .now())
/// ```
public final class AccessTokenVerifier: Sendable {
    /// The issuers.
    public var issuers: [AccessTokenIssuer] { plans.map(\.issuer) }
    /// The keys that are used: those of the issuers, and none for authentication codes.
    public let keys: [TokenKey]
    /// True if an issuer has opaque tokens.
    public let isIntrospecting: Bool

    private let set: KeySet
    private let plans: [Plan]

    /// An issuer, and where its claims stand.
    private final class Plan: Sendable {
        let issuer: AccessTokenIssuer
        let names: ClaimNames
        let required: [Int]
        let rules: [Int]
        let viewer: Int
        let streamLimit: Int
        let sessionEnd: Int
        let leeway: Int64
        let maximumAge: Int64

        init(_ issuer: AccessTokenIssuer) {
            let options = [issuer.streamLimit, issuer.sessionEnd].compactMap(\.self)
            let paths = issuer.requiredClaims.map(\.claim) + issuer.rules.map(\.claim) + [issuer.viewer] + options
            let names = ClaimNames(paths)
            self.issuer = issuer
            self.names = names
            required = issuer.requiredClaims.map { names.index(of: $0.claim) }
            rules = issuer.rules.map { names.index(of: $0.claim) }
            viewer = names.index(of: issuer.viewer)
            streamLimit = issuer.streamLimit.map(names.index) ?? 0
            sessionEnd = issuer.sessionEnd.map(names.index) ?? 0
            leeway = min(max(issuer.leeway.milliseconds, 0), 120_000)
            maximumAge = max(issuer.maximumAge.milliseconds, 0)
        }
    }

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - issuers: The issuers. Of two with one identifier, the first counts.
    ///   - keys: The keys of all issuers. Those that are not bound to access tokens of one of them are not used.
    /// - Throws: `KeySetError` with code `duplicateKeyID` if two keys of an issuer have one identifier and algorithm.
    public init(_ issuers: [AccessTokenIssuer], keys: [TokenKey]) throws(KeySetError) {
        plans = issuers.map { Plan($0) }
        let own = keys.filter { key in
            key.format == .accessToken && !key.algorithm.isMAC
                && issuers.contains {
                    $0.identifier.hasSameBytes(as: key.issuer) && $0.algorithms.contains(key.algorithm)
                }
        }
        set = try KeySet(own)
        self.keys = own
        isIntrospecting = issuers.contains(where: \.isIntrospected)
    }

    /// The verifier without issuers, which refuses every token.
    package static let none = AccessTokenVerifier()

    private init() { (keys, plans, isIntrospecting, set) = ([], [], false, KeySet.empty) }

    /// Verifies a token for the start of a playback of `resource`: form, type, algorithm, signature, issuer, audience,
    /// times, required claims, viewer, possession and resource, in this order.
    ///
    /// - Parameters:
    ///   - token: The token as transmitted, at most 16,384 characters.
    ///   - resource: The resource to play, from the programmer's own catalogue and never from the client.
    ///   - presented: What the request presents as proof of possession; `nil` for nothing.
    ///   - now: The time of receipt.
    public func verify(
        _ token: Span<UInt8>,
        for resource: MediaResource,
        presenting presented: PresentedProof? = nil,
        at now: Timestamp
    ) -> AccessTokenVerification {
        switch set.verify(jws: token, format: .accessToken, at: now) {
        case .refused(let refusal): return .refused(AccessTokenRefusal(refusal, of: token), provider: nil)
        case .verified(let key, let payload):
            guard let plan = plans.first(where: { $0.issuer.identifier.hasSameBytes(as: key.issuer) }) else {
                return .refused(.issuerRefused, provider: nil)
            }
            do throws(AccessTokenRefusal) {
                let claims = try Claims(payload, names: plan.names)
                guard try claims.isText(.issuer, equalTo: plan.issuer.identifier) ?? false else {
                    throw .issuerRefused
                }
                let signed = token.extracting(..<(token.lastIndex(of: UInt8(ascii: ".")) ?? token.count))
                let request = Request(token, identity: signed, resource: resource, presented: presented, now: now)
                return .valid(try Self.accept(claims, by: plan, for: request))
            } catch { return .refused(error, provider: plan.issuer.name) }
        }
    }

    /// Verifies what the server of an issuer says about an opaque token (RFC 7662 §2.2), for the start of a playback.
    ///
    /// - Parameters:
    ///   - answer: The body of the answer.
    ///   - token: The token as transmitted.
    ///   - issuer: The identifier of the issuer whose server has answered.
    ///   - resource: The resource to play.
    ///   - presented: What the request presents as proof of possession; `nil` for nothing.
    ///   - now: The time of receipt.
    public func verify(
        introspection answer: [UInt8],
        of token: Span<UInt8>,
        by issuer: String,
        for resource: MediaResource,
        presenting presented: PresentedProof? = nil,
        at now: Timestamp
    ) -> AccessTokenVerification {
        guard let plan = plans.first(where: { $0.issuer.identifier.hasSameBytes(as: issuer) }) else {
            return .refused(.issuerRefused, provider: nil)
        }
        do throws(AccessTokenRefusal) {
            let claims = try Claims(answer, names: plan.names)
            guard claims.has(.active) else { throw .introspectionUnavailable }
            guard claims.isTrue(.active) else { throw .inactive }
            // The member is optional: the server was asked for its own tokens.
            guard try claims.isText(.issuer, equalTo: plan.issuer.identifier) ?? true else {
                throw .issuerRefused
            }
            let request = Request(token, identity: token, resource: resource, presented: presented, now: now)
            return .valid(try Self.accept(claims, by: plan, for: request))
        } catch { return .refused(error, provider: plan.issuer.name) }
    }

    /// What a token is to start.
    private struct Request: ~Escapable {
        let token: Span<UInt8>
        /// What of the token nobody can write in another way: of a JSON Web Token, all but its signature.
        let identity: Span<UInt8>
        let resource: MediaResource
        let presented: PresentedProof?
        let now: Timestamp

        @_lifetime(copy token, copy identity)
        init(
            _ token: Span<UInt8>,
            identity: Span<UInt8>,
            resource: MediaResource,
            presented: PresentedProof?,
            now: Timestamp
        ) {
            self.token = token
            self.identity = identity
            self.resource = resource
            self.presented = presented
            self.now = now
        }
    }

    /// Judges authentic claims.
    private static func accept(
        _ claims: Claims,
        by plan: Plan,
        for request: borrowing Request
    ) throws(AccessTokenRefusal) -> AccessToken {
        let issuer = plan.issuer
        try checkAudience(of: claims, issuer)
        let (issued, expires) = try times(of: claims, by: plan, at: request.now)
        for index in plan.required.indices {
            try check(issuer.requiredClaims[index], at: plan.required[index], in: claims)
        }
        guard let viewer = try claims.text(at: plan.viewer, issuer.viewer), 1...1024 ~= viewer.utf8.count else {
            throw .claimMissing
        }
        let limit = try streamLimit(of: claims, by: plan)
        let end = try sessionEnd(of: claims, by: plan, at: request.now)
        let confirmation = try claims.object(.confirmation).map { (members) throws(AccessTokenRefusal) in
            try Confirmation(members)
        }
        let use = try confirmation?.use(of: request.presented, token: request.token, at: request.now)
        guard try entitles(claims, to: request.resource, by: plan) else { throw .resourceRefused }
        return AccessToken(
            provider: issuer.name,
            viewer: viewer,
            issued: issued,
            expires: expires,
            fingerprint: try fingerprint(of: claims, identity: request.identity, issuer: issuer.identifier),
            isReusable: issuer.isReusable,
            streamLimit: limit,
            sessionEnd: end,
            proofUse: issuer.isReusable ? use ?? nil : nil
        )
    }

    private static func checkAudience(of claims: Claims, _ issuer: AccessTokenIssuer) throws(AccessTokenRefusal) {
        // Without a name of its own, the configuration names the recipient by other claims.
        guard !issuer.audience.isEmpty else { return }
        let index = ClaimNames.Known.audience.rawValue
        let isMeant = try claims.contains(at: index, .audience) { value in
            issuer.audience.contains { $0.utf8.span.hasSameBytes(as: value) }
        }
        guard isMeant ?? false else { throw .audienceMismatch }
    }

    /// Returns the times of issue and expiry.
    private static func times(
        of claims: Claims,
        by plan: Plan,
        at now: Timestamp
    ) throws(AccessTokenRefusal) -> (issued: Timestamp, expires: Timestamp) {
        guard let expires = try claims.time(.expiration), let issued = try claims.time(.issued) else {
            throw .claimMissing
        }
        let latest = now.advanced(byMilliseconds: plan.leeway)
        guard issued <= latest, try claims.time(.notBefore).map({ $0 <= latest }) ?? true else { throw .notYetValid }
        guard now <= expires.advanced(byMilliseconds: plan.leeway) else { throw .expired }
        guard now <= issued.advanced(byMilliseconds: plan.maximumAge).advanced(byMilliseconds: plan.leeway) else {
            throw .tooOld
        }
        // No store need remember a use for longer than the token starts playbacks.
        return (issued, min(expires, issued.advanced(byMilliseconds: plan.maximumAge)))
    }

    private static func check(
        _ required: AccessTokenIssuer.RequiredClaim,
        at index: Int,
        in claims: Claims
    ) throws(AccessTokenRefusal) {
        let isAccepted = try claims.contains(at: index, required.claim) { value in
            required.values?.contains { $0.utf8.span.hasSameBytes(as: value) } ?? true
        }
        guard let isAccepted else { throw .claimMissing }
        guard isAccepted else { throw .claimRefused }
    }

    private static func entitles(
        _ claims: Claims,
        to resource: MediaResource,
        by plan: Plan
    ) throws(AccessTokenRefusal) -> Bool {
        for index in plan.rules.indices {
            let rule = plan.issuer.rules[index]
            let admits = try claims.contains(at: plan.rules[index], rule.claim, isSeparated: rule.isSeparated) {
                rule.admits($0, to: resource)
            }
            if admits ?? false { return true }
        }
        return false
    }

    private static func streamLimit(of claims: Claims, by plan: Plan) throws(AccessTokenRefusal) -> Int? {
        guard let path = plan.issuer.streamLimit else { return nil }
        guard let text = try claims.text(at: plan.streamLimit, path) else { throw .claimMissing }
        guard let limit = Int(text), limit > 0 else { throw .claimRefused }
        return limit
    }

    /// Returns the end of what the viewer is entitled to: seconds since 1970, or a time of ISO 8601.
    private static func sessionEnd(
        of claims: Claims,
        by plan: Plan,
        at now: Timestamp
    ) throws(AccessTokenRefusal) -> Timestamp? {
        guard let path = plan.issuer.sessionEnd else { return nil }
        guard let text = try claims.text(at: plan.sessionEnd, path) else { throw .claimMissing }
        let seconds = Int64(text).flatMap { 0...253_402_300_799 ~= $0 ? Timestamp(secondsSince1970: $0) : nil }
        guard let end = seconds ?? Timestamp(iso8601: text) else { throw .malformed }
        guard now < end else { throw .expired }
        return end
    }

    /// Returns the key of the token in replay stores. The signature is left out: of some algorithms, others can make a
    /// second one of it.
    private static func fingerprint(
        of claims: Claims,
        identity: Span<UInt8>,
        issuer: String
    ) throws(AccessTokenRefusal) -> SHA256Digest {
        var message: [UInt8] = []
        message.reserveCapacity(256)
        message.append("access token\0")
        message.append(contentsOf: issuer.utf8)
        if let identifier = try claims.text(.identifier), !identifier.isEmpty {
            message.append("\0jti\0")
            message.append(contentsOf: identifier.utf8)
        } else {
            message.append("\0token\0")
            message.append(copying: identity)
        }
        guard let digest = SHA256.fingerprint(message) else { throw .internalFailure }
        return digest
    }
}

extension AccessTokenRefusal {
    init(_ refusal: JOSERefusal, of token: Span<UInt8>) {
        switch refusal {
        case .tooLarge: self = .tooLarge
        case .malformed: self = token.isEncrypted ? .encrypted : .malformed
        case .algorithmRefused: self = .algorithmRefused
        case .keyUnknown: self = .keyUnknown
        case .signatureInvalid: self = .signatureInvalid
        case .claimUnsupported: self = .headerUnsupported
        case .typeRefused: self = .typeRefused
        }
    }
}

extension Span where Element == UInt8 {
    /// Returns the last index of a byte.
    fileprivate func lastIndex(of byte: UInt8) -> Int? {
        var index = count
        while index > 0 {
            index -= 1
            if self[index] == byte { return index }
        }
        return nil
    }

    /// True if this has the five parts of an encrypted token (RFC 7516 §7.1).
    fileprivate var isEncrypted: Bool {
        var count = 0
        for index in indices where self[index] == UInt8(ascii: ".") { count += 1 }
        return count == 4
    }
}
