// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import RequestTargets

/// The absolute URL to which references are relative (RFC 3986 §5.1).
package struct ReferenceBase: Hashable, Sendable {
    /// The scheme; `nil` for other schemes than the web's, whose relative references are never protected.
    let scheme: RequestURI.Scheme?
    /// The host and port, as written.
    let authority: [UInt8]
    /// The path, resolved, with the segments of a grant.
    let path: [UInt8]
    /// The beginning of the path that references by a path stay below: a public path, or nothing.
    private(set) var root: [UInt8] = []
    /// The query; `nil` without a `?`.
    let query: [UInt8]?
    /// True if relative references carry the grant.
    package internal(set) var isProtected = false

    init(scheme: RequestURI.Scheme?, authority: [UInt8], path: [UInt8], query: [UInt8]?, root: [UInt8] = []) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
        self.root = root
    }

    /// Parses the URL of a manifest; `nil` if two readers could understand it differently.
    package init?(url: String, _ mode: ManifestRules.Mode) {
        guard 1...ManifestRules.maximumURLSize ~= url.utf8.count else { return nil }
        let bytes = url.utf8.span
        do throws(ReferenceFault) {
            let parts = try ReferenceParts(bytes)
            guard case .absolute(let scheme) = parts.form else { return nil }
            try parts.check(bytes, isTemplate: false)
            guard
                ProtectedHost.contains([], scheme: scheme, authority: bytes.extracting(parts.authority), own: scheme)
                    != nil
            else {
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

    /// The same below the root of a reference by a path.
    var folderBelowRoot: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { folder.extracting(root.count...) }
    }

    /// Returns the base whose references by a path stay below a public path, if its own is below it.
    func below(_ publicPath: PublicPath) -> ReferenceBase {
        guard publicPath.isPrefix(of: path.span) else { return self }
        var base = self
        base.root = publicPath.bytes
        return base
    }

    /// The same URL as players read it, without knowledge of a root.
    var asRead: ReferenceBase {
        var base = self
        base.root = []
        return base
    }

    /// Returns the base with the known facts about its protection.
    func protected(by hosts: Set<ProtectedHost>, for player: ReferenceBase) -> ReferenceBase {
        var base = self
        base.isProtected =
            ProtectedHost.contains(hosts, scheme: scheme, authority: authority.span, own: player.scheme) ?? false
        return base
    }

    /// Returns the URL to which a reference leads (RFC 3986 §5.2), which is the base of those below it; not protected.
    package func resolving(_ reference: Span<UInt8>) throws(ReferenceFault) -> ReferenceBase {
        try resolving(reference, parts: ReferenceParts(reference))
    }

    func resolving(_ reference: Span<UInt8>, parts: ReferenceParts) throws(ReferenceFault) -> ReferenceBase {
        let query = parts.query.map { [UInt8](reference.extracting($0)) }
        var named = scheme
        switch parts.form {
        case .otherScheme: return ReferenceBase(scheme: nil, authority: [], path: [UInt8(ascii: "/")], query: nil)
        case .path where parts.path.isEmpty:
            return ReferenceBase(
                scheme: scheme,
                authority: authority,
                path: path,
                query: query ?? self.query,
                root: root
            )
        case .path:
            var path = root
            try ResolvedPath.append(reference.extracting(parts.path), in: folderBelowRoot, without: nil, to: &path)
            return ReferenceBase(scheme: scheme, authority: authority, path: path, query: query, root: root)
        case .absolute(let scheme): named = scheme
        case .network: break
        }
        var path: [UInt8] = []
        try ResolvedPath.append(reference.extracting(parts.path), in: "/".utf8.span, without: nil, to: &path)
        return ReferenceBase(
            scheme: named,
            authority: [UInt8](reference.extracting(parts.authority)),
            path: path,
            query: query
        )
    }

    /// The URL up to its path.
    var origin: [UInt8] { [UInt8]("\(scheme?.rawValue ?? "")://".utf8) + authority }

    /// Returns true if both have the same scheme, host and port, however they are written.
    func hasSameSite(as other: ReferenceBase) -> Bool { scheme == other.scheme && hasSameHost(as: other) }

    /// Returns true if both have the same host and port; the default ports of both schemes are the same.
    func hasSameHost(as other: ReferenceBase) -> Bool {
        if scheme == other.scheme, authority == other.authority { return true }
        guard let own = URIAuthority(String(decoding: authority, as: UTF8.self)[...]),
            let their = URIAuthority(String(decoding: other.authority, as: UTF8.self)[...])
        else { return false }
        let (port, theirPort) = (
            own.port == scheme?.defaultPort ? nil : own.port, their.port == other.scheme?.defaultPort ? nil : their.port
        )
        return own.host == their.host && port == theirPort
    }

    /// The URL.
    package var url: String {
        let query = query.map { "?" + String(decoding: $0, as: UTF8.self) } ?? ""
        return String(decoding: origin + path, as: UTF8.self) + query
    }

    /// Returns the URL without the grant that it carries.
    func url(without mode: ManifestRules.Mode) -> [UInt8] {
        var url = origin
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
        var position = count - 1
        while position >= 0, self[position] != byte { position -= 1 }
        return position >= 0 ? position : nil
    }
}

extension [UInt8] {
    init(_ span: Span<UInt8>) {
        self = []
        append(copying: span)
    }
}
