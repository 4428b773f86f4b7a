// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// A verifier of Common Access Tokens (CTA-5007): every restriction is evaluated, or the token is refused by its name.
///
/// A check has two halves. ``authenticate(_:at:)`` decodes the token and checks its signature, and its answer may be cached
/// under the bytes of the token. ``judge(_:presentedAs:for:at:)`` evaluates the restrictions for one request, on every call, and
/// allocates nothing for the usual ones. What only stores can answer comes back as ``GrantObligations``.
///
/// ```swift
/// let verifier = CATVerifier(keys: keys, issuers: [AcceptedIssuer("playgate")], policy: CATPolicy())
/// switch verifier.verify(token.utf8.span, facts, at: .now()) {
/// case .allowed(let obligations): return answer(obligations)
/// case .refused(let refusal): return refuse(refusal.code)
/// }
/// ```
public struct CATVerifier: Sendable {
    package let settings: Settings

    /// All that is the same on every call.
    package final class Settings: Sendable {
        package let keys: KeySet
        package let profiles: [Profile]
        package let policy: CATPolicy
        /// True if two issuers may have the same key, so that a signature does not determine the issuer.
        package let hasSharedKeys: Bool

        package init(keys: KeySet, profiles: [Profile], policy: CATPolicy) {
            hasSharedKeys = keys.sharesIdentifiers
            self.keys = keys
            self.profiles = profiles
            self.policy = policy
        }
    }

    /// An accepted issuer, held by reference so that no call copies it.
    package final class Profile: Sendable {
        package let issuer: AcceptedIssuer

        package init(_ issuer: AcceptedIssuer) { self.issuer = issuer }
    }

    /// The largest token, in characters.
    public static let maximumSize = COSEText.maximumCharacters

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys, each bound to an issuer.
    ///   - issuers: The accepted issuers. A token by a key of any other is refused.
    ///   - policy: The own names, and the means of the caller.
    public init(keys: KeySet, issuers: [AcceptedIssuer], policy: CATPolicy) {
        settings = Settings(keys: keys, profiles: issuers.map { Profile($0) }, policy: policy)
    }

    /// The keys.
    public var keys: KeySet { settings.keys }
    /// The accepted issuers.
    public var issuers: [AcceptedIssuer] { settings.profiles.map(\.issuer) }
    /// The own names, and the means of the caller.
    public var policy: CATPolicy { settings.policy }

    // MARK: Checks

    /// The outcome of decoding a token and checking its signature.
    public enum Authentication: Sendable {
        /// The token is authentic. It allows nothing yet.
        case authentic(CATGrant)
        /// The token is refused for any request.
        case refused(GrantRefusal)
    }

    /// Decodes a token and checks its signature, types and limits, issuer and version: steps 1 to 9 of a check.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - now: The time of receipt.
    public func authenticate(_ token: Span<UInt8>, at now: Timestamp) -> Authentication {
        do throws(CATFault) {
            let grant = try open(token, at: now) { opened, payload in
                CATGrant(opened, payload: [UInt8](copying: payload))
            }
            return .authentic(grant)
        } catch {
            return .refused(error.refusal)
        }
    }

    /// Evaluates the restrictions of an authentic token for a request.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - token: The token as presented, which a proof of possession is bound to.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func judge(
        _ grant: CATGrant,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts,
        at now: Timestamp
    ) -> GrantVerdict {
        guard grant.key.isValid(at: now) else { return .refused(GrantRefusal(.keyUnknown)) }
        let payload = grant.payload
        let context = CATContext(
            payload: payload.span,
            patterns: grant.patterns,
            profile: grant.profile,
            settings: settings,
            now: now.millisecondsSince1970
        )
        return grant.claims.verdict(in: context, presentedAs: token, for: facts)
    }

    /// Checks a token for a request: authenticates and judges it, and stores nothing.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func verify(_ token: Span<UInt8>, for facts: RequestFacts, at now: Timestamp) -> GrantVerdict {
        do throws(CATFault) {
            return try open(token, at: now) { opened, payload in
                let context = CATContext(
                    payload: payload,
                    patterns: opened.patterns,
                    profile: opened.profile,
                    settings: settings,
                    now: now.millisecondsSince1970
                )
                return opened.claims.verdict(in: context, presentedAs: token, for: facts)
            }
        } catch {
            return .refused(error.refusal)
        }
    }
}

/// A refusal on the way to the claims.
package struct CATFault: Error {
    package let refusal: GrantRefusal

    init(_ code: GrantCode, claim: ClaimLabel? = nil) {
        refusal = GrantRefusal(code, detail: claim.map { .claim($0) })
    }
}

/// A token whose signature and types were checked, without its bytes.
package struct OpenedToken {
    package let key: TokenKey
    package let profile: CATVerifier.Profile
    package let claims: ClaimSet
    package let patterns: [LocatedPattern]
}

extension CATVerifier {
    /// Opens a token, and calls `body` with it and its payload.
    package func open<Outcome>(
        _ token: Span<UInt8>,
        at now: Timestamp,
        body: (OpenedToken, Span<UInt8>) -> Outcome
    ) throws(CATFault) -> Outcome {
        // Usual tokens have 250 bytes; clearing room for the largest is slower than decoding them.
        guard token.count <= 1024 else {
            var buffer: [4128 of UInt8] = .init(repeating: 0)
            var output = buffer.mutableSpan
            return try open(token, into: &output, at: now, body: body)
        }
        var buffer: [800 of UInt8] = .init(repeating: 0)
        var output = buffer.mutableSpan
        return try open(token, into: &output, at: now, body: body)
    }

    private func open<Outcome>(
        _ token: Span<UInt8>,
        into output: inout MutableSpan<UInt8>,
        at now: Timestamp,
        body: (OpenedToken, Span<UInt8>) -> Outcome
    ) throws(CATFault) -> Outcome {
        let count: Int
        switch COSEText.decode(token, into: &output) {
        case .success(let decoded): count = decoded
        case .failure(let refusal): throw CATFault(GrantCode(refusal))
        }
        let bytes = output.span.extracting(first: count)
        switch settings.keys.verify(cose: bytes, format: .cat, at: now) {
        case .verified(let key, let range):
            let payload = bytes.extracting(range)
            return body(try read(payload, by: signer(of: token, bytes: bytes, by: key, at: now)), payload)
        case .refused(let refusal): throw CATFault(GrantCode(refusal))
        }
    }

    /// Returns the key that made the code or signature; of several issuers with the same key, that of the token's
    /// issuer.
    private func signer(of token: Span<UInt8>, bytes: Span<UInt8>, by key: TokenKey, at now: Timestamp) -> TokenKey {
        guard settings.hasSharedKeys, let name = try? UnverifiedCAT(token).issuer, !name.hasSameBytes(as: key.issuer),
            case .verified(let other, _) = settings.keys.verify(cose: bytes, format: .cat, at: now, issuer: name)
        else { return key }
        return other
    }

    /// Reads a payload, and makes the checks that do not depend on the request.
    private func read(_ payload: Span<UInt8>, by key: TokenKey) throws(CATFault) -> OpenedToken {
        guard let profile = settings.profiles.first(where: { $0.issuer.name == key.issuer }) else {
            throw CATFault(.issuerRefused, claim: .issuer)
        }
        let (claims, patterns) = try read(payload, of: profile)
        return OpenedToken(key: key, profile: profile, claims: claims, patterns: patterns)
    }

    /// Reads a payload of an issuer's token, and makes the checks that do not depend on the request.
    package func read(
        _ payload: Span<UInt8>,
        of profile: Profile
    ) throws(CATFault) -> (claims: ClaimSet, patterns: [LocatedPattern]) {
        let issuer = profile.issuer
        var reader = ClaimReader(payload)
        let claims: ClaimSet
        do throws(ClaimSet.Fault) {
            claims = try ClaimSet(from: &reader, issuer.options)
        } catch {
            throw CATFault(error.fault.code, claim: error.claim.map { issuer.labels.meaning(of: $0) })
        }
        do throws(ClaimFault) { try reader.finish() } catch { throw CATFault(error.code) }
        if let range = claims[.issuer] {
            var walker = ItemWalker(payload, at: range)
            let isSame = payload.extracting(walker.string()).hasSameBytes(as: issuer.nameBytes.span)
            guard isSame else { throw CATFault(.issuerRefused, claim: .issuer) }
        } else if !issuer.isNameOptional {
            throw CATFault(.issuerRefused, claim: .issuer)
        }
        guard claims.version == 1 else { throw CATFault(.versionUnsupported, claim: .version) }
        if let unsupported = claims.unsupported {
            throw CATFault(.claimUnsupported, claim: issuer.labels.meaning(of: unsupported))
        }
        if case .malformed = claims.renewal, issuer.isOwn { throw CATFault(.renewalInvalid, claim: .renewal) }
        guard claims.expires != nil || !issuer.requiresExpiration else {
            throw CATFault(.malformed, claim: .expiration)
        }
        return (claims, try compile(reader.patterns.ranges, count: reader.patterns.count, in: payload, of: claims))
    }

    private func compile(
        _ ranges: [4 of Range<Int>],
        count: Int,
        in payload: Span<UInt8>,
        of claims: ClaimSet
    ) throws(CATFault) -> [LocatedPattern] {
        var patterns: [LocatedPattern] = []
        for index in 0..<count {
            let range = ranges[index]
            do throws(Pattern.Fault) {
                patterns.append(
                    LocatedPattern(start: range.lowerBound, pattern: try Pattern(payload.extracting(range)))
                )
            } catch {
                let isInHeaders = claims[.headers].map { $0.contains(range.lowerBound) } ?? false
                throw CATFault(ClaimFault(error).code, claim: isInHeaders ? .headers : .uri)
            }
        }
        return patterns
    }
}

extension GrantCode {
    /// The code of a refused envelope.
    package init(_ refusal: COSERefusal) {
        switch refusal {
        case .tooLarge: self = .tooLarge
        case .malformed: self = .malformed
        case .algorithmRefused: self = .algorithmRefused
        case .keyUnknown: self = .keyUnknown
        case .signatureInvalid: self = .signatureInvalid
        case .claimUnsupported: self = .claimUnsupported
        }
    }
}
