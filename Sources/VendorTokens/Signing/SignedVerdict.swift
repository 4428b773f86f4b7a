// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
public import RequestTargets

/// The facts of a request that vendors' tokens are checked against.
public struct SignedRequest: Hashable, Sendable {
    /// The path of the request, percent-encoded, without the token.
    public var path: String
    /// The folder that the edge reads from the path, for formats that sign one; `nil` for none.
    public var scope: String?
    /// The address of the client; `nil` if it is unknown.
    public var client: IPAddress?

    /// Creates the facts of a request.
    public init(path: String, scope: String? = nil, client: IPAddress? = nil) {
        self.path = path
        self.scope = scope
        self.client = client
    }
}

/// The answer to a request with a vendor's token.
public enum SignedVerdict: Hashable, Sendable {
    /// The token allows the request.
    case allowed(SignedGrant)
    /// The token does not allow the request: the first check, in the order of ``GrantCode``, that failed.
    case refused(GrantCode)

    /// The reason of the refusal; `nil` if the token allows the request.
    public var code: GrantCode? { if case .refused(let code) = self { code } else { nil } }

    /// The facts of the token; `nil` if it is refused.
    public var grant: SignedGrant? { if case .allowed(let grant) = self { grant } else { nil } }
}

/// The facts of a verified token.
public struct SignedGrant: Hashable, Sendable {
    /// The expiry of the token.
    public let expires: Timestamp
    /// The session or subject; `nil` if the token names none.
    public var session: String?
    /// The id of the key; `nil` if the format has none.
    public var keyID: String?

    init(expires: Int64, session: String? = nil, keyID: String? = nil) {
        self.expires = Timestamp(secondsSince1970: expires)
        self.session = session
        self.keyID = keyID
    }
}

extension Timestamp {
    /// The time in whole seconds, rounded down, as vendors' edges compare it.
    package var wholeSeconds: Int64 { millisecondsSince1970 / 1000 - (millisecondsSince1970 % 1000 < 0 ? 1 : 0) }
}
