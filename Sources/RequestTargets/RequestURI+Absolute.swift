// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension RequestURI {
    /// Creates the URI of a request from an absolute `http` or `https` URL; `nil` for any other text, and for a URL with user
    /// information or a fragment.
    ///
    /// - Parameter url: At most ``maximumSize`` bytes behind the host.
    public init?(url: Substring) {
        guard let scheme = Scheme.allCases.first(where: { url.utf8.starts(with: "\($0.rawValue)://".utf8) }) else {
            return nil
        }
        let rest = url.utf8.dropFirst(scheme.rawValue.utf8.count + 3)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = Substring(rest[..<end])
        var target = Substring(rest[end...])
        guard !authority.isEmpty, !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
        if target.utf8.first != UInt8(ascii: "/") { target = "/\(target)" }
        self.init(target, scheme: scheme, authority: authority)
    }
}
