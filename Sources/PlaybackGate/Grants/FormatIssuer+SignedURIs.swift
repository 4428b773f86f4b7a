// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Keys
internal import Platform
internal import RequestTargets
internal import URISigning

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
