// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Templates of queries (ISO/IEC 23009-1 Annex I), with which players add the query of the MPD's URL to the URLs of
/// segments, on all hosts.
enum MPDQueryTemplate {
    /// Returns a template that adds the same except for the grant; nil if the template adds no grant.
    ///
    /// - Parameters:
    ///   - template: `@queryTemplate`.
    ///   - query: The query of the MPD's URL.
    ///   - name: The name of the parameter with the grant.
    static func narrow(_ template: [UInt8], _ query: [UInt8], without name: String) -> [UInt8]? {
        var others: [UInt8] = []
        let hasOthers = GrantParameter.appendOthers(than: name, of: query.span, &others)
        // Nothing is written as a parameter but what the query has, so the grant is not in it.
        guard !hasOthers || others != query else { return nil }
        var parts: [[UInt8]] = []
        var isChanged = false
        for part in template.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if part.elementsEqual("$querypart$".utf8) {
                isChanged = true
                // A dollar sign in a template is written twice.
                if hasOthers { parts.append(others.flatMap { $0 == UInt8(ascii: "$") ? [$0, $0] : [$0] }) }
            } else if Array(part).span.contains("$query:\(name)$") || Array(part).span.contains("$querypart$") {
                isChanged = true
            } else {
                parts.append(Array(part))
            }
        }
        guard isChanged else { return nil }
        return Array(parts.joined(separator: [UInt8(ascii: "&")]))
    }
}

extension Span<UInt8> {
    /// Returns true if `text` is somewhere in the bytes.
    fileprivate func contains(_ text: String) -> Bool {
        let text = Array(text.utf8)
        guard text.count <= count else { return false }
        for place in 0...(count - text.count) where extracting(place..<place + text.count).hasSameBytes(as: text.span) {
            return true
        }
        return false
    }
}
