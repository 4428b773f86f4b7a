// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import PlaybackGate
package import RequestTargets

/// A location in which a client may present its token. Its name identifies the part that the edge must remove from a
/// request to the origin.
package enum TokenSource: Hashable, Sendable {
    /// A header field, and the scheme before the token if there is one (`Authorization: MediaToken ...`).
    case header(String, scheme: String?)
    /// A cookie.
    case cookie(String)
    /// A parameter of the original query.
    case query(String)
    /// A segment of the original path, identified by its prefix; the catalogue knows the path without it. See
    /// ``ParsedTarget/isAmbiguous``.
    case segment(String)
    /// The attribute of a signed URI, in the path or the query of the original target, or a cookie of its name.
    case package(PackageAttribute)

    /// The kind with a colon, and the name, such as `query:` and `token`.
    package var label: (kind: StaticString, name: String) {
        switch self {
        case .header(let name, _): ("header:", name)
        case .cookie(let name): ("cookie:", name)
        case .query(let name): ("query:", name)
        case .segment(let prefix): ("segment:", prefix)
        case .package(let attribute): ("package:", attribute.name)
        }
    }

    /// The attribute of signed URIs; `nil` for another source.
    package var package: PackageAttribute? {
        if case .package(let attribute) = self { attribute } else { nil }
    }

    /// The name of the header field that contains the token; `nil` if none does.
    package var headerName: String? {
        switch self {
        case .header(let name, _): name
        case .cookie, .package: "Cookie"
        case .query, .segment: nil
        }
    }

    /// Calls `body` with each value that a request has in this source, as it was sent.
    ///
    /// - Parameters:
    ///   - fields: The header fields, by a function that calls another one with each value of a name.
    ///   - target: The original target.
    package func forEachValue(in fields: some CredentialFields, target: ParsedTarget, body: (Substring) -> Void) {
        switch self {
        case .header(let name, let scheme):
            fields.forEachValue(header: name) { line in
                if let value = line.after(scheme: scheme) { body(value) }
            }
        case .cookie(let name): fields.forEachCookieLine { line in line.forEachCookie(named: name, body: body) }
        case .package(let attribute):
            for package in target.packages { body(package) }
            fields.forEachCookieLine { line in line.forEachCookie(named: attribute.name, body: body) }
        case .query(let name): target.forEachValue(parameter: name, body)
        case .segment(let prefix): target.forEachValue(segment: prefix, body)
        }
    }
}

/// The header fields in which tokens are looked for.
package protocol CredentialFields {
    /// Calls `body` with each value of a field that is the header of a token source.
    func forEachValue(header name: String, _ body: (Substring) -> Void)

    /// Calls `body` with each value of `Cookie`.
    func forEachCookieLine(_ body: (Substring) -> Void)
}

/// The sources in which the clients of a listener may present their media tokens and grants. This is a class, so that a check
/// retains it without copying.
package final class TokenSources: Sendable {
    /// The sources of media tokens.
    package let tokens: [TokenSource]
    /// The token sources of entries that have a list of their own.
    package let tokensOfEntries: [Catalogue.Entry: [TokenSource]]
    /// The sources of grants, in the order in which they are tried.
    package let grants: [TokenSource]
    /// The names by which targets carry tokens, of all entries. Such segments are removed from paths, also in logs.
    package let targetNames: ParsedTarget.TokenNames
    /// The client's header fields that may carry tokens, for `Vary`.
    package let tokenHeaders: String
    /// The names of the header fields that may carry tokens, except for `Cookie`.
    package let fieldNames: [String]
    /// True if tokens may be in `traceparent`, which otherwise decides nothing.
    package let areInTraceparent: Bool

    /// Creates a set of sources.
    package init(
        tokens: [TokenSource],
        ofEntries tokensOfEntries: [Catalogue.Entry: [TokenSource]] = [:],
        grants: [TokenSource]
    ) {
        self.tokens = tokens
        self.tokensOfEntries = tokensOfEntries
        self.grants = grants
        let sources = Set(tokens).union(tokensOfEntries.values.joined()).union(grants)
        targetNames = ParsedTarget.TokenNames(
            parameters: sources.compactMap { if case .query(let name) = $0 { name } else { nil } }.sorted(),
            segments: sources.compactMap { if case .segment(let prefix) = $0 { prefix } else { nil } }.sorted(),
            package: grants.compactMap(\.package).first
        )
        tokenHeaders = Set(sources.compactMap(\.headerName)).sorted().joined(separator: ", ")
        let headers = sources.compactMap { if case .header(let name, _) = $0 { name.lowercased() } else { nil } }
        fieldNames = Set(headers).sorted()
        areInTraceparent = fieldNames.contains("traceparent")
    }

    /// Returns the same sources, with one of them first for grants if it is among them.
    package func trying(first source: TokenSource) -> TokenSources {
        guard grants.contains(source) else { return self }
        let others = grants.filter { $0 != source }
        return TokenSources(tokens: tokens, ofEntries: tokensOfEntries, grants: [source] + others)
    }

    /// Returns the sources in which the media token may be, for an entry of the catalogue; `nil` for none.
    package func tokens(for entry: Catalogue.Entry?) -> [TokenSource] {
        guard !tokensOfEntries.isEmpty, let entry else { return tokens }
        return tokensOfEntries[entry] ?? tokens
    }

    /// Finds the media token of a request.
    package func mediaToken(
        in fields: some CredentialFields,
        _ target: ParsedTarget,
        for match: Catalogue.Finding
    ) -> PresentedToken {
        var presented = PresentedToken()
        var entry: Catalogue.Entry?
        if case .entry(let found) = match { entry = found }
        for (number, source) in tokens(for: entry).enumerated() {
            source.forEachValue(in: fields, target: target) { presented.add($0, from: number) }
        }
        return presented
    }

    /// Finds the grants of a request.
    package func grants(in fields: some CredentialFields, _ target: ParsedTarget) -> PresentedGrantTokens {
        var presented = PresentedGrantTokens()
        for source in grants { source.forEachValue(in: fields, target: target) { presented.add($0) } }
        return presented
    }
}

extension Substring {
    /// Returns the text after the scheme and blanks; `nil` if this has another scheme.
    fileprivate func after(scheme: String?) -> Substring? {
        guard let scheme else { return trimmingBlanks }
        let length = scheme.utf8.count
        guard utf8.count > length else { return nil }
        let (bytes, wanted) = (utf8.span, scheme.utf8.span)
        for index in wanted.indices where bytes[index].lowercasedASCII != wanted[index].lowercasedASCII { return nil }
        return bytes[length] == UInt8(ascii: " ") ? droppingBytes(length).trimmingBlanks : nil
    }

    /// Calls `body` with each value of a cookie in a line of `Cookie`.
    fileprivate func forEachCookie(named name: String, body: (Substring) -> Void) {
        let bytes = utf8.span
        var start = 0
        while start < bytes.count {
            let end = bytes.firstIndex(of: UInt8(ascii: ";"), from: start) ?? bytes.count
            while start < end, bytes[start].isBlank { start += 1 }
            if bytes.extracting(start..<end).hasPrefix(name.utf8.span) {
                let pair = self.bytes(start..<end)
                if let value = pair.trimmingBlanks.after(name: name) { body(value.unquoted) }
            }
            start = end + 1
        }
    }

    /// The value of a cookie, without quotes (RFC 6265 §4.1.1).
    private var unquoted: Substring {
        utf8.count >= 2 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
            ? Substring(utf8.dropFirst().dropLast()) : self
    }
}
