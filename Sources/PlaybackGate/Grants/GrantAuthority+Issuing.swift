// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform

extension GrantAuthority {
    /// Creates the session of a playback that a media token starts; `nil` if it would be over at `now`.
    ///
    /// The same token and playback id give the same session, so a repeated start is the same playback.
    func session(
        _ token: MediaToken,
        playbackID: String?,
        _ rules: GrantProfile.Rules,
        at now: Timestamp
    ) -> PlaybackSession? {
        let end = token.timeIssued.advanced(byMilliseconds: rules.session.milliseconds)
        guard end.millisecondsSince1970 / 1000 * 1000 > now.millisecondsSince1970,
            let id = subjectKey.sessionID(fingerprint: token.fingerprint, playbackID: playbackID)
        else { return nil }
        let tags = Revocation.keys(of: token).compactMap { subjectKey.tag(storeKey: $0.key) }
        let revocation =
            rules.isRevocable
            ? PlaybackSession.Revocability(issued: token.timeIssued, tags: tags) : nil
        return PlaybackSession(id: id, end: end, revocation: revocation)
    }

    /// Issues the grants of an entry for a session: one of each profile that has a signing key and a scope.
    ///
    /// - Parameters:
    ///   - path: The requested path, percent-encoded in normal form; `nil` if a media id was requested.
    ///   - player: The player, for profiles that bind grants to it.
    func issue(
        _ entry: Catalogue.Entry,
        _ session: (GrantProfile.Rules) -> PlaybackSession?,
        path: Substring?,
        player: PlaybackRequest.Player?,
        at now: Timestamp
    ) -> [IssuedGrant] {
        guard let terms = entry.grants else { return [] }
        return terms.profiles.compactMap { profile in
            guard profile.isIssued, let session = session(profile.rules),
                let scope = entry.scope(profile, path: path)
            else { return nil }
            return issue(
                GrantOrder(
                    profile: profile,
                    session: session,
                    scope: scope,
                    manifest: terms.manifest ?? path.map { String($0) },
                    query: terms.query,
                    player: player,
                    now: now
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
            let bound = BoundClaims(profile.rules.binding, order.player)
        else { return nil }
        let claims = CATClaims(profile, session, bound, scope: order.scope, expires: order.expires, at: order.now)
        guard let token = try? signer.issue(claims), let expires = token.expires else { return nil }
        return IssuedGrant(
            profile,
            token,
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
        _ profile: GrantProfile,
        _ session: PlaybackSession,
        _ bound: BoundClaims,
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
        let path = URIRule(.path, .prefix(scope))
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
        // For signed URIs alone.
        case .query: self = .cookie
        }
    }
}

extension Catalogue.Entry {
    /// The paths that a grant for a playback of this entry opens, ending in `/` and percent-encoded; `nil` if the entry is a
    /// media id without a scope.
    func scope(_ profile: GrantProfile, path: Substring?) -> String? {
        if case .prefix(let scope) = profile.rules.scope { return scope }
        if let scope = grants?.scope { return scope }
        if let folder = key.pattern?.folder { return folder }
        guard let path, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(path[...slash])
    }
}

extension PathPattern {
    /// The folder that the pattern covers with everything below it, percent-encoded; `nil` for a path or a glob.
    fileprivate var folder: String? {
        guard case .folder = form else { return nil }
        // A pattern is written in plain characters, so a percent sign in it stands for itself.
        return RequestURI(text.replacingPercentSigns[...])?.path.description
    }
}

extension String {
    fileprivate var replacingPercentSigns: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            if byte == UInt8(ascii: "%") { bytes += "%25".utf8 } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
