// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
internal import Keys
public import RequestTargets

extension URISigningIssuer {
    /// Renews a token that was allowed, and for which a renewal is due. The issuer is this one, and the life is new.
    /// The identity is new too if the token has one. All other claims are copied unchanged.
    ///
    /// The new life ends with the session. A token without one gets one of the longest length that its issuer's configuration
    /// allows.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - now: The time of the request.
    ///   - identifier: The identity of the new token, if the old one has one; random by default.
    /// - Throws: ``URISigningIssueError/notRenewable``, or another ``URISigningIssueError`` if it cannot be signed.
    public func renew(
        _ grant: URISigningGrant,
        at now: Timestamp,
        identifier: String? = nil
    ) throws(URISigningIssueError) -> IssuedSignedURI {
        guard let renewal = grant.renewal, let expires = grant.expires, now < expires else { throw .notRenewable }
        var session = grant.claims.sessionEnd
        if session == nil, let longest = grant.issuer.maximumSession {
            session = now.seconds + min(max(longest.components.seconds, 0), 1 << 40)
        }
        guard let session, session * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        let (sum, overflow) = now.seconds.addingReportingOverflow(Int64(renewal.life))
        let end = overflow ? session : min(sum, session)
        // A life that ends before the present one renews nothing.
        guard end * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        var changes = SignedClaimChanges()
        changes.set(.issuer, to: .string(key.issuer))
        changes.set(.expiration, to: .number(end))
        changes.set(.issuedAt, to: .number(now.seconds))
        var fresh: String?
        if grant.identifier != nil {
            var new = identifier ?? ""
            if new.isEmpty { new = try Self.randomIdentifier() }
            changes.set(.identifier, to: .string(new))
            fresh = new
        }
        if grant.claims.sessionEnd == nil { changes.set(.sessionEnd, to: .number(session)) }
        guard let payload = changes.payload(of: grant.payload) else { throw .claims }
        let newEnd = Timestamp(secondsSince1970: end)
        return IssuedSignedURI(
            token: try sign(payload),
            expires: newEnd,
            renewalStart: grant.renewalStart.map { start in
                newEnd.advanced(byMilliseconds: start.millisecondsSince1970 - expires.millisecondsSince1970)
            },
            identifier: fresh,
            session: grant.session
        )
    }

    /// Issues the token of a redirect to a URI of another content delivery network, as
    /// ``redirect(_:from:to:scheme:audience:protection:profile:at:)`` does. If the token opens a folder that has the
    /// URI's path, the new one opens the same folder there. Otherwise the new one opens only the URI.
    ///
    /// - Parameters:
    ///   - grant: The token, which allowed the request.
    ///   - uri: The URI of the request.
    ///   - target: The URI at the other network, with scheme and host.
    ///   - limit: The paths that a token of the other network may open, percent-encoded; `nil` for those of the token.
    ///   - audience: The recipients of the new token.
    ///   - protection: The tag of the request's resource, for the gates of this installation; `nil` for none.
    ///   - profile: The name of the new token's profile, 1 to 32 bytes; `nil` for none.
    ///   - now: The time of the request.
    /// - Throws: ``URISigningIssueError``.
    public func redirect(
        _ grant: URISigningGrant,
        from uri: RequestURI,
        to target: RequestURI,
        within limit: String? = nil,
        audience: [String] = [],
        protection: ProtectionTag? = nil,
        profile: String? = nil,
        at now: Timestamp
    ) throws(URISigningIssueError) -> String {
        guard let scheme = target.scheme, let host = target.authorityText else { throw .scope }
        var container = URISigningClaims.Container.hash(target)
        if let folder = grant.scope?.path, target.path.utf8.starts(with: folder.utf8),
            let path = folder.narrowed(to: limit), target.path.utf8.starts(with: path.utf8)
        {
            container = .scope(.init(scheme: scheme, host: host, path: path))
        }
        return try redirect(
            grant,
            from: uri,
            to: container,
            scheme: scheme,
            audience: audience,
            protection: protection,
            profile: profile,
            at: now
        )
    }

    /// Issues the token of a redirect to another content delivery network (RFC 9246 §2.1). Subject, times, identity,
    /// address and renewal are those of the token. So is the session, if the new token has a tag of this installation.
    /// Issuer, time of issue and URIs are new. Other claims are not copied.
    ///
    /// - Parameters:
    ///   - grant: The token, which allowed the request.
    ///   - uri: The URI of the request.
    ///   - container: The URIs of the other network that the new token opens.
    ///   - scheme: The scheme of those URIs, which is not http if the request's is https.
    ///   - audience: The recipients of the new token.
    ///   - protection: The tag of the request's resource, for the gates of this installation; `nil` for none.
    ///   - profile: The name of the new token's profile, 1 to 32 bytes; `nil` for none.
    ///   - now: The time of the request.
    /// - Throws: ``URISigningIssueError``.
    public func redirect(
        _ grant: URISigningGrant,
        from uri: RequestURI,
        to container: URISigningClaims.Container,
        scheme: RequestURI.Scheme,
        audience: [String] = [],
        protection: ProtectionTag? = nil,
        profile: String? = nil,
        at now: Timestamp
    ) throws(URISigningIssueError) -> String {
        guard scheme == .https || uri.scheme == .http else { throw .downgrade }
        guard container.isOf(scheme), let text = container.text else { throw .scope }
        var kept: Set<URISigningClaim> = [
            .subject, .expiration, .notBefore, .identifier, .version, .address, .life, .transport, .depth,
        ]
        // What another issuer writes there is not of this installation, and no other needs them.
        if grant.issuer.isOwn, protection != nil { kept.formUnion([.session, .sessionEnd, .revocation]) }
        var changes = SignedClaimChanges(keeping: kept)
        if let protection { changes.set(.protection, to: .string(Base64.encodeURLSafe(protection.bytes))) }
        if let profile { changes.set(.profile, to: .string(profile)) }
        changes.set(.issuer, to: .string(key.issuer))
        changes.set(.issuedAt, to: .number(now.seconds))
        changes.set(.container, to: .string(text))
        if let first = audience.first {
            changes.set(.audience, to: audience.count == 1 ? .string(first) : .strings(audience))
        }
        guard let payload = changes.payload(of: grant.payload) else { throw .claims }
        return try sign(payload)
    }
}

extension String {
    /// Returns the smaller one of two folders, one of which is in the other; `nil` if there is none.
    fileprivate func narrowed(to limit: String?) -> String? {
        guard let limit, !utf8.starts(with: limit.utf8) else { return self }
        return limit.utf8.starts(with: utf8) && limit.utf8.last == UInt8(ascii: "/") ? limit : nil
    }
}

extension URISigningClaims.Container {
    /// False if the container opens URIs of another scheme. For a pattern, the caller must know its scope.
    fileprivate func isOf(_ scheme: RequestURI.Scheme) -> Bool {
        switch self {
        case .hash(let uri, _): uri.scheme == scheme
        case .scope(let scope): scope.scheme == scheme
        case .pattern(let pattern): pattern.utf8.starts(with: "^\(scheme.rawValue)://".utf8)
        }
    }
}

/// Changes of the claims of a payload, whose other claims are copied as they are written.
private struct SignedClaimChanges {
    private var values: [(claim: URISigningClaim, value: JSON)] = []
    /// The claims that are copied; `nil` for all.
    private let kept: Set<URISigningClaim>?

    init(keeping kept: Set<URISigningClaim>? = nil) { self.kept = kept }

    mutating func set(_ claim: URISigningClaim, to value: JSON) { values.append((claim, value)) }

    /// Returns the payload with the changed claims in their positions, and new claims at its end; `nil` if it cannot be
    /// read.
    func payload(of source: [UInt8]) -> String? {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        var written: Set<URISigningClaim> = []
        func open(_ name: String) {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            JSON.write(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
        }
        do throws(JSONFault) {
            var reader = JSONMemberReader(source.span, limits: SignedClaims.limits)
            while let member = try reader.next() {
                let name = try reader.name(member)
                let claim = URISigningClaim(rawValue: name)
                if let change = values.first(where: { $0.claim == claim }) {
                    open(name)
                    change.value.write(to: &bytes)
                    written.insert(change.claim)
                } else if kept.map({ kept in claim.map { kept.contains($0) } ?? false }) ?? true {
                    open(name)
                    bytes.append(copying: source.span.extracting(member.value))
                }
            }
        } catch {
            return nil
        }
        for (claim, value) in values where !written.contains(claim) {
            open(claim.rawValue)
            value.write(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return String(validating: bytes, as: UTF8.self)
    }
}
