// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import EdgeTokens
package import Encodings
package import GateConfiguration
package import HTTPServer
package import PlaybackGate
package import RequestTargets

/// The header fields by which an edge describes a client's request, found in one pass.
package struct EdgeFields {
    /// The meaning of a field.
    package enum Meaning: Int {
        case target, method, host, range, cacheKey, url, scheme, client, alpn, clientKey, asn, geo, position
        /// A field with cookies or tokens.
        case credential
    }

    /// The fields of all client requests and dialects.
    package static let common: [(name: String, meaning: Meaning)] = [
        ("x-original-alpn", .alpn), ("x-original-client-key", .clientKey), ("x-original-asn", .asn),
        ("x-original-geo", .geo), ("x-original-position", .position), ("cookie", .credential),
    ]

    package let fields: HTTPFields
    /// The index of the field of each meaning; -1 for none, -2 for several.
    private var indices: [14 of Int16] = .init(repeating: -1)
    /// The fields with cookies or tokens: a bit for each of the first 64 fields.
    private var credentials: UInt64 = 0
    /// True if the client requests a range, not the whole.
    package private(set) var isPartial = false

    /// Finds the fields of a check.
    package init(_ fields: HTTPFields, names: HTTPFieldNames) {
        self.fields = fields
        fields.forEach(in: names) { index, number in add(index, as: Meaning(rawValue: number) ?? .credential) }
    }

    package mutating func add(_ index: Int, as meaning: Meaning) {
        switch meaning {
        case .credential: if index < 64 { credentials |= 1 << UInt64(index) }
        case .range: isPartial = isPartial || !fields.value(index).isWholeRange
        default:
            let number = meaning.rawValue
            indices[number] = indices[number] == -1 ? Int16(clamping: index) : -2
        }
    }

    /// True if a field is there more than once.
    package func isRepeated(_ meaning: Meaning) -> Bool { indices[meaning.rawValue] == -2 }

    /// The value of a field; `nil` if there is none, or if there are several.
    package func value(_ meaning: Meaning) -> Substring? {
        let index = Int(indices[meaning.rawValue])
        return index < 0 ? nil : fields.value(index)
    }

    /// The report about a fact in a field.
    package func report(_ meaning: Meaning) -> ReportedFact {
        let index = Int(indices[meaning.rawValue])
        return index >= 0 ? .text(fields.value(index)) : index == -1 ? .none : .repeated
    }
}

extension EdgeFields: CredentialFields {
    private func forEachCredential(_ body: (Int) -> Void) {
        var rest = credentials
        while rest != 0 {
            body(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
        if fields.indices.count > 64 { for index in 64..<fields.indices.count { body(index) } }
    }

    package func forEachValue(header name: String, _ body: (Substring) -> Void) {
        forEachCredential { index in if fields.isField(index, as: name) { body(fields.value(index)) } }
    }

    package func forEachCookieLine(_ body: (Substring) -> Void) {
        forEachCredential { index in if fields.isField(index, named: "cookie") { body(fields.value(index)) } }
    }
}

/// The reader of a dialect's checks. This is a class, so that a check refers to it without copying.
package final class EdgeFieldReader: Sendable {
    package let row: EdgeDialect.Row
    package let names: HTTPFieldNames
    package let sources: TokenSources
    package let forwardedFor: ForwardedFor

    package init(row: EdgeDialect.Row, sources: TokenSources, forwardedFor: ForwardedFor = .oneAddress) {
        self.row = row
        self.sources = sources
        self.forwardedFor = forwardedFor
        names = HTTPFieldNames(row: row, sources: sources)
    }
}

extension HTTPFieldNames {
    /// The names of the fields of a dialect, and of those that may carry tokens.
    fileprivate init(row: EdgeDialect.Row, sources: TokenSources) {
        let own: [(StaticString?, EdgeFields.Meaning)] = [
            (row.target, .target), (row.method, .method), (row.host, .host), (row.range, .range),
            (row.cacheKey, .cacheKey), (row.url, .url), (row.scheme, .scheme), (row.client, .client),
        ]
        let named = own.compactMap { name, meaning in name.map { ("\($0)", meaning) } }
        let tokens = sources.fieldNames.map { ($0, EdgeFields.Meaning.credential) }
        self.init((named + EdgeFields.common + tokens).map { (name: $0.0, number: $0.1.rawValue) })
    }
}

/// A client's request in the header fields of an edge's check.
package struct EdgeFieldReport: EdgeReport {
    private let fields: EdgeFields
    private let target: ParsedTarget
    /// The target as it was sent.
    private let sentTarget: Substring
    private let reader: EdgeFieldReader
    private var row: EdgeDialect.Row { reader.row }

    package init(fields: EdgeFields, target: ParsedTarget, sentTarget: Substring, reader: EdgeFieldReader) {
        self.fields = fields
        self.target = target
        self.sentTarget = sentTarget
        self.reader = reader
    }

    package var hasHeaders: Bool { true }

    package func values(of name: String) -> [Substring] {
        let fields = fields.fields
        return fields.indices.filter { fields.isField($0, as: name) }.map(fields.value)
    }

    package func mediaToken(for match: Catalogue.Finding) -> PresentedToken {
        reader.sources.mediaToken(in: fields, target, for: match)
    }

    package func grants() -> PresentedGrantTokens { reader.sources.grants(in: fields, target) }

    package func report(of fact: RequestFact) -> ReportedFact {
        switch fact {
        case .scheme: report(.scheme)
        case .host, .port: report(.host)
        case .clientAddress: row.isForwardedList ? forwardedAddress : fields.report(.client)
        case .clientASN: fields.report(.asn)
        case .alpn: fields.report(.alpn)
        case .clientKey: fields.report(.clientKey)
        case .countries: fields.report(.geo)
        case .position: fields.report(.position)
        case .query, .method, .headers: .none
        }
    }

    /// The report about a part of the URL, from its own field or from that of the whole URL.
    private func report(_ part: EdgeFields.Meaning) -> ReportedFact {
        let own = fields.report(part)
        if case .none = own { return row.url == nil ? own : fields.report(.url) }
        return own
    }

    /// The address that the rule for lists of addresses chooses.
    private var forwardedAddress: ReportedFact {
        let report = fields.report(.client)
        switch (report, reader.forwardedFor) {
        case (.none, _), (_, .oneAddress): return report
        default:
            // A list without the client's address says something else.
            return .text(reader.forwardedFor.client(in: values(of: "\(row.client)")) ?? "-")
        }
    }

    package func origin(_ authority: URIAuthority?) -> EdgeOrigin {
        let unknown = EdgeOrigin.other(scheme: nil, authority: nil)
        if fields.isRepeated(.url) { return unknown }
        guard row.url != nil, let url = fields.value(.url) else { return .own(scheme: reportedScheme) }
        // The edge contradicts itself unless the URL has the target, the scheme and the host.
        guard let whole = AbsoluteURL(url, target: sentTarget), isScheme(whole.scheme) else { return unknown }
        guard let authority else { return .other(scheme: whole.scheme, authority: whole.authority) }
        // The host of a request may be reported without its port, as nginx does with `$host`.
        let ports = [authority.port, whole.authority.port].map { $0 == whole.scheme.defaultPort ? nil : $0 }
        let isSame =
            authority.host.utf8.elementsEqual(whole.authority.host.utf8) && (ports[0] == nil || ports[0] == ports[1])
        return .other(scheme: whole.scheme, authority: isSame ? whole.authority : nil)
    }

    /// True if the edge reports no other scheme.
    private func isScheme(_ scheme: RequestURI.Scheme) -> Bool {
        switch fields.report(.scheme) {
        case .none: true
        case .text(let text) where text.trimmingBlanks.isEmpty: true
        default: reportedScheme == scheme
        }
    }
}

/// The absolute form of a request, which must end in its target.
private struct AbsoluteURL {
    let scheme: RequestURI.Scheme
    let authority: URIAuthority

    init?(_ text: Substring, target: Substring) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let scheme = RequestURI.Scheme(reported: text[..<colon]),
            bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = bytes[bytes.index(colon, offsetBy: 3)...]
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), rest[slash...].elementsEqual(target.utf8),
            let authority = URIAuthority(Substring(rest[..<slash]))
        else { return nil }
        self.scheme = scheme
        self.authority = authority
    }
}

extension Substring {
    /// True if this `Range` requests everything: `bytes=0-`, which players send to be able to resume. An empty value counts
    /// too, because edges send it if there is no `Range`.
    ///
    /// Source: RFC 9110 §14.1.2.
    fileprivate var isWholeRange: Bool { isEmpty || isSameField("bytes=0-") }
}
