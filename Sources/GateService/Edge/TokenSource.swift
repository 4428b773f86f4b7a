// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import PlaybackGate

/// A place in which a client may show its token. Its name tells the edge what to remove before it asks the origin.
enum TokenSource: Hashable, Sendable {
    /// A header field, and the scheme before the token if there is one (`Authorization: MediaToken ...`).
    case header(String, scheme: String?)
    /// A cookie.
    case cookie(String)
    /// A parameter of the original query.
    case query(String)
    /// A segment of the original path, identified by its prefix; the catalogue knows the path without it. See
    /// ``OriginalTarget/removingSegments(_:)``.
    case segment(String)
    /// The attribute of a signed URI, in the path or the query of the original target, or a cookie of its name.
    case package(PackageAttribute)

    private var parts: (kind: StaticString, name: String) {
        switch self {
        case .header(let name, _): ("header:", name)
        case .cookie(let name): ("cookie:", name)
        case .query(let name): ("query:", name)
        case .segment(let prefix): ("segment:", prefix)
        case .package(let attribute): ("package:", attribute.name)
        }
    }

    /// The attribute of signed URIs; `nil` for another place.
    var package: PackageAttribute? {
        if case .package(let attribute) = self { attribute } else { nil }
    }

    /// The most bytes of the source's name.
    var nameLimit: Int { 8 + parts.name.utf8.count }

    /// Writes the source's name, such as `query:token`.
    func writeName(into writer: inout ByteWriter) {
        let (kind, name) = parts
        writer.write(kind)
        writer.write(name.utf8.span)
    }

    /// The name of the header field that contains the token; `nil` if none does.
    var headerName: String? {
        switch self {
        case .header(let name, _): name
        case .cookie, .package: "Cookie"
        case .query, .segment: nil
        }
    }
}

extension TokenSource {
    /// Calls `body` with each value that a request has in this place, as it was sent.
    func forEachValue(in fields: HTTPFields, _ target: OriginalTarget, _ body: (Substring) -> Void) {
        switch self {
        case .header(let name, let scheme):
            for index in fields.indices where fields.isField(index, as: name) {
                if let value = fields.value(index).after(scheme: scheme) { body(value) }
            }
        case .cookie(let name): Self.forEachCookie(name, in: fields, body)
        case .package(let attribute):
            for package in target.packages { body(package) }
            Self.forEachCookie(attribute.name, in: fields, body)
        case .query(let name):
            target.query?.forEachPart(of: UInt8(ascii: "&")) { pair in
                if let value = pair.after(name: name) { body(value) }
            }
        case .segment(let prefix):
            target.path.forEachPart(of: UInt8(ascii: "/")) { segment in
                if segment.hasBytePrefix(prefix) { body(segment.droppingBytes(prefix.utf8.count)) }
            }
        }
    }
}

extension TokenSource {
    private static func forEachCookie(_ name: String, in fields: HTTPFields, _ body: (Substring) -> Void) {
        for index in fields.indices where fields.isField(index, "cookie") {
            let value = fields.value(index)
            let bytes = value.utf8.span
            var start = 0
            while start < bytes.count {
                let end = bytes.firstIndex(of: UInt8(ascii: ";"), from: start) ?? bytes.count
                while start < end, bytes[start].isBlank { start += 1 }
                if bytes.extracting(start..<end).hasPrefix(name.utf8.span) {
                    let pair = value.bytes(start..<end)
                    if let value = pair.trimmingBlanks.after(name: name) { body(value.unquoted) }
                }
                start = end + 1
            }
        }
    }
}

/// The token that a request shows, from all places in which it may be.
struct PresentedToken {
    /// The token, percent-decoded if it was encoded; `nil` if there is none.
    private(set) var token: Substring?
    /// The sources that contain the token, as a bit mask.
    private(set) var sources: UInt16 = 0
    /// True if the request shows two different tokens. An attacker may add a second token and rely on another component to
    /// read the first.
    private(set) var isConflict = false

    /// The fault of a request that shows two different tokens; `nil` for any other.
    var fault: DenyCode? { isConflict ? .tokenConflict : nil }

    /// The most sources that can be configured.
    static let maximumSources = 16

    /// Finds the token in `sources`.
    init(in sources: [TokenSource], _ fields: HTTPFields, _ target: OriginalTarget) {
        for (number, source) in sources.enumerated() {
            source.forEachValue(in: fields, target) { show($0, number) }
        }
    }

    private mutating func show(_ value: Substring, _ source: Int) {
        guard !value.isEmpty else { return }
        let shown = value.percentDecodedToken
        if let token {
            guard token.utf8.span.hasSameBytes(as: shown.utf8.span) else {
                isConflict = true
                return
            }
        } else {
            token = shown
        }
        self.sources |= 1 << UInt16(source)
    }
}

extension String {
    /// True if this equals `name`, ignoring the case of ASCII letters.
    func isSameField(as name: String) -> Bool {
        guard utf8.count == name.utf8.count else { return false }
        let bytes = utf8.span
        let wanted = name.utf8.span
        for place in bytes.indices where bytes[place].lowercasedASCII != wanted[place].lowercasedASCII { return false }
        return true
    }
}

extension Substring {
    /// Returns the text after the scheme and blanks; `nil` if this has another scheme.
    fileprivate func after(scheme: String?) -> Substring? {
        guard let scheme else { return trimmingBlanks }
        let length = scheme.utf8.count
        guard utf8.count > length, String(Substring(utf8.prefix(length))).isSameField(as: scheme) else { return nil }
        let rest = droppingBytes(length)
        return rest.utf8.first == UInt8(ascii: " ") ? rest.trimmingBlanks : nil
    }

    /// The value of a cookie, without quotes (RFC 6265 §4.1.1).
    fileprivate var unquoted: Substring {
        utf8.count >= 2 && utf8.first == UInt8(ascii: "\"") && utf8.last == UInt8(ascii: "\"")
            ? Substring(utf8.dropFirst().dropLast()) : self
    }
}
