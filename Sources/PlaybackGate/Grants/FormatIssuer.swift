// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings
internal import Keys
internal import Platform
internal import RequestTargets
internal import URISigning
package import VendorTokens

/// The order of a grant for a session, in any format.
struct GrantOrder {
    let profile: GrantProfile
    let session: PlaybackSession
    /// The tag of the resource of the grant; `nil` for a grant that no gate of this installation accepts.
    let protection: ProtectionTag?
    /// The paths that the grant opens, ending in `/` and percent-encoded.
    let scope: String
    /// The path of the manifest, percent-encoded, if it is known.
    let manifest: String?
    /// The parameters of the manifest's URL besides those of the grant, without `?`; empty for none.
    var query = ""
    /// The player, for profiles that bind grants to it.
    let player: PlaybackRequest.Player?
    let now: Timestamp
    /// True if the renewals of the grant are counted: see ``GrantProfile/Rules/countsRenewals``.
    var isCounted = false

    /// The query of the manifest's URL with its leading `?`; empty for none.
    var urlEnd: String { query.isEmpty ? "" : "?\(query)" }

    /// The expiry: the end of the life, or of the session if that is earlier.
    var expires: Timestamp {
        min(now.advanced(byMilliseconds: profile.rules.life.milliseconds), session.end)
    }
}

extension FormatIssuer {
    /// Issues a grant; `nil` if the format cannot express the order, such as a path with one of its delimiters.
    func issue(_ order: GrantOrder) -> IssuedGrant? {
        switch self {
        case .uriSigning(_, let encryption):
            signedURIs(at: order.now).flatMap { Self.issue(order, by: $0, encryption: encryption) }
        case .vendor(let issuer): Self.issue(order, by: issuer)
        }
    }

    /// Returns the issuer of signed URIs whose key began to sign last, or `nil` if none signs at `now`.
    func signedURIs(at now: Timestamp) -> URISigningIssuer? {
        guard case .uriSigning(let signers, _) = self else { return nil }
        var found: GrantService.Signer<URISigningIssuer>?
        for signer in signers where signer.isUsable(at: now) {
            if found.map({ $0.start < signer.start }) ?? true { found = signer }
        }
        return found?.issuer
    }

    private static func issue(_ order: GrantOrder, by issuer: any VendorIssuer) -> IssuedGrant? {
        let rules = order.profile.rules
        var request = SigningRequest(
            rules,
            scope: order.scope,
            manifest: order.manifest,
            query: order.query,
            issued: order.now,
            expires: order.expires
        )
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
                cookies: delivery.cookies.map {
                    .init(name: $0.name, value: $0.value, path: $0.path, attributes: attributes)
                },
                query: delivery.query,
                path: delivery.path,
                url: delivery.url
            )
        )
    }
}

extension FormatIssuer {
    /// Returns why a vendor's format has no grants for an entry: for example, the entry is a file and the format has
    /// only folders. `nil` if it has some, or if the paths depend on the request.
    package func fault(
        signing entry: Catalogue.Entry,
        by profile: GrantProfile,
        at now: Timestamp
    ) -> SigningError? {
        if case .glob? = entry.key.pattern?.form { return nil }
        guard case .vendor(let issuer) = self, let terms = entry.grants,
            let scope = entry.scope(profile, path: entry.key.pattern?.encodedPath[...])
        else { return nil }
        let rules = profile.rules
        var request = SigningRequest(
            rules,
            scope: scope,
            manifest: terms.manifest,
            query: terms.query,
            issued: now,
            expires: now.advanced(byMilliseconds: rules.life.milliseconds)
        )
        request.session = String(repeating: "0", count: 32)
        if rules.binding.address != .none { request.client = .documentation }
        do throws(SigningError) {
            _ = try issuer.issue(request)
            return nil
        } catch {
            return error
        }
    }
}

extension SigningRequest {
    /// Creates a request for the paths of a grant, without a session and a client.
    fileprivate init(
        _ rules: GrantProfile.Rules,
        scope: String,
        manifest: String?,
        query: String,
        issued: Timestamp,
        expires: Timestamp
    ) {
        self.init(path: scope, issued: issued, expires: expires)
        scheme = rules.isSecure ? .https : .http
        host = rules.host
        // A manifest outside the scope would not be opened by what is signed.
        file = manifest.flatMap { $0.utf8.starts(with: scope.utf8) ? $0 : nil }
        self.query = query
    }
}

extension ClientNetwork {
    /// A network that no player has (RFC 5737).
    fileprivate static let documentation = IPAddress("192.0.2.0").flatMap { ClientNetwork($0, length: 24) }
}

extension FormatIssuer {
    /// Issues a signed URI; `nil` if the profile needs a fact that the order lacks, such as the player's address.
    static func issue(_ order: GrantOrder, by issuer: URISigningIssuer, encryption: EncryptionKey?) -> IssuedGrant? {
        let rules = order.profile.rules
        guard let container = order.container else { return nil }
        var claims = URISigningClaims(container)
        claims.audience = rules.audience
        claims.expires = order.expires
        claims.notBefore = order.now
        claims.issued = order.now
        claims.session = order.session
        claims.protection = order.protection
        claims.profile = order.profile.name
        claims.encryptionKey = encryption
        if rules.binding.address != .none {
            guard let network = order.network else { return nil }
            claims.network = network
        }
        switch rules.signing.subject {
        case .none: break
        case .session: claims.subject = [UInt8](order.session.id.hexadecimal.utf8)
        case .viewer:
            guard let tags = order.session.revocation?.tags, tags.count >= 2 else { return nil }
            claims.subject = [UInt8](tags[1].bytes.hexadecimal.utf8)
        }
        claims.renewal = order.signedRenewal
        return (try? issuer.issue(claims)).map { IssuedGrant(order, signedURI: $0) }
    }
}

extension GrantOrder {
    /// The URIs that a signed URI opens: the scope, or only the manifest's URL; `nil` if that is not known.
    fileprivate var container: URISigningClaims.Container? {
        let rules = profile.rules
        let scheme: RequestURI.Scheme = rules.isSecure ? .https : .http
        switch rules.signing.container {
        case .regex where scope.utf8.last == UInt8(ascii: "/"):
            return .scope(.init(scheme: scheme, host: rules.host, path: scope))
        case .regex, .hash:
            guard let host = rules.host, let manifest else { return nil }
            return RequestURI((manifest + urlEnd)[...], scheme: scheme, authority: host[...]).map { .hash($0) }
        }
    }

    /// The part of the player's address that a signed URI is bound to; `nil` if the address is not known.
    fileprivate var network: ClientNetwork? {
        guard let address = player?.address else { return nil }
        guard profile.rules.binding.address == .prefix else { return ClientNetwork(address) }
        return ClientNetwork(address, length: address.isIPv4 ? 24 : 56)
    }

    /// The renewal of a signed URI: by a cookie for the scope, or by a redirect.
    fileprivate var signedRenewal: URISigningRenewal? {
        let life = Int(profile.rules.life.components.seconds)
        switch profile.rules.renewal?.way {
        case .cookie:
            return URISigningRenewal(.cookie, life: life, depth: scope.utf8.count { $0 == UInt8(ascii: "/") } - 1)
        case .query: return URISigningRenewal(.query, life: life)
        case .automatic, .header, nil: return nil
        }
    }
}

extension IssuedGrant {
    /// Creates a signed URI.
    ///
    /// - Parameter isByRedirect: True if it is a renewed one that reaches the player by a redirect.
    init(_ order: GrantOrder, signedURI signed: IssuedSignedURI, isByRedirect: Bool = false) {
        let rules = order.profile.rules
        let attribute = PackageAttribute.standard
        let path = order.manifest.map { attribute.inScope(signed.token, of: $0[...], below: order.scope) }
        let origin = rules.host.map { "\(rules.isSecure ? "https" : "http")://\($0)" }
        let isForOneURL = rules.signing.container == .hash
        // Only a container of one URL needs it.
        let onlyURL = isForOneURL ? origin.flatMap { origin in order.manifest.map { origin + $0 + order.urlEnd } } : nil
        self.init(
            order,
            token: signed.token,
            expires: signed.expires,
            renewAfter: signed.renewalStart,
            carriers: .init(
                cookies: [
                    .init(
                        name: attribute.name,
                        value: signed.token,
                        path: order.scope,
                        attributes: rules.cookieAttributes
                    )
                ],
                query: "\(attribute.name)=\(signed.token)",
                path: path,
                url: origin.flatMap { origin in path.map { origin + $0 + order.urlEnd } },
                onlyURL: onlyURL,
                isRedirect: isByRedirect
            )
        )
    }
}

extension PackageAttribute {
    /// Returns a path with a package as a parameter of the last folder of `scope`. Relative references retain it.
    fileprivate func inScope(_ package: String, of path: Substring, below scope: String) -> String {
        guard scope != "/", path.utf8.starts(with: scope.utf8) else { return inPath(package, of: path) }
        let folder = path.utf8.prefix(scope.utf8.count - 1)
        return "\(Substring(folder));\(name)=\(package)\(path[folder.endIndex...])"
    }
}
