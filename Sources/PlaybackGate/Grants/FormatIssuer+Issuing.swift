// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
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
