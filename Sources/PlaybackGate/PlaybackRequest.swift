// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import AccessTokens
public import RequestTargets

/// A request to play media with a token.
public struct PlaybackRequest: Hashable, Sendable {
    /// The media to play.
    public enum Target: Hashable, Sendable {
        /// A media id of the catalogue, compared byte for byte.
        case media(String)
        /// The path of a stream as it was requested: percent-encoded, with or without a query.
        case path(Substring)

        /// Creates a target from the path of a stream as it was requested.
        public static func path(_ text: String) -> Target { .path(text[...]) }
    }

    /// The media to play.
    public var target: Target
    /// The requested host, in the form of ``HostName``; `nil` if it is not known. It selects among entries that name hosts.
    public var host: Substring?
    /// The method of the client's request; GET for a playback that a backend starts.
    public var method: Method = .get
    /// True if the client requests a part of the media: a `Range` that does not cover all of it.
    public var isPartial = false
    /// The media token as transmitted; `nil` for none. A slice of a larger text is not copied.
    public var token: Substring?
    /// The identifier of this playback start. A second request with the same identifier gets the answer of the first.
    public var playbackID: String?
    /// The facts about the player to which its token or its grants may be bound; `nil` if none is known.
    public var player: Player?
    /// The caller, as far as it is known. It never affects the decision.
    public var client: Client

    /// An HTTP method that an entry of the catalogue may permit.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// Fetches the media.
        case get = "GET"
        /// Fetches the header fields without the media; never consumes a token.
        case head = "HEAD"
        /// Asks for the permitted requests, such as a CORS preflight; never consumes a token.
        case options = "OPTIONS"
        /// Submits data, such as a licence request.
        case post = "POST"
        /// Replaces the media.
        case put = "PUT"
        /// Changes the media.
        case patch = "PATCH"
        /// Removes the media.
        case delete = "DELETE"
        /// Any other method, such as PURGE. No entry permits it.
        case other = ""

        /// True if a request of this method delivers no media, and so starts no playback.
        var isProbe: Bool { self == .head || self == .options }
    }

    /// The facts about the caller, for the log.
    public struct Client: Hashable, Sendable {
        /// The trace id of the request, as in its response.
        public var trace: TraceID
        /// The caller's span that the request belongs to.
        public var parent: TraceParent
        /// The authenticated caller, such as the name of an API key.
        public var caller: String?
        /// The kind of edge that sends the request for its client; `nil` for a player backend.
        public var edge: String?
        /// The number by which an edge that counts its requests by itself reports them; `nil` for none.
        package var observer: UInt64?

        /// Creates facts about a caller.
        public init(
            trace: TraceID = .none,
            parent: TraceParent = .none,
            caller: String? = nil,
            edge: String? = nil
        ) {
            self.trace = trace
            self.parent = parent
            self.caller = caller
            self.edge = edge
        }
    }

    /// Creates a request.
    public init(
        _ target: Target,
        host: String? = nil,
        token: String?,
        playbackID: String? = nil,
        player: Player? = nil,
        client: Client = Client()
    ) {
        self.target = target
        self.host = host.map { $0[...] }
        self.token = token.map { $0[...] }
        self.playbackID = playbackID
        self.player = player
        self.client = client
    }

    /// Creates the request of a client of an edge.
    @inlinable
    package init(
        path: Substring,
        method: Method,
        isPartial: Bool,
        token: Substring?,
        player: Player?,
        client: Client
    ) {
        target = .path(path)
        self.method = method
        self.isPartial = isPartial
        self.token = token
        self.player = player
        self.client = client
    }
}

extension PlaybackRequest.Target {
    /// The name of the target: a media id, or a path in canonical form. No media id has the name of a path.
    package var playedName: String {
        switch self {
        case .media(let id): "media:\(id)"
        case .path(let requested): "path:\((try? MediaPath(requested))?.text ?? String(requested))"
        }
    }
}

extension PlaybackRequest {
    /// The facts about a player to which its token or its grants may be bound: see ``GrantProfile/Binding``.
    ///
    /// A class, so that a request stays small.
    public final class Player: Hashable, Sendable {
        /// The address; `nil` if it is not known.
        public let address: IPAddress?
        /// The proof that the player owns what its access token is bound to; `nil` for none.
        public let proof: PresentedProof?
        /// The content keys that the player asks a licence for; `nil` if they are not known.
        public let keys: [ContentKeyID]?
        /// The lines of header fields, with their names in lower case.
        private let headers: [Header]

        private struct Header: Hashable {
            let name: String
            let value: String
        }

        /// Creates the facts about a player.
        ///
        /// - Parameters:
        ///   - address: The address; `nil` if it is not known.
        ///   - headers: The header fields that a grant may be bound to, in the order of the request.
        ///   - proof: The proof that the player owns what its access token is bound to; `nil` for none.
        ///   - keys: The content keys that the player asks a licence for; `nil` if they are not known.
        public init(
            address: IPAddress?,
            headers: [(name: String, value: String)] = [],
            proof: PresentedProof? = nil,
            keys: [ContentKeyID]? = nil
        ) {
            self.address = address
            (self.proof, self.keys) = (proof, keys)
            self.headers = headers.map { Header(name: $0.name.lowercased(), value: $0.value) }
        }

        /// Returns the values of a header field by its name in lower case.
        func values(of name: String) -> [Substring] { headers.filter { $0.name == name }.map { $0.value[...] } }

        /// Compares all facts.
        public static func == (one: Player, other: Player) -> Bool {
            one.address == other.address && one.headers == other.headers && one.proof == other.proof
                && one.keys == other.keys
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(address) }
    }
}

extension PlaybackRequest.Client {
    /// Reads the trace ID and the span of `traceparent`; creates a new ID if the field is missing or malformed.
    package init(traceparent: Substring?, caller: String? = nil, edge: String? = nil) {
        let (trace, parent) = traceparent.flatMap { TraceID.parse($0.utf8.span) } ?? (.new(), .none)
        self.init(trace: trace, parent: parent, caller: caller, edge: edge)
    }
}
