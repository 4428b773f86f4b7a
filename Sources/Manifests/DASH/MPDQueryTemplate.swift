// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Templates of queries (ISO/IEC 23009-1 Annex I), with which players add the query of the MPD's URL to the URLs of
/// segments, on all hosts.
///
/// The player's URL may have the grant, or another token, where the URL of the rules has none. A template may therefore
/// read from it only those parameters that the URL of the rules has, too.
enum MPDQueryTemplate {
    /// Returns a template that adds the same except for the grant; nil if the template adds nothing else.
    ///
    /// - Parameters:
    ///   - template: `@queryTemplate`.
    ///   - query: The query of the MPD's URL.
    ///   - name: The name of the parameter with the grant.
    static func narrow(_ template: [UInt8], query: [UInt8], without name: String) -> [UInt8]? {
        var others: [UInt8] = []
        let hasOthers = !query.isEmpty && GrantParameter.appendOthers(than: name, of: query.span, &others)
        let names = Set(others.split(separator: UInt8(ascii: "&")).map { $0.prefix { $0 != UInt8(ascii: "=") } })
        var parts: [[UInt8]] = []
        var isChanged = false
        for part in template.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if part.elementsEqual("$querypart$".utf8) {
                isChanged = true
                // A dollar sign in a template is written twice.
                if hasOthers { parts.append(others.flatMap { $0 == UInt8(ascii: "$") ? [$0, $0] : [$0] }) }
            } else if addsOnly(names, in: Array(part)) {
                parts.append(Array(part))
            } else {
                isChanged = true
            }
        }
        guard isChanged else { return nil }
        return Array(parts.joined(separator: [UInt8(ascii: "&")]))
    }

    /// Returns true if all parameters that a part of a template reads from the URL are in `names`.
    private static func addsOnly(_ names: Set<ArraySlice<UInt8>>, in part: [UInt8]) -> Bool {
        let bytes = part.span
        for position in bytes.indices {
            if bytes.starts(with: "$querypart$", at: position) { return false }
            guard bytes.starts(with: "$query:", at: position) else { continue }
            let start = position + 7
            guard let end = bytes.firstIndex(of: UInt8(ascii: "$"), from: start), names.contains(part[start..<end])
            else { return false }
        }
        return true
    }
}
