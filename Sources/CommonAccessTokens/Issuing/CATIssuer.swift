// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import Keys
internal import RequestTargets

/// An issuer of Common Access Tokens with one key.
///
/// Tokens are issued in deterministic CBOR: the same claims give the same payload.
public struct CATIssuer: Sendable {
    /// The key.
    public let key: TokenKey
    /// The form of the envelope.
    public var form = COSEForm()
    /// The labels of claims that differ from those of the registry.
    public var labels = CATLabels.registered

    /// Creates an issuer.
    ///
    /// - Parameter key: A key for signing tokens of the format `cat`.
    /// - Throws: ``CATIssueError/key`` if the key is not one.
    public init(key: TokenKey) throws(CATIssueError) {
        guard key.format == .cat, key.operations.contains(.sign) else { throw .key }
        self.key = key
    }

    /// Issues a token. An `issuer` or `identifier` that the claims lack is added: that of the key, and 16 random bytes.
    ///
    /// - Throws: ``CATIssueError``.
    public func issue(_ claims: CATClaims) throws(CATIssueError) -> IssuedCAT {
        var claims = claims
        claims.issuer = claims.issuer ?? key.issuer
        guard claims.issuer == key.issuer else { throw .issuer }
        if claims.identifier.isEmpty { claims.identifier = try Self.randomIdentifier() }
        if let fault = claims.fault { throw fault }
        guard let payload = claims.payload(labels) else { throw .claims }
        // The token has whole seconds.
        let expires = claims.expires.map { Timestamp(secondsSince1970: $0.seconds) }
        return IssuedCAT(
            token: try sign(payload),
            expires: expires,
            renewalStart: claims.renewal.flatMap { renewal in expires.map { renewal.start(end: $0) } },
            identifier: claims.identifier,
            session: claims.session
        )
    }

    /// Returns 16 random bytes for `cti`.
    public static func randomIdentifier() throws(CATIssueError) -> [UInt8] {
        do { return try RandomBytes.make(16) } catch { throw .random }
    }

    package func sign(_ payload: [UInt8]) throws(CATIssueError) -> String {
        let envelope: [UInt8]
        do { envelope = try key.signCOSE(payload, form: form) } catch { throw .key }
        guard envelope.count <= COSEText.maximumBytes else { throw .size }
        return COSEText.encode(envelope)
    }
}

/// A token that was issued.
public struct IssuedCAT: Hashable, Sendable {
    /// The text of the token: the URL-safe Base64 of its bytes, without padding.
    public let token: String
    /// The time from which on the token is expired, if it expires.
    public let expires: Timestamp?
    /// The time from which on the token is renewed; `nil` if it is not renewable.
    public let renewalStart: Timestamp?
    /// The identity of the token among those of its issuer.
    public let identifier: [UInt8]
    /// The playback session, if the token has one.
    public let session: PlaybackSession?
}

/// The reason why a token is not issued.
@nonexhaustive
public enum CATIssueError: String, Error, Sendable, CaseIterable {
    /// The key is for another format, or does not sign.
    case key = "grant_key_unusable"
    /// The issuer is not that of the key.
    case issuer = "grant_issuer_mismatch"
    /// No random bytes can be had.
    case random = "grant_random_unavailable"
    /// The claims contradict each other, or cannot be written.
    case claims = "grant_claims_invalid"
    /// A prefix that is empty, or a path that is not in normal form or does not end in `/`.
    case scope = "grant_scope_invalid"
    /// A network or location that identifies the viewer.
    case precision = "grant_claims_too_precise"
    /// The token would have more than 4,096 bytes.
    case size = "grant_too_large"
    /// The token is not renewable, or its session has ended.
    case notRenewable = "grant_not_renewable"
}

extension CATClaims {
    /// A fault that a verifier would refuse, or that opens more than was meant.
    fileprivate var fault: CATIssueError? {
        for rule in uri {
            switch rule.match {
            case .prefix(let text) where rule.component == .path:
                // Without the last slash, `/a` opens `/ab`.
                guard text.utf8.last == UInt8(ascii: "/"), RequestURI(text[...])?.path == text[...] else {
                    return .scope
                }
            case .prefix(let text), .suffix(let text), .contains(let text), .pattern(let text):
                guard !text.isEmpty else { return .scope }
            case .sha256(let digest), .sha512t256(let digest): guard digest.count == 32 else { return .claims }
            case .exact: continue
            }
        }
        guard identifier.count <= 64, audience.count <= 64, methods.count <= 50, networks.count <= 64 else {
            return .claims
        }
        guard confirmation.isEmpty || confirmation.count == 32 else { return .claims }
        if let end = session?.end, let expires { guard expires <= end else { return .claims } }
        for network in networks where network.isTooPrecise { return .precision }
        for geohash in geohashes where !(1...4 ~= geohash.utf8.count) { return .precision }
        return nil
    }
}

extension CATClaims.Network {
    /// True if a prefix identifies a viewer: anyone with the token can read it.
    fileprivate var isTooPrecise: Bool {
        guard case .prefix(let address, let length) = self else { return false }
        return !(0...(address.isIPv4 ? 24 : 56) ~= length)
    }
}

extension CATRenewal {
    /// Returns the time from which on a token that expires at `end` is renewed.
    fileprivate func start(end: Timestamp) -> Timestamp {
        let times = RenewalTimes(life: Int64(life) * 1000, deadline: deadline.map { Int64($0) * 1000 })
        return Timestamp(millisecondsSince1970: times.start(end: end.millisecondsSince1970))
    }
}

extension CATIssuer {
    /// Renews a token that was allowed, and for which a renewal is due: the same claims with a new life and identity.
    ///
    /// The new life ends with the session. A token of another installation that has no session gets one of the longest
    /// length that its issuer's configuration allows.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - now: The time of the request.
    ///   - identifier: The identity of the new token; 16 random bytes by default.
    ///   - renewals: The count of the new token, if those of the token are counted; by default the next one.
    /// - Throws: ``CATIssueError/notRenewable``, or another ``CATIssueError`` if it cannot be signed.
    public func renew(
        _ grant: CATGrant,
        at now: Timestamp,
        identifier: [UInt8]? = nil,
        renewals: RenewalCount? = nil
    ) throws(CATIssueError) -> IssuedCAT {
        guard key.issuer == grant.issuer.name else { throw .issuer }
        guard case .valid(let times) = grant.claims.renewal, let expires = grant.expires, now < expires else {
            throw .notRenewable
        }
        var session = grant.claims.sessionEnd.map { Int64($0) }
        if session == nil, let longest = grant.issuer.maximumSession {
            session = now.seconds + longest.components.seconds
        }
        guard let session, session * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        let (sum, overflow) = now.millisecondsSince1970.addingReportingOverflow(times.life)
        let end = min(overflow ? session : sum / 1000, session)
        // A life that ends before the present one renews nothing.
        guard end * 1000 > expires.millisecondsSince1970 else { throw .notRenewable }
        let renewalStart = Timestamp(millisecondsSince1970: times.start(end: end * 1000))
        return try copy(
            grant,
            until: end,
            of: session,
            identifier: identifier,
            renewalStart: renewalStart,
            renewals: grant.renewals.map { renewals ?? $0.next },
            at: now
        )
    }

    /// Issues a token beside one that was allowed: the same claims with another end and identity. An example is a token
    /// for the references of a manifest. A token that is not renewable can be copied too.
    /// A copy of a token whose renewals are counted is not renewed: it is one of many at a time.
    ///
    /// - Parameters:
    ///   - grant: The token.
    ///   - end: The end of the new token. It is moved to the session's end if it is later.
    ///   - now: The time of the request.
    ///   - identifier: The identity of the new token; 16 random bytes by default.
    /// - Throws: ``CATIssueError/notRenewable`` if the token has no session, or would be expired; another ``CATIssueError`` if it
    ///   cannot be signed.
    public func copy(
        _ grant: CATGrant,
        until end: Timestamp,
        at now: Timestamp,
        identifier: [UInt8]? = nil
    ) throws(CATIssueError) -> IssuedCAT {
        guard key.issuer == grant.issuer.name else { throw .issuer }
        guard let session = grant.claims.sessionEnd.map({ Int64($0) }) else { throw .notRenewable }
        let seconds = min(end.seconds, session)
        guard seconds * 1000 > now.millisecondsSince1970 else { throw .notRenewable }
        var renewalStart: Timestamp?
        if grant.renewals == nil, case .valid(let times) = grant.claims.renewal {
            renewalStart = Timestamp(millisecondsSince1970: times.start(end: seconds * 1000))
        }
        return try copy(grant, until: seconds, of: session, identifier: identifier, renewalStart: renewalStart, at: now)
    }

    /// Signs the claims of a token with another end and identity, in seconds.
    private func copy(
        _ grant: CATGrant,
        until end: Int64,
        of session: Int64,
        identifier: [UInt8]?,
        renewalStart: Timestamp?,
        renewals: RenewalCount? = nil,
        at now: Timestamp
    ) throws(CATIssueError) -> IssuedCAT {
        var fresh = identifier ?? []
        if fresh.isEmpty { fresh = try Self.randomIdentifier() }
        let changes = Renewed(
            expires: end,
            issued: now.seconds,
            identifier: fresh,
            sessionEnd: session,
            renewals: renewals,
            isRenewable: renewals != nil || grant.renewals == nil
        )
        guard let payload = changes.payload(of: grant) else { throw .claims }
        return IssuedCAT(
            token: try sign(payload),
            expires: Timestamp(secondsSince1970: end),
            renewalStart: renewalStart,
            identifier: fresh,
            session: grant.session
        )
    }

    /// The claims that a renewal changes.
    private struct Renewed {
        let expires: Int64
        let issued: Int64
        let identifier: [UInt8]
        let sessionEnd: Int64
        let renewals: RenewalCount?
        let isRenewable: Bool

        /// Returns the payload of `grant` with the changes, all other claims as they were encoded; `nil` if it has claims
        /// that cannot be copied.
        func payload(of grant: CATGrant) -> [UInt8]? {
            let labels = grant.issuer.labels
            let source = grant.payload
            var entries: [(key: CBORHead, value: Range<Int>)] = []
            do throws(ClaimFault) {
                var reader = ClaimReader(source.span)
                for _ in 0..<(try reader.map(0...256)) {
                    let key = try reader.next()
                    let start = reader.position
                    try reader.skip()
                    entries.append((key, start..<reader.position))
                }
            } catch {
                return nil
            }
            var writer = CBORWriter(capacity: grant.payload.count + 64)
            writer.map { map in
                for (key, value) in entries {
                    let copy: (inout CBORWriter) -> Void = {
                        $0.write(encoded: source.span.extracting(value))
                    }
                    switch key {
                    case .text(let range): map.entry(String(copying: source.span.extracting(range)), value: copy)
                    default:
                        guard let label = key.integer, !isChanged(labels.claim(label)) else { continue }
                        map.entry(label, value: copy)
                    }
                }
                map.entry(labels.label(.expiration).rawValue) { $0.write(expires) }
                map.entry(labels.label(.issuedAt).rawValue) { $0.write(issued) }
                map.entry(labels.label(.identifier).rawValue) { $0.write(identifier) }
                map.entry(labels.label(.sessionEnd).rawValue) { $0.write(sessionEnd) }
                if let renewals { map.entry(labels.label(.generation).rawValue) { $0.write(renewals.code) } }
            }
            return try? writer.finish()
        }

        private func isChanged(_ claim: CATClaim?) -> Bool {
            switch claim {
            case .expiration, .issuedAt, .identifier, .sessionEnd, .generation: true
            case .renewal: !isRenewable
            default: false
            }
        }
    }
}
