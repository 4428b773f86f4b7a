// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
package import ConfigurationReading
package import EdgeChecks
internal import Encodings
package import PlaybackGate
internal import RequestTargets

extension TokenSources {
    /// Reads `tokens` and `grants` of a section.
    ///
    /// - Parameters:
    ///   - fallback: The sources of another listener, for a section that does not name its own; `nil` if `tokens` is required.
    package convenience init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile],
        default fallback: TokenSources? = nil
    ) {
        var tokens = section.list("tokens", read: TokenSource.read).compactMap { $0 }
        if let fallback, !section.has("tokens") { tokens = fallback.tokens }
        if tokens.isEmpty, !section.isFaulty {
            section.note(
                at: "tokens",
                message: "tokens is missing: name the sources of the token, such as: - query: token"
            )
        }
        if tokens.count > PresentedToken.maximumSources {
            section.note(at: "tokens", message: "must have at most \(PresentedToken.maximumSources) entries")
        }
        let named = section.has("grants") ? section.list("grants", read: TokenSource.read).compactMap { $0 } : nil
        if profiles.isEmpty, named != nil {
            section.note(at: "grants", message: "requires the section grants of the file")
        }
        let grants = named ?? fallback?.grants ?? TokenSource.standard(for: profiles)
        if grants.count > PresentedToken.maximumSources {
            section.note(at: "grants", message: "must have at most \(PresentedToken.maximumSources) entries")
        }
        for source in grants where tokens.contains(source) || tokensOfEntries.values.joined().contains(source) {
            section.note(
                at: "grants",
                message: "\(source.configured) is a source of media tokens: grants need another name"
            )
        }
        if grants.compactMap(\.package).count > 1 {
            section.note(at: "grants", message: "must have at most one package")
        }
        if (tokens + tokensOfEntries.values.joined()).contains(where: { $0.package != nil }) {
            section.note(at: "tokens", message: "package is for grants: a media token is no signed URI")
        }
        self.init(tokens: tokens, ofEntries: tokensOfEntries, grants: grants)
    }
}

extension TokenSource {
    /// The key and the name in the configuration.
    package var configured: String {
        switch self {
        case .header(let name, _): "header \(name)"
        case .cookie(let name): "cookie \(name)"
        case .query(let name): "query \(name)"
        case .segment(let prefix): "segment \(prefix)"
        case .package(let attribute): "package \(attribute.name)"
        }
    }
}

extension TokenSource {
    /// The sources of grants unless the configuration names others; without profiles, none.
    fileprivate static func standard(for profiles: [GrantProfile]) -> [TokenSource] {
        let signed: [TokenSource] = profiles.contains { $0.format == .uriSigning } ? [.package(.standard)] : []
        let profiles = profiles.filter { $0.format == .cat }
        guard !profiles.isEmpty else { return signed }
        let cookies = Set(profiles.map(\.rules.cookie.name)).sorted().map { TokenSource.cookie($0) }
        return cookies + [
            .header(CATRenewal.standardName, scheme: nil), .segment(IssuedGrant.segmentPrefix),
            .query(IssuedGrant.queryName),
        ] + signed
    }

    /// Reads `query: NAME`, `cookie: NAME`, `header: NAME` (and `scheme`), `segment: PREFIX` or `package: NAME`; `nil`
    /// for another form.
    package static func read(_ section: ConfigurationSection) -> TokenSource? {
        let names = ["query", "cookie", "header", "segment", "package"].filter { section.has($0) }
        let package = section.optionalString("package")
        let (query, cookie) = (section.optionalString("query"), section.optionalString("cookie"))
        let (header, segment) = (section.optionalString("header"), section.optionalString("segment"))
        let scheme = section.optionalString("scheme")
        guard names.count == 1, let key = names.first else {
            section.note(
                at: names.first ?? "query",
                message: "exactly one of query, cookie, header and segment is required"
            )
            return nil
        }
        if scheme != nil, header == nil { section.note(at: "scheme", message: "requires header") }
        if key == "package" {
            if let attribute = package.flatMap(PackageAttribute.init) { return .package(attribute) }
            section.note(
                at: "package",
                message: "must have 1 to 64 letters, digits, - and _, such as URISigningPackage"
            )
            return nil
        }
        let name = query ?? cookie ?? header ?? segment ?? ""
        let isToken = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/;<>?@[\\]{}%&#".utf8.contains($0) }
        let isPlain = !name.utf8.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
        guard !name.isEmpty, isToken, segment != nil || isPlain else {
            section.note(at: key, message: "must be a name of letters, digits, - and _")
            return nil
        }
        if segment?.utf8.first == UInt8(ascii: ".") {
            section.note(at: "segment", message: "must not begin with a dot")
        }
        if query != nil { return .query(name) }
        if cookie != nil { return .cookie(name) }
        return header != nil ? .header(name, scheme: scheme) : .segment(name)
    }
}
