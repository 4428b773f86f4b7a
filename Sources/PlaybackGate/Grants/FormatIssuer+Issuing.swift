// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

/// The wish for a grant of a session, whatever its format.
struct GrantOrder {
    let profile: GrantProfile
    let session: PlaybackSession
    /// The paths that the grant opens, ending in `/` and percent-encoded.
    let scope: String
    /// The path of the manifest, percent-encoded, if it is known.
    let manifest: String?
    /// The parameters of the manifest's URL beside those of the grant, without `?`; empty for none.
    var query = ""
    /// The player, for profiles that bind grants to it.
    let player: PlaybackRequest.Player?
    let now: Timestamp

    /// The query of the manifest's URL with its question mark; empty for none.
    var urlEnd: String { query.isEmpty ? "" : "?\(query)" }

    /// The expiry: the end of the life, or of the session if that is earlier.
    var expires: Timestamp {
        min(now.advanced(byMilliseconds: profile.rules.life.milliseconds), session.end)
    }
}

extension FormatIssuer {
    /// Issues a grant; `nil` if the format cannot say what is asked for, such as a path with one of its delimiters.
    func issue(_ order: GrantOrder) -> IssuedGrant? {
        switch self {
        case .uriSigning: signedURIs(at: order.now).flatMap { Self.issue(order, $0) }
        case .vendor(let issuer): Self.issue(order, issuer)
        }
    }

    /// Returns the issuer of signed URIs whose key began to sign last, or `nil` if none signs at `now`.
    func signedURIs(at now: Timestamp) -> URISigningIssuer? {
        guard case .uriSigning(let signers) = self else { return nil }
        var found: GrantAuthority.Signer<URISigningIssuer>?
        for signer in signers where signer.isUsable(at: now) {
            if found.map({ $0.start < signer.start }) ?? true { found = signer }
        }
        return found?.issuer
    }

    private static func issue(_ order: GrantOrder, _ issuer: any VendorIssuer) -> IssuedGrant? {
        let rules = order.profile.rules
        var request = SigningRequest(path: order.scope, issued: order.now, expires: order.expires)
        request.scheme = rules.isSecure ? .https : .http
        request.host = rules.host
        // A manifest outside the scope would not be opened by what is signed.
        request.file = order.manifest.flatMap { $0.utf8.starts(with: order.scope.utf8) ? $0 : nil }
        request.query = order.query
        request.session = order.session.id.hexadecimal
        if rules.binding.address != .none {
            guard let address = order.player?.address else { return nil }
            request.client = ClientNetwork(address, length: address.isIPv4 ? 24 : 56)
        }
        guard let delivery = try? issuer.issue(request) else { return nil }
        let attributes = rules.cookieAttributes
        return IssuedGrant(
            order,
            token: delivery.token,
            expires: delivery.expires,
            renewAfter: nil,
            carriers: .init(
                cookies: delivery.cookies.map { .init($0.name, $0.value, path: $0.path, attributes) },
                query: delivery.query,
                path: delivery.path,
                url: delivery.url
            )
        )
    }

    private static func issue(_ order: GrantOrder, _ issuer: URISigningIssuer) -> IssuedGrant? {
        let rules = order.profile.rules
        let scheme: RequestURI.Scheme = rules.isSecure ? .https : .http
        var claims = URISigningClaims(.scope(.init(scheme: scheme, host: rules.host, path: order.scope)))
        claims.audience = rules.audience
        claims.expires = order.expires
        claims.notBefore = order.now
        claims.issued = order.now
        claims.session = order.session
        let depth = order.scope.utf8.count { $0 == UInt8(ascii: "/") } - 1
        // Edges renew such tokens by cookie alone.
        if rules.renewal?.way == .cookie {
            claims.renewal = URISigningRenewal(.cookie, life: Int(rules.life.components.seconds), depth: depth)
        }
        return (try? issuer.issue(claims)).map { IssuedGrant(order, $0) }
    }
}

extension IssuedGrant {
    /// Creates a signed URI.
    init(_ order: GrantOrder, _ signed: IssuedSignedURI) {
        let rules = order.profile.rules
        let attribute = PackageAttribute.standard
        let path = order.manifest.map { attribute.inScope(signed.token, of: $0[...], below: order.scope) }
        let origin = rules.host.map { "\(rules.isSecure ? "https" : "http")://\($0)" }
        self.init(
            order,
            token: signed.token,
            expires: signed.expires,
            renewAfter: signed.renewalStart,
            carriers: .init(
                cookies: [.init(attribute.name, signed.token, path: order.scope, rules.cookieAttributes)],
                query: "\(attribute.name)=\(signed.token)",
                path: path,
                url: origin.flatMap { origin in path.map { origin + $0 + order.urlEnd } }
            )
        )
    }
}

extension PackageAttribute {
    /// Returns a path with a package as a parameter of the last folder of `scope`, which relative references keep.
    fileprivate func inScope(_ package: String, of path: Substring, below scope: String) -> String {
        guard scope != "/", path.utf8.starts(with: scope.utf8) else { return inPath(package, of: path) }
        let folder = path.utf8.prefix(scope.utf8.count - 1)
        return "\(Substring(folder));\(name)=\(package)\(path[folder.endIndex...])"
    }
}
