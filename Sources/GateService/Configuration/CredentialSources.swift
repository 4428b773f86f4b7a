// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeTokens
internal import Encodings
internal import PlaybackGate

/// The places in which the clients of a listener may show their media tokens and grants. This is a class, so that a check
/// retains it without copying.
final class CredentialSources: Sendable {
    /// The places of media tokens.
    let tokens: [TokenSource]
    /// The token sources of entries that have a list of their own.
    let tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]]
    /// The prefixes of path segments that may be tokens, for all entries. Such segments are removed from paths, also in
    /// logs.
    let segments: [String]
    /// The places of grants, in the order in which they are tried.
    let grants: [TokenSource]
    /// The attribute of signed URIs, which is cut out of targets; `nil` if none are accepted.
    let package: PackageAttribute?
    /// The query parameters that carry tokens or grants. They are no part of the URI that a grant is checked for.
    let secretParameters: [String]
    /// The client's header fields that may carry tokens, for `Vary`.
    let tokenHeaders: String
    /// True if tokens may be in `traceparent`, which otherwise decides nothing.
    let areInTraceparent: Bool

    /// Reads `tokens` and `grants` of a section.
    ///
    /// - Parameters:
    ///   - fallback: The sources of another listener, for a section that does not name its own; `nil` if `tokens` is required.
    init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile],
        default fallback: CredentialSources? = nil
    ) {
        var tokens = section.list("tokens", TokenSource.read).compactMap { $0 }
        if let fallback, !section.has("tokens") { tokens = fallback.tokens }
        if tokens.isEmpty, !section.isFaulty {
            section.note("tokens", "tokens is missing: name the sources of the token, such as: - query: token")
        }
        if tokens.count > PresentedToken.maximumSources {
            section.note("tokens", "must have at most \(PresentedToken.maximumSources) entries")
        }
        let named = section.has("grants") ? section.list("grants", TokenSource.read).compactMap { $0 } : nil
        if profiles.isEmpty, named != nil { section.note("grants", "requires the section grants of the file") }
        let grants = named ?? fallback?.grants ?? TokenSource.standard(for: profiles)
        if grants.count > PresentedToken.maximumSources {
            section.note("grants", "must have at most \(PresentedToken.maximumSources) entries")
        }
        let sources = Set(tokens).union(tokensOfEntries.values.joined()).union(grants)
        for source in grants where tokens.contains(source) || tokensOfEntries.values.joined().contains(source) {
            section.note("grants", "\(source) is a source of media tokens: grants need another name")
        }
        let packages = grants.compactMap(\.package)
        if packages.count > 1 { section.note("grants", "must have at most one package") }
        if (tokens + tokensOfEntries.values.joined()).contains(where: { $0.package != nil }) {
            section.note("tokens", "package is for grants: a media token is no signed URI")
        }
        package = packages.first
        areInTraceparent = sources.contains { $0.headerName?.isSameField("traceparent") ?? false }
        self.tokens = tokens
        self.tokensOfEntries = tokensOfEntries
        self.grants = grants
        secretParameters = sources.compactMap { if case .query(let name) = $0 { name } else { nil } }.sorted()
        segments = sources.compactMap { if case .segment(let prefix) = $0 { prefix } else { nil } }.sorted()
        tokenHeaders = Set(sources.compactMap(\.headerName)).sorted().joined(separator: ", ")
    }

    /// Returns the same places, of which one is tried before the others for grants if it is among them.
    func trying(first source: TokenSource) -> CredentialSources {
        guard grants.contains(source) else { return self }
        return CredentialSources(self, grants: [source] + grants.filter { $0 != source })
    }

    private init(_ other: CredentialSources, grants: [TokenSource]) {
        tokens = other.tokens
        tokensOfEntries = other.tokensOfEntries
        segments = other.segments
        self.grants = grants
        package = other.package
        secretParameters = other.secretParameters
        tokenHeaders = other.tokenHeaders
        areInTraceparent = other.areInTraceparent
    }

    /// Returns the places in which the token may be, for the catalogue's finding.
    func tokens(_ finding: PlaybackGate.Catalogue.Finding) -> [TokenSource] {
        guard !tokensOfEntries.isEmpty, case .entry(let entry) = finding else { return tokens }
        return tokensOfEntries[entry] ?? tokens
    }
}
