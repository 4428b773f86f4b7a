// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension PackageAttribute {
    /// Cuts all packages out of a raw target as ``cut(_:)`` does, if every server reads the rest in the same way; `nil`
    /// otherwise.
    ///
    /// RFC 9246 cuts an attribute behind any reserved character, up to any character that no JWT has.
    /// `/a.mp4?NAME=/b.jpg` would become `/a.mp4/b.jpg`, which no server serves for it. A package must therefore be a
    /// whole parameter of a path segment (`;NAME=JWT`) or of the query, with a value. A path with a package must have
    /// no empty and no dot segment: servers resolve those before, or after, they remove it.
    public func cutPlainly(_ target: Substring) -> Cut? {
        let cut = cut(target)
        guard !cut.target.utf8.elementsEqual(target.utf8) else { return cut }
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        var segments: [Substring] = []
        for segment in Substring(path).split(separator: "/", omittingEmptySubsequences: false) {
            let parameters = segment.split(separator: ";", omittingEmptySubsequences: false)
            let kept = parameters.prefix(1) + parameters.dropFirst().filter { !isPackage($0) }
            segments.append(kept.joined(separator: ";")[...])
        }
        var rest = segments.joined(separator: "/")
        if rest.utf8.count != path.count {
            let inner = segments.dropFirst().dropLast()
            guard !inner.contains(where: \.isEmpty), !segments.contains(where: { URIPath.dots(of: $0.utf8.span) > 0 })
            else { return nil }
        }
        if path.endIndex != target.endIndex {
            let query = target[target.utf8.index(after: path.endIndex)...]
            let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { !isPackage($0) }
            if !kept.isEmpty { rest += "?" + kept.joined(separator: "&") }
        }
        guard !cut.packages.isEmpty, rest.utf8.elementsEqual(cut.target.utf8) else { return nil }
        return cut
    }

    /// True for `NAME=JWT`.
    private func isPackage(_ parameter: Substring) -> Bool {
        let value = parameter.utf8.dropFirst(name.utf8.count + 1)
        return parameter.utf8.starts(with: "\(name)=".utf8) && !value.isEmpty && value.allSatisfy(\.isOfJWT)
    }
}
