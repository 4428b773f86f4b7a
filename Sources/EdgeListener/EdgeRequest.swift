// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
package import NIOHTTP1
internal import PlaybackGate
internal import RequestTargets

/// A check of an edge: the client's request, and the other facts that the answer needs.
struct EdgeRequest {
    /// The client's request.
    let check: EdgeCheckRequest
    /// Its credentials and facts.
    let report: EdgeFieldReport
    /// True if the edge's cache key contains all facts on which an answer depends, besides header fields of the client.
    let isKeyWhole: Bool

    /// Reads a check. `nil` if a required field is missing, or if target, method or host is repeated or malformed. Also
    /// `nil` if an edge passes on a client's field with a name of the gate's own.
    ///
    /// - Parameters:
    ///   - method: The method of the check.
    ///   - fields: Its header fields.
    ///   - rest: The target of the check after the endpoint.
    init?(
        method: HTTPMethod,
        fields: HTTPFields,
        rest: Substring,
        dialect: EdgeDialect,
        rules: EdgeRules
    ) {
        let reader = rules.reader(of: dialect)
        let (row, found) = (reader.row, EdgeFields(fields, names: reader.names))
        guard found.isClear(row) else { return nil }
        let target: Substring
        let known: PlaybackRequest.Method?
        let name = found.value(.method)
        if row.target != nil {
            guard let text = found.value(.target), let name else { return nil }
            (target, known) = (text, PlaybackRequest.Method(reported: name))
        } else {
            (target, known) = (rest, PlaybackRequest.Method(method))
        }
        let host = found.value(.host)
        // A malformed host shows that the edge is unreliable, so the check is refused.
        let authority = host.flatMap { URIAuthority($0) }
        guard let known, host == nil || authority != nil,
            let parsed = ParsedTarget(target, tokens: rules.sources.targetNames)
        else { return nil }
        isKeyWhole =
            row.cacheKey == nil
            || found.value(.cacheKey)?.isKey(method: name ?? "", host: host ?? "", target: target) ?? false
        check = EdgeCheckRequest(
            parsed,
            method: known,
            authority: authority,
            isPartial: found.isPartial,
            form: row.form,
            canRedirect: !parsed.packages.isEmpty && rules.redirects(dialect, path: parsed.sentPath),
            tokenParameters: rules.sources.targetNames.parameters
        )
        report = EdgeFieldReport(fields: found, target: parsed, sentTarget: target, reader: reader)
    }
}

extension PlaybackRequest.Method {
    package init(_ method: HTTPMethod) {
        switch method {
        case .GET: self = .get
        case .HEAD: self = .head
        default: self = Self(rawValue: method.rawValue) ?? .other
        }
    }
}

extension EdgeFields {
    /// True if target, method and host occur at most once, and no field could be read as an answer of the gate.
    fileprivate func isClear(_ row: EdgeDialect.Row) -> Bool {
        if isRepeated(.target) || isRepeated(.method) || isRepeated(.host) { return false }
        guard row.refusesAnswerFields else { return true }
        return !fields.indices.contains { index in fields.isName(at: index) { $0.isAnswerField } }
    }
}

extension Span<UInt8> {
    /// True if the name of a field is one of the gate's own, `X-Playgate-…`, or an origin may read it as one. Some
    /// origins read every character except letters and digits as `_`. Varnish cannot remove such fields by a wildcard,
    /// so they are refused.
    fileprivate var isAnswerField: Bool {
        let prefix: StaticString = "playgate"
        guard count >= 2 + prefix.utf8CodeUnitCount, self[0].lowercasedASCII == UInt8(ascii: "x") else { return false }
        return !self[1].isASCIIAlphanumeric && extracting(2..<2 + prefix.utf8CodeUnitCount).isSameField(prefix)
    }
}

extension Substring {
    /// True if this is `METHOD HOST/TARGET`, or that followed by a space and more. None of the parts contains a space,
    /// so two requests never share a key.
    fileprivate func isKey(method: Substring, host: Substring, target: Substring) -> Bool {
        guard !method.isEmpty, !host.isEmpty else { return false }
        let key = utf8.span
        var end = 0
        func has(_ part: Span<UInt8>) -> Bool {
            guard part.count <= key.count - end else { return false }
            defer { end += part.count }
            return key.extracting(end..<end + part.count).hasSameBytes(as: part)
        }
        guard has(method.utf8.span), has(" ".utf8.span), has(host.utf8.span), has(target.utf8.span) else {
            return false
        }
        return end == key.count || key[end] == UInt8(ascii: " ")
    }
}
