// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform
public import RequestTargets

/// The request for a vendor's token: a folder or a file, the times, and the binding.
public struct SigningRequest: Hashable, Sendable {
    /// The scheme of the URLs that players use.
    public var scheme = RequestURI.Scheme.https
    /// The host of the URLs, with its port if that is not the default one; `nil` if it is not known.
    public var host: String?
    /// The path, percent-encoded: with a final `/` everything below it, without one this file.
    public var path: String
    /// The file that the player starts with, for ``SignedDelivery/url``: the path itself, or one below it; `nil` if unknown.
    public var file: String?
    /// The other parameters in the query of the file's URL, without `?`; empty for none.
    public var query = ""
    /// The address or network of the client that the token is bound to; `nil` for none.
    public var client: ClientNetwork?
    /// The id of the session in the token, such as ``SixteenBytes/hexadecimal`` of ``SessionID``; `nil` for none.
    public var session: String?
    /// The time of issue.
    public var issued: Timestamp
    /// The expiry: the end of the life, or of the session if that is earlier. Rounded down to a second.
    public var expires: Timestamp

    /// Creates a wish for a path.
    public init(path: String, issued: Timestamp, expires: Timestamp) {
        self.path = path
        self.issued = issued
        self.expires = expires
    }
}
