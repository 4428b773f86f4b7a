// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform
internal import ReplayStores
internal import RequestTargets

extension GrantService {
    /// Creates the session of a playback that a media token starts; `nil` if it would be over at `now`.
    ///
    /// The same token and playback id give the same session, so a repeated start is the same playback.
    ///
    /// - Parameter isLimited: True if the playback has a slot, which each of its grants must find by its tags.
    func session(
        of token: MediaToken,
        playbackID: String?,
        under rules: GrantProfile.Rules,
        isLimited: Bool,
        at now: Timestamp
    ) -> PlaybackSession? {
        // A media token is as old as its playback. One of an identity provider may be hours old.
        let start = token.terms == nil ? token.timeIssued : now
        var longest = start.advanced(byMilliseconds: rules.session.milliseconds)
        if let end = token.terms?.sessionEnd { longest = min(longest, end) }
        // Grants have whole seconds.
        let end = Timestamp(secondsSince1970: longest.millisecondsSince1970 / 1000)
        guard end > now,
            let id = subjectKey.sessionID(fingerprint: token.fingerprint, playbackID: playbackID)
        else { return nil }
        guard rules.isRevocable || isLimited else { return PlaybackSession(id: id, end: end, revocation: nil) }
        let revocation = revocability(token)
        // A grant that cannot find its slot again would be one without a limit.
        if isLimited, revocation == nil { return nil }
        return PlaybackSession(id: id, end: end, revocation: revocation)
    }

    /// Returns the facts by which the grants of a media token can be revoked; `nil` if OpenSSL fails.
    func revocability(_ token: MediaToken) -> PlaybackSession.Revocability? {
        let tags = Revocation.keys(of: token).compactMap { subjectKey.tag(storeKey: $0.key) }
        return PlaybackSession.Revocability(issued: token.timeIssued, tags: tags)
    }

    /// Issues the grants of an entry for a session: one of each profile that has a signing key and a scope.
    ///
    /// - Parameters:
    ///   - path: The requested path, percent-encoded in normal form; `nil` if a media id was requested.
    ///   - player: The player, for profiles that bind grants to it.
    func issue(
        for entry: Catalogue.Entry,
        session: (GrantProfile.Rules) -> PlaybackSession?,
        path: Substring?,
        player: PlaybackRequest.Player?,
        at now: Timestamp
    ) -> [IssuedGrant] {
        guard let terms = entry.grants else { return [] }
        let protection = entry.tag(by: subjectKey)
        return terms.profiles.compactMap { profile in
            guard profile.isIssued, let session = session(profile.rules),
                let scope = entry.scope(profile, path: path)
            else { return nil }
            return issue(
                GrantOrder(
                    profile: profile,
                    session: session,
                    protection: protection,
                    scope: scope,
                    manifest: terms.manifest ?? path.map { String($0) },
                    query: terms.query,
                    player: player,
                    now: now,
                    isCounted: profile.rules.countsRenewals
                )
            )
        }
    }

    /// Issues a grant; `nil` if its key does not sign now, a fact about the player is not known, or the format cannot express it.
    func issue(_ order: GrantOrder) -> IssuedGrant? {
        let grant = make(order)
        if grant == nil { metrics?.countNotIssued(order.profile) } else { metrics?.countIssued(order.profile) }
        return grant
    }

    /// Makes a grant that nobody has yet.
    func make(_ order: GrantOrder) -> IssuedGrant? {
        switch order.profile.format {
        case .cat: issueCAT(order)
        case .uriSigning, .vendor: formats[order.profile.name]?.issue(order)
        }
    }

    private func issueCAT(_ order: GrantOrder) -> IssuedGrant? {
        let (profile, session) = (order.profile, order.session)
        guard let signer = signer(profile, at: order.now),
            let bound = BoundClaims(profile.rules.binding, for: order.player)
        else { return nil }
        var claims = CATClaims(
            profile: profile,
            session: session,
            bound: bound,
            scope: order.scope,
            expires: order.expires,
            at: order.now
        )
        claims.protection = order.protection
        claims.profile = profile.name
        if order.isCounted { claims.renewals = .first() }
        guard let token = try? signer.issue(claims), let expires = token.expires else { return nil }
        return IssuedGrant(
            profile: profile,
            token: token,
            expires: expires,
            session: session,
            scope: order.scope,
            manifest: order.manifest,
            urlEnd: order.urlEnd
        )
    }
}

extension CATClaims {
    fileprivate init(
        profile: GrantProfile,
        session: PlaybackSession,
        bound: BoundClaims,
        scope: String,
        expires: Timestamp,
        at now: Timestamp
    ) {
        self.init()
        let rules = profile.rules
        issuer = profile.issuer
        audience = rules.audience
        self.expires = expires
        notBefore = now
        issued = now
        methods = rules.methods
        let path = URIRule(.path, match: scope.utf8.last == UInt8(ascii: "/") ? .prefix(scope) : .exact(scope))
        uri = profile.hostRule.map { [$0, path] } ?? [path]
        networks = bound.networks
        headers = bound.headers
        self.session = session
        guard let renewal = rules.renewal else { return }
        var terms = CATRenewal(
            CATRenewal.Delivery(renewal.way),
            life: Int(rules.life.components.seconds),
            deadline: Int(renewal.deadline.components.seconds)
        )
        if renewal.way != .header {
            terms.cookieName = rules.cookie.name == CATRenewal.standardName ? nil : rules.cookie.name
            terms.cookieAttributes = ["Path=\(scope)"] + profile.cookieAttributes
        }
        self.renewal = terms
    }
}

extension CATRenewal.Delivery {
    fileprivate init(_ way: GrantProfile.Renewal.Way) {
        switch way {
        case .automatic: self = .automatic
        case .cookie: self = .cookie
        case .header: self = .header
        // Only for signed URIs.
        case .query: self = .cookie
        }
    }
}

extension Catalogue.Entry {
    /// The paths that a grant for a playback of this entry opens, percent-encoded: a folder that ends in `/`, or a
    /// file. `nil` if that is not known, or is every path without the configuration's permission.
    ///
    /// - Parameters:
    ///   - profile: The profile of the grant.
    ///   - path: The requested path, percent-encoded in normal form; `nil` if a media id was requested.
    package func scope(_ profile: GrantProfile, path: Substring?) -> String? {
        if case .prefix(let scope) = profile.rules.scope { return scope }
        if let scope = grants?.scope { return scope }
        if let folder = key.pattern?.folder { return folder == "/" ? nil : folder }
        let manifest = grants?.manifest
        let file = if case .media = key { manifest ?? path.map { String($0) } } else { path.map { String($0) } }
        guard let file, let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let folder = String(file[...slash])
        // A folder has the items of others. At gates, that is no matter: a grant opens what it was given for.
        if grants?.isOfFiles ?? false, profile.isCheckedByOthers || folder == "/" { return file }
        return folder == "/" ? nil : folder
    }
}

extension PathPattern {
    /// The folder that the pattern covers with everything below it, percent-encoded; `nil` for a path or a glob.
    fileprivate var folder: String? {
        guard case .folder = form else { return nil }
        return encodedPath
    }

    /// The pattern as a path, percent-encoded.
    package var encodedPath: String {
        // A pattern is written in plain characters, so a `%` or `?` in it stands for itself.
        RequestURI(text.escapingPath[...])?.path.description ?? text
    }
}

extension String {
    fileprivate var escapingPath: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "%"): bytes += "%25".utf8
            case UInt8(ascii: "?"): bytes += "%3F".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
