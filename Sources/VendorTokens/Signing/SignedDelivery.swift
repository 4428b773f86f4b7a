// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Platform

/// The result of signing: one token in every carrier that the format has for it.
public struct SignedDelivery: Hashable, Sendable {
    /// The format.
    public let format: VendorFormat
    /// Only the token, as a verifier accepts it.
    public let token: String
    /// The time at which the edge stops to accept the token; a second later for formats that include the last second.
    public let expires: Timestamp
    /// The query parameters with the token, without `?`; `nil` if the format has none.
    public internal(set) var query: String?
    /// The cookies with the token, all of which are set; empty if the format has none.
    public internal(set) var cookies: [Cookie] = []
    /// The path of the request with the token in it, which relative references retain; `nil` if the format has none.
    public internal(set) var path: String?
    /// The URL of the file with the token, in the path or else in the query; `nil` without a host or a file, or if the format
    /// has only cookies.
    public internal(set) var url: String?

    /// A location in a request for a token.
    public enum Carrier: String, Hashable, Sendable, CaseIterable {
        /// Parameters of the query: for one file, or for players that add them to each reference.
        case query
        /// Cookies, which players send by themselves.
        case cookie
        /// A segment of the path, which relative references retain.
        case segment
    }

    /// A cookie.
    public struct Cookie: Hashable, Sendable {
        /// The name.
        public let name: String
        /// The value.
        public let value: String
        /// The path of the URLs with which it is sent.
        public let path: String

        /// Returns the value of `Set-Cookie`; `nil` if it would exceed 4,096 bytes, which browsers drop silently.
        ///
        /// - Parameters:
        ///   - expires: The expiry of the token.
        ///   - now: The time of the answer.
        ///   - attributes: The attributes beside path and age.
        public func line(
            until expires: Timestamp,
            at now: Timestamp,
            attributes: [String] = ["Secure", "HttpOnly", "SameSite=None"]
        ) -> String? {
            let age = SetCookie.age(until: expires, at: now)
            return SetCookie.line(name, value: value, path: path, age: age, attributes: attributes)
        }
    }

    /// The carriers that this token has.
    public var carriers: Set<Carrier> {
        var carriers: Set<Carrier> = []
        if query != nil { carriers.insert(.query) }
        if !cookies.isEmpty { carriers.insert(.cookie) }
        if path != nil { carriers.insert(.segment) }
        return carriers
    }

    package init(format: VendorFormat, token: String, expires: Int64) {
        self.format = format
        self.token = token
        self.expires = Timestamp(secondsSince1970: expires)
    }
}

extension SignedDelivery {
    /// Writes the token into the query, a cookie and a segment under one name, if its characters permit, and makes the
    /// URL.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/character`` if no carrier accepts it,
    ///   ``SigningError/Code/size`` if it is too large.
    package mutating func carry(
        as name: String,
        in carriers: Set<Carrier>,
        _ signing: Signing
    ) throws(SigningError) {
        try SigningText.demand(name, named: "name", allowing: SigningText.isName)
        guard token.utf8.count <= SigningText.maximumSize else { throw SigningError(.size) }
        if carriers.contains(.query), SigningText.stranger(in: token, allowing: SigningText.isQuery) == nil {
            query = "\(name)=\(token)"
        }
        if carriers.contains(.cookie), SigningText.stranger(in: token, allowing: SigningText.isCookie) == nil {
            cookies = [Cookie(name: name, value: token, path: signing.cookiePath)]
        }
        if carriers.contains(.segment), SigningText.stranger(in: token, allowing: SigningText.isSegment) == nil {
            path = "/\(name)=\(token)\(signing.path.raw)"
        }
        guard query != nil || !cookies.isEmpty || path != nil else {
            throw SigningError(
                .character,
                value: "token",
                character: SigningText.stranger(in: token, allowing: SigningText.isQuery)
            )
        }
        makeURL(signing)
    }

    /// Makes the URL of the file: with the token in the path, or else in the query.
    ///
    /// - Parameter own: The other parameters of the query.
    mutating func makeURL(_ signing: Signing, own: String? = nil) {
        guard let origin = signing.origin, let file = signing.file else { return }
        let own = own ?? signing.request.query
        if let path, signing.path.isFolder || query == nil {
            // The file is the path itself, or below it.
            let rest = file.raw.dropFirst(signing.path.raw.count)
            url = "\(origin)\(path)\(rest)\(own.isEmpty ? "" : "?" + own)"
        } else if let query {
            url = "\(origin)\(file.raw)?\(own.isEmpty ? "" : own + "&")\(query)"
        }
    }
}
