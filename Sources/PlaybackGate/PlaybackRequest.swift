// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What somebody asks the gate: may this be played, with this token?
public struct PlaybackRequest: Hashable, Sendable {
    /// What is to be played.
    public enum Target: Hashable, Sendable {
        /// A media id of the catalogue, byte for byte.
        case media(String)
        /// The path of a stream as it was requested: percent-encoded, a query may follow.
        case path(Substring)

        /// The path of a stream as it was requested.
        public static func path(_ text: String) -> Target { .path(text[...]) }
    }

    /// What is to be played.
    public var target: Target
    /// The host that the client asked for, in the form of ``HostName``; nil if it is not known. Entries that name hosts
    /// are found with it.
    public var host: Substring?
    /// The method of the client's request; a playback that a backend starts counts as a GET.
    public var method: Method = .get
    /// Whether the client asks for a part of the media: a `Range` that is not the whole.
    public var isPartial = false
    /// The media token as transmitted, if there is one. A part of a larger text costs no copy.
    public var token: Substring?
    /// What names this start of a playback, so that a second request for it gets the answer of the first.
    public var playbackID: String?
    /// Who asks, as far as is known. Never decides anything.
    public var client: Client

    /// A method of HTTP, as far as entries of the catalogue can permit it.
    ///
    /// Source: RFC 9110 §9.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// Fetches the media.
        case get = "GET"
        /// Fetches what is known of the media without the media: never consumes a token.
        case head = "HEAD"
        /// Asks what may be asked, such as a CORS preflight: never consumes a token.
        case options = "OPTIONS"
        /// Sends something, such as a request for a licence.
        case post = "POST"
        /// Replaces the media.
        case put = "PUT"
        /// Changes the media.
        case patch = "PATCH"
        /// Removes the media.
        case delete = "DELETE"
        /// Any other method, such as PURGE. No entry permits it.
        case other = ""

        /// Whether a request of this method carries no media to the client, and so starts no playback.
        var isProbe: Bool { self == .head || self == .options }
    }

    /// Facts about who asks, for the log.
    public struct Client: Hashable, Sendable {
        /// The trace of the request, as in the answer.
        public var trace: TraceID
        /// The caller by its own credentials, such as the name of an API key.
        public var caller: String?
        /// The kind of edge that asks for a client of its own; nil where a player backend asks.
        public var edge: String?

        /// Makes facts about a client.
        public init(trace: TraceID = .none, caller: String? = nil, edge: String? = nil) {
            self.trace = trace
            self.caller = caller
            self.edge = edge
        }
    }

    /// Makes a request.
    public init(
        _ target: Target,
        host: String? = nil,
        token: String?,
        playbackID: String? = nil,
        client: Client = Client()
    ) {
        self.target = target
        self.host = host.map { $0[...] }
        self.token = token.map { $0[...] }
        self.playbackID = playbackID
        self.client = client
    }
}
