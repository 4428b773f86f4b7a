// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
package import RequestTargets

/// A path that is signed, in the two forms that edges compare.
package struct SigningPath: Hashable, Sendable {
    /// The path as requested, percent-encoded.
    package let raw: String
    /// The path with its percent-encodings undone.
    package let decoded: String

    /// The largest path, in bytes.
    private static let maximumSize = 2048

    /// Reads a path that has no dot segments, empty segments or parameters, and that no server decodes to something else.
    ///
    /// An encoded slash separates segments only for an edge that decodes it. For either kind, the path is signed in the
    /// form that the edge compares.
    ///
    /// - Parameter name: The name of the value in errors.
    init(_ text: String, named name: String = "path") throws(SigningError) {
        guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= Self.maximumSize else {
            throw SigningError(.scope, value: name)
        }
        try SigningText.demand(text, named: name, allowing: SigningText.isSegment)
        raw = text
        if URIPath.isPlain(text.utf8.span) {
            decoded = text
            return
        }
        guard let path = try? URIPath.decode(text.utf8.span, permitting: .encodedSlash),
            let resolved = try? URIPath.resolve(path.span), resolved.count == path.count,
            let text = String(validating: path, as: UTF8.self)
        else { throw SigningError(.scope, value: name) }
        decoded = text
    }

    /// Throws if digits at the end could be read as the first of an expiry that is signed behind the path without a
    /// delimiter. A token for `/film2` would then be one for `/film`, with a later end. A digit of a file's type is
    /// permitted, as in `.mp4`: no media has the shortened type.
    func demandEnd() throws(SigningError) {
        guard let last = decoded.utf8.last, last.isASCIIDigit else { return }
        let name = decoded.split(separator: "/").last ?? ""
        if let dot = name.lastIndex(of: "."), Self.typesWithDigits.contains(name[dot...].lowercased()) { return }
        throw SigningError(.character, value: "path", character: Unicode.Scalar(last))
    }

    private static let typesWithDigits: Set<String> = [".m3u8", ".mp4", ".mp3", ".mp2", ".ac3", ".ec3", ".ac4"]

    /// True for a folder with everything below it.
    package var isFolder: Bool { raw.utf8.last == UInt8(ascii: "/") }
}

/// A checked request, with the values that every format uses.
package struct Signing {
    package let request: SigningRequest
    package let path: SigningPath
    package let file: SigningPath?
    /// The times in whole seconds.
    package let issued: Int64
    package let expires: Int64

    /// The latest time that all formats can express: ten digits.
    private static let latest: Int64 = 9_999_999_999

    init(_ request: SigningRequest) throws(SigningError) {
        self.request = request
        path = try SigningPath(request.path)
        if let file = request.file {
            let file = try SigningPath(file, named: "file")
            let isWithin = path.isFolder ? file.raw.hasPrefix(path.raw) && !file.isFolder : file.raw == path.raw
            guard isWithin else { throw SigningError(.scope, value: "file") }
            self.file = file
        } else {
            file = path.isFolder ? nil : path
        }
        issued = request.issued.millisecondsSince1970 / 1000
        expires = request.expires.millisecondsSince1970 / 1000
        guard 0 < issued, issued < expires, expires <= Self.latest else { throw SigningError(.times) }
        if let host = request.host, URIAuthority(host[...]).map({ host.hasPrefix(String($0.host)) }) != true {
            throw SigningError(.value, value: "host")
        }
        try SigningText.demand(request.query, named: "query") { SigningText.isQuery($0) || $0 == UInt8(ascii: "&") }
    }

    /// The scheme and host; `nil` if the host is not known.
    package var origin: String? { request.host.map { "\(request.scheme.rawValue)://\($0)" } }

    /// The path of cookies: the folder, or that of the file, which then has sibling files.
    package var cookiePath: String {
        path.isFolder
            ? path.raw : String(path.raw[...(path.raw.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.raw.startIndex)])
    }

    /// Returns the scheme and host. Throws if they are not known.
    func demandOrigin() throws(SigningError) -> String {
        guard let origin else { throw SigningError(.missing, value: "host") }
        return origin
    }

    /// Returns the client's address as text, `nil` if the token is not bound. Throws if it is bound to a network.
    package func address() throws(SigningError) -> IPAddress? {
        guard let client = request.client else { return nil }
        guard client.isAddress else { throw SigningError(.value, value: "client") }
        return client.address
    }

    /// Returns the session, if there is one, of characters that `isAllowed` accepts.
    package func session(_ isAllowed: (UInt8) -> Bool) throws(SigningError) -> String? {
        guard let session = request.session else { return nil }
        guard !session.isEmpty else { throw SigningError(.value, value: "session") }
        try SigningText.demand(session, named: "session", allowing: isAllowed)
        return session
    }
}
