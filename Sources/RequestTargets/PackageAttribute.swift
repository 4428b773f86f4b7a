// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The attribute of a URI, or the cookie, that holds a signed JWT: `URISigningPackage` unless agreed otherwise.
///
/// Source: RFC 9246 §1.3 and §2.1.3, RFC 6570 §3.2.7 to §3.2.9.
public struct PackageAttribute: Hashable, Sendable {
    /// The name.
    public let name: String

    /// The name that RFC 9246 registers.
    public static let standardName = "URISigningPackage"
    /// The attribute with the registered name.
    public static let standard = PackageAttribute(known: standardName)

    private init(known name: String) { self.name = name }

    /// Creates an attribute; `nil` unless its name has 1 to 64 letters, digits, `-` or `_`.
    public init?(_ name: String) {
        let isPlain = name.utf8.allSatisfy {
            $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard isPlain, 1...64 ~= name.utf8.count else { return nil }
        self.init(known: name)
    }

    /// A request target and the packages that it carried.
    public struct Cut: Hashable, Sendable {
        /// The target without the attributes, which is matched, authorized and cached.
        public let target: Substring
        /// The values of the attributes, in their order, without duplicates and empty ones.
        public let packages: [Substring]
    }

    /// Cuts all packages out of a raw target, before anything else looks at it.
    ///
    /// An attribute is its name behind a reserved character and before `=`. Its value extends over the characters of a
    /// JWT. If the next character is a sub-delimiter, it is removed with the attribute. Otherwise the reserved
    /// character before the name is removed.
    ///
    /// - Parameter target: The path and query as requested. Without attributes it is returned unchanged.
    public func cut(_ target: Substring) -> Cut {
        let bytes = target.utf8.span
        let name = name.utf8.span
        guard Self.hasAttribute(named: name, in: bytes) else { return Cut(target: target, packages: []) }
        var rest: [UInt8] = []
        var packages: [Substring] = []
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            rest.append(byte)
            // What was kept may form an attribute with the characters behind one that was removed.
            guard byte == UInt8(ascii: "="), Self.endsAttribute(in: rest.span, at: rest.count - 1, named: name) else {
                continue
            }
            let start = position
            while position < bytes.count, bytes[position].isOfJWT { position += 1 }
            let package = Substring(String(copying: bytes.extracting(start..<position)))
            if !package.isEmpty, !packages.contains(where: { $0.utf8.elementsEqual(package.utf8) }) {
                packages.append(package)
            }
            rest.removeLast(name.count + 1)
            if position < bytes.count, bytes[position].isSubDelimiter { position += 1 } else { rest.removeLast() }
        }
        if rest.first != UInt8(ascii: "/") { rest.insert(UInt8(ascii: "/"), at: 0) }
        return Cut(target: Substring(decoding: rest, as: UTF8.self), packages: packages)
    }

    /// True if there is an attribute in the bytes.
    private static func hasAttribute(named name: Span<UInt8>, in bytes: Span<UInt8>) -> Bool {
        var position = 0
        while let found = bytes.firstIndex(of: UInt8(ascii: "="), from: position) {
            if endsAttribute(in: bytes, at: found, named: name) { return true }
            position = found + 1
        }
        return false
    }

    /// True if the name and a reserved character precede the equals sign at this index.
    private static func endsAttribute(in bytes: Span<UInt8>, at position: Int, named name: Span<UInt8>) -> Bool {
        guard position > name.count else { return false }
        let start = position - name.count
        return bytes[start - 1].isReserved && bytes.extracting(start..<position).hasSameBytes(as: name)
    }

    /// Returns a target with a package as the last parameter of its query.
    public func inQuery(_ package: String, of target: Substring) -> String {
        let hasQuery = target.utf8.contains(UInt8(ascii: "?"))
        let isOpen = target.utf8.last == UInt8(ascii: "?") || target.utf8.last == UInt8(ascii: "&")
        return "\(target)\(isOpen ? "" : hasQuery ? "&" : "?")\(name)=\(package)"
    }

    /// Returns a target with a package as a parameter of its path, before the query.
    public func inPath(_ package: String, of target: Substring) -> String {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return "\(Substring(path));\(name)=\(package)\(target[path.endIndex...])"
    }
}

extension UInt8 {
    /// True for the characters of compact JWTs.
    var isOfJWT: Bool {
        isASCIIAlphanumeric || self == UInt8(ascii: ".") || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
    }

    /// True for the sub-delimiters of URIs (RFC 3986 §2.2).
    fileprivate var isSubDelimiter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// True for the reserved characters of URIs (RFC 3986 §2.2).
    fileprivate var isReserved: Bool {
        switch self {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "@"):
            true
        default: isSubDelimiter
        }
    }
}

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
