// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import EdgeTokens
import Encodings
import Keys
import Platform
import RequestTargets
import URISigning

extension GrantCommand.Issue {
    /// Throws if an option is not one of signed URIs.
    func validateSignedURI() throws {
        guard restrictions.scope != nil || signing.exact != nil else {
            throw ValidationError("--scope or --exact is missing: the URLs that the grant opens")
        }
        if restrictions.scope != nil, signing.exact != nil {
            throw ValidationError("--scope and --exact are mutually exclusive")
        }
        if !restrictions.method.isEmpty || !restrictions.asn.isEmpty || !restrictions.country.isEmpty {
            throw ValidationError("--method, --asn and --country have no claim in uri-signing")
        }
        if restrictions.address.count > 1 { throw ValidationError("uri-signing takes one --address") }
        if !restrictions.address.isEmpty || signing.subject != nil, signing.encrypt == nil {
            throw ValidationError("--address and --subject are encrypted in uri-signing: give --encrypt")
        }
        if renew == .header || renew == .automatic {
            throw ValidationError("--renew takes cookie, query or none for uri-signing")
        }
        if deadline != nil { throw ValidationError("--deadline has no claim in uri-signing") }
    }

    /// Issues a signed URI's token.
    func issuedSignedURI(by key: TokenKey, at now: Timestamp) throws(CommandFailure) -> IssuedSignedURI {
        let start = now.wholeSeconds
        var claims = URISigningClaims(container)
        claims.issued = start
        claims.notBefore = start
        claims.expires = start.advanced(byMilliseconds: life.milliseconds / 1000 * 1000)
        claims.audience = restrictions.audience
        claims.renewal = signedURIRenewal
        claims.protection = try protection.tag()
        claims.profile = protection.profile
        if let encrypt = signing.encrypt { claims.encryptionKey = try SignedURIOptions.keys(encrypt).first }
        claims.subject = signing.subject.map { [UInt8]($0.utf8) }
        claims.network = restrictions.address.first.flatMap { ClientNetwork($0.address, length: $0.length) }
        do throws(URISigningIssueError) {
            if restrictions.once { claims.identifier = try URISigningIssuer.randomIdentifier() }
            if let session {
                guard let id = SessionID(hexadecimal: try URISigningIssuer.randomIdentifier()) else { throw .random }
                let end = start.advanced(byMilliseconds: session.milliseconds)
                claims.session = PlaybackSession(id: id, end: end, revocation: nil)
            }
            var issuer = try URISigningIssuer(key: key)
            issuer.form = JWSForm(omitsHeader: signing.omitHeader)
            return try issuer.issue(claims)
        } catch { throw CommandFailure(error.words, code: error.rawValue) }
    }

    private var container: URISigningClaims.Container {
        if let uri = signing.exact?.uri { return .hash(uri, signing.digest.function) }
        return .scope(.init(scheme: signing.scheme.scheme, host: restrictions.host, path: restrictions.scope ?? ""))
    }

    private var signedURIRenewal: URISigningRenewal? {
        guard let transport = renew.transport else { return nil }
        let segments = (restrictions.scope ?? "").utf8.split(separator: UInt8(ascii: "/")).count
        let depth = transport == .cookie ? signing.depth ?? segments : 0
        return URISigningRenewal(transport, life: Int(life.milliseconds / 1000), depth: depth)
    }
}

extension URISigningIssueError {
    /// The problem and its remedy, for people.
    var words: String {
        switch self {
        case .key: "the key does not sign"
        case .issuer: "the grant is of another issuer than the key"
        case .random: "the system gives no random bytes"
        case .claims: "the restrictions are out of range or contradict each other"
        case .scope:
            "--scope, --host or --exact is not in normal form: give https://cdn.example/live/a%20b/ as it is requested"
        case .encryption: "the key of --encrypt does not encrypt"
        case .size: "the grant would have more than 8,192 characters: give fewer restrictions"
        case .notRenewable: "the grant cannot be renewed"
        case .downgrade: "a redirect from https to http is not allowed"
        @unknown default: "the grant cannot be issued"
        }
    }
}

extension IssuedSignedURI {
    /// The grant and its times.
    func json(_ scope: String?) -> JSON {
        .object([
            ("format", .string(GrantFormatName.uriSigning.rawValue)), ("token", .string(token)),
            ("expires", .time(expires)),
            ("renewAfter", .time(renewalStart)), ("sessionEnds", .time(session?.end)),
            ("session", .optional(session?.id.hexadecimal)), ("id", .optional(identifier)),
            ("scope", .array(scope.map { [.string($0)] } ?? [])),
        ])
    }
}
