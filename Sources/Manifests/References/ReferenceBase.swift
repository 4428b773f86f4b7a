// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings

/// The absolute URL to which references are relative (RFC 3986 §5.1).
package struct ReferenceBase: Hashable, Sendable {
    /// The scheme; `nil` for other schemes than the web's, whose relative references are never protected.
    let scheme: RequestURI.Scheme?
    /// The host and port, as written.
    let authority: [UInt8]
    /// The path, resolved, with the segments of a grant.
    let path: [UInt8]
    /// The query; `nil` without a `?`.
    let query: [UInt8]?
    /// True if relative references carry the grant.
    package internal(set) var isProtected = false

    init(_ scheme: RequestURI.Scheme?, _ authority: [UInt8], path: [UInt8], query: [UInt8]?, isProtected: Bool) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
        self.isProtected = isProtected
    }

    /// Parses the URL of a manifest; `nil` if it is not one that all readers take for the same.
    init?(url: String, _ mode: ManifestRules.Mode) {
        guard 1...ManifestRules.maximumURLSize ~= url.utf8.count else { return nil }
        let bytes = url.utf8.span
        do throws(ReferenceFault) {
            let parts = try ReferenceParts(bytes)
            guard case .absolute(let scheme) = parts.form else { return nil }
            try parts.check(bytes, isTemplate: false)
            guard ProtectedHost.contains([], scheme, bytes.extracting(parts.authority), scheme) != nil else {
                return nil
            }
            let query = parts.query
            var path: [UInt8] = []
            let root = [UInt8(ascii: "/")]
            try ResolvedPath.append(bytes.extracting(parts.path), in: root.span, without: nil, to: &path)
            if case .segment(let prefix) = mode {
                // Refuses what has no path without the grant.
                var cut: [UInt8] = []
                try ResolvedPath.append(path.span, in: root.span, without: prefix, to: &cut)
            }
            self.scheme = scheme
            self.path = path
            authority = [UInt8](bytes.extracting(parts.authority))
            self.query = query.map { [UInt8](bytes.extracting($0)) }
        } catch {
            return nil
        }
    }

    /// The path up to its last `/`.
    var folder: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let path = path.span
            return path.extracting(...(path.lastIndex(of: UInt8(ascii: "/")) ?? 0))
        }
    }

    /// Returns the URL without the grant that it carries.
    func url(without mode: ManifestRules.Mode) -> [UInt8] {
        var url = [UInt8]("\(scheme?.rawValue ?? "")://".utf8) + authority
        var path = path
        if case .segment(let prefix) = mode {
            var cut: [UInt8] = []
            // The path was resolved before, and so cannot fail.
            if (try? ResolvedPath.append(path.span, in: "/".utf8.span, without: prefix, to: &cut)) != nil { path = cut }
        }
        url += path
        guard let query else { return url }
        url.append(UInt8(ascii: "?"))
        guard case .query(let name) = mode else { return url + query }
        if !GrantParameter.appendOthers(than: name, of: query.span, &url) { url.removeLast() }
        return url
    }
}

extension Span<UInt8> {
    /// Returns the last index of `byte`.
    func lastIndex(of byte: UInt8) -> Int? {
        var place = count - 1
        while place >= 0, self[place] != byte { place -= 1 }
        return place >= 0 ? place : nil
    }
}

extension [UInt8] {
    init(_ span: Span<UInt8>) {
        self = []
        append(copying: span)
    }
}
