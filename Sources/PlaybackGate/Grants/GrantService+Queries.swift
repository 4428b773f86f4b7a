// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
public import EdgeTokens
internal import Encodings
public import Keys
public import Platform
internal import RequestTargets
internal import URISigning
internal import VendorTokens

extension GrantService {
    /// True if a profile can sign a URL with a query, so that an edge finds only the grant's parameters under their
    /// names.
    ///
    /// A media token is used up before its grant is made. A caller that signs a URL of another's choice therefore
    /// checks first. A grant is made for the check, and thrown away.
    ///
    /// - Parameters:
    ///   - query: The query of the URL, without `?`.
    ///   - manifest: The path of the URL, percent-encoded.
    ///   - scope: The folder of the path.
    ///   - profile: The profile.
    ///   - now: The present time.
    public func signs(
        query: String,
        of manifest: String,
        scope: String,
        _ profile: GrantProfile,
        at now: Timestamp
    ) -> Bool {
        guard query.isPlainQuery,
            PackageAttribute.standard.cut("/?\(query)").target.utf8.elementsEqual("/?\(query)".utf8),
            let id = SessionID(hexadecimal: String(repeating: "0", count: 32))
        else { return false }
        let end = now.advanced(byMilliseconds: profile.rules.session.milliseconds)
        let order = GrantOrder(
            profile: profile,
            session: PlaybackSession(id: id, end: end, revocation: nil),
            protection: nil,
            scope: scope,
            manifest: manifest,
            query: query,
            player: nil,
            now: now
        )
        guard let grant = make(order), let url = grant.url, url.hasBytes(of: query) else { return false }
        let taken = (grant.query?.parameterNames ?? []) + profile.format.parameterNames
        return !query.parameterNames.contains { taken.contains($0) }
    }
}

extension GrantFormat {
    /// The parameters of URLs that edges of the format read, in lower case, besides those of every grant.
    fileprivate var parameterNames: [String] {
        switch self {
        case .cat: [IssuedGrant.queryName]
        case .uriSigning: [PackageAttribute.standardName.lowercased()]
        case .vendor(.cloudFront): ["expires", "policy", "signature", "key-pair-id", "hash-algorithm"]
        case .vendor: []
        }
    }
}

extension String {
    /// The largest query, in bytes.
    private static var maximumQuery: Int { 2048 }

    /// True for a query of the characters of URLs whose percent-encoding is text without control characters.
    fileprivate var isPlainQuery: Bool {
        let isPlain = utf8.allSatisfy { byte in
            byte.isASCIIAlphanumeric || "-._~!$'()*,/:;=?@%+&".utf8.contains(byte)
        }
        guard isPlain, 1...Self.maximumQuery ~= utf8.count, let decoded = self[...].percentDecoded else { return false }
        return decoded.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) }
    }

    /// The names of the parameters, decoded and in lower case.
    fileprivate var parameterNames: [String] {
        utf8.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }.map { parameter in
            let name = Substring(parameter.prefix { $0 != UInt8(ascii: "=") })
            return (name.percentDecoded ?? String(name)).lowercased()
        }
    }
}

extension GrantService {
    /// The verdict on a grant, with the outcome of each of its claims.
    public struct Explanation: Sendable {
        /// The verdict. Catalogue and revocations are not looked at.
        public let verdict: GrantVerdict
        /// The key that made the grant; `nil` if it is not authentic.
        public let key: TokenKey?
        /// The claims in the order of the grant; empty if it is not authentic.
        public let claims: [ExplainedClaim]
    }

    /// Checks a Common Access Token or a signed URI for a request, and reports the result for each claim. Consumes
    /// nothing.
    ///
    /// An unknown key is fetched, as by a check of an edge: see `GrantRefusal.Detail.keySetAwaited`.
    ///
    /// - Parameters:
    ///   - token: The grant as presented.
    ///   - facts: The facts of the request.
    ///   - time: The time of the request, which may be another than the present.
    ///   - now: The present time.
    public func explain(
        _ token: Span<UInt8>,
        for facts: RequestFacts,
        asOf time: Timestamp,
        at now: Timestamp
    ) -> Explanation {
        if isSignedURI(token), let signedURIs {
            let explained = signedURIs.explain(token, for: facts, at: time)
            return Explanation(
                verdict: awaited(explained.verdict, of: token, at: now),
                key: explained.key,
                claims: explained.claims
            )
        }
        let explained = verifier.explain(token, for: facts, at: time)
        return Explanation(
            verdict: awaited(explained.verdict, of: token, at: now),
            key: explained.key,
            claims: explained.claims
        )
    }

    private func awaited(_ verdict: GrantVerdict, of token: Span<UInt8>, at now: Timestamp) -> GrantVerdict {
        guard case .refused(let refusal) = verdict else { return verdict }
        return .refused(awaited(refusal, of: token, at: now))
    }
}
