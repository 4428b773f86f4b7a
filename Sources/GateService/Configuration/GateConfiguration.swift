// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateStores
internal import MediaResources
internal import MediaTokens
internal import PlaybackGate
internal import StrictJSON

/// What the gate is told by its configuration file: read once, then plain values.
///
/// What the file names (keys, feeds) is not read yet; see `GateBuilder`.
struct GateConfiguration: Sendable {
    /// The configuration file.
    let file: ConfigurationFile
    var trust: Trust
    var verification: Verification
    var catalogue: Catalogue
    var policies: [PlaybackPolicy]
    var use: Use
    var isShadow: Bool
    var api: API
    /// Nil where no edge asks.
    var edge: Edge?
    var admin: Listener
    /// The names by which the admin listener may be reached, beside addresses and localhost.
    var adminHosts: [String]
    var log: Log
    var shutdownGrace: Duration
    /// How often files are looked at for changes; nil never.
    var watchInterval: Duration?
    /// What is in force, defaults too, without secrets.
    var effective: JSONText

    struct Trust: Hashable, Sendable {
        var keys: [Key]
        var anchors: [Located<String>]
        var minimumKeySize: MinimumRSAKeySize

        struct Key: Hashable, Sendable {
            var file: Located<String>
            var name: String?
            var requestors: [String]?
            var validity: ClosedRange<Timestamp>?
        }
    }

    struct Verification: Hashable, Sendable {
        var earlyLeeway: Duration
        var lateLeeway: Duration
        var maximumTimeToLive: Duration
        var matchOptions: MediaResource.MatchOptions
        /// How many authenticated tokens are remembered; 0 is none.
        var cacheCapacity: Int
    }

    struct Catalogue: Sendable {
        var entries: [Located<PlaybackGate.Catalogue.Entry>]
        /// Where tokens are shown for entries that say so themselves.
        var tokens: [PlaybackGate.Catalogue.Entry: [TokenSource]]
        var feeds: [Feed]

        struct Feed: Hashable, Sendable {
            var file: Located<String>
            var requestor: String
            var channel: String?
            var paths: FeedPathScope
        }
    }

    struct Use: Sendable {
        var store: Store
        var rules: Gate.Rules

        enum Store: Sendable {
            case memory(capacity: Int)
            case sqlite(Located<String>)
            #if Redis
                case redis(RedisSettings)
            #endif
        }
    }

    /// A socket that is listened to, and what clients may do there.
    struct Listener: Sendable {
        var address: ListenerAddress
        /// Who may use a unix socket, such as 0o660; nil leaves that to the umask.
        var socketMode: Int?
        var tls: TLS?
        var limits: Limits
        var place: ConfigurationPlace

        struct TLS: Hashable, Sendable {
            var certificate: Located<String>
            var key: Located<String>
            /// Who may vouch for clients; nil where clients need no certificate.
            var clientAuthorities: Located<String>?
        }

        struct Limits: Hashable, Sendable {
            /// How many connections may be open.
            var connections: Int
            /// How many connections one address may have.
            var connectionsPerPeer: Int
            /// How many bytes of headers a request may have.
            var headerBytes: Int
            /// How many bytes of body a request may have.
            var bodyBytes: Int
            /// How long a client may take from the first byte of a request to the last.
            var requestTimeout: Duration
            /// How long a connection may be idle between requests.
            var idleTimeout: Duration
        }
    }

    struct API: Sendable {
        var listener: Listener
        /// Who may call; nil is everybody, which only a local listener may say.
        var callers: [Caller]?
        /// How many requests may be in hand at once.
        var concurrency: Int
        /// What the links to explanations of codes begin with.
        var helpURL: String
    }

    /// What edges ask.
    struct Edge: Sendable {
        var listener: Listener
        var peers: TrustedPeers
        /// The endpoints that there are.
        var dialects: Set<EdgeDialect>
        /// Where clients may show their tokens.
        var tokens: [TokenSource]
        /// The same for entries that have a list of their own.
        var tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]]
        /// Prefixes of the segments of paths that may be tokens, for whatever entry: none is part of a path, or of a log.
        var segments: [String]
        /// The headers of clients that an answer depends on, for `Vary`: where tokens are.
        var tokenHeaders: String
        /// For how many seconds an edge may keep an answer.
        var cacheCeiling: Int64
    }

    struct Log: Hashable, Sendable {
        var format: LogFormat
        var level: LogLevel
        /// Which checks of edges get a line.
        var checks: CheckLog
        /// What session GUIDs are hashed with; nil is a random salt for each start.
        var salt: Secret?
    }
}

/// A value, and where it stands in the configuration.
struct Located<Value> {
    let value: Value
    let place: ConfigurationPlace
}

extension Located: Sendable where Value: Sendable {}
extension Located: Equatable where Value: Equatable {}
extension Located: Hashable where Value: Hashable {}

/// Somebody who may call the API.
struct Caller: Hashable, Sendable {
    let name: String
    let credential: Credential
    let scopes: Set<Scope>

    enum Credential: Hashable, Sendable {
        /// The SHA-256 of a bearer key.
        case key(sha256: [UInt8])
        /// The SHA-256 of a client certificate's DER form.
        case certificate(sha256: [UInt8])
    }
}

/// What a caller may do.
enum Scope: String, CaseIterable, Sendable {
    /// Start playbacks.
    case playback
    /// Verify tokens without using them up.
    case verify
    /// Look things up in the catalogue.
    case catalogue
    /// Revoke tokens, sessions and MVPDs.
    case revoke
}

/// The form of log lines.
enum LogFormat: String, CaseIterable, Sendable {
    case json
    case text
}

/// Which checks of edges get a line.
enum CheckLog: String, CaseIterable, Sendable {
    /// Those that used a token up, or were refused.
    case decisive
    /// All.
    case all
}

/// The least that is logged.
enum LogLevel: String, CaseIterable, Sendable {
    case debug
    case info
    case warning
    case error

    /// True if lines of `level` are written too.
    func isAtMost(_ level: LogLevel) -> Bool {
        (Self.allCases.firstIndex(of: self) ?? 0) <= (Self.allCases.firstIndex(of: level) ?? 0)
    }
}

/// Where a listener listens.
enum ListenerAddress: Hashable, Sendable {
    /// An address or name, and a port; 0 is any free one.
    case tcp(host: String, port: Int)
    /// The path of a socket.
    case unix(path: String)
    /// The number of a socket that this process was started with.
    case descriptor(Int32)

    /// Whether only this machine can reach it.
    var isLocal: Bool {
        switch self {
        case .unix: true
        // What it is bound to is for who made it to know.
        case .descriptor: false
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}

extension ListenerAddress: CustomStringConvertible {
    var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .descriptor(let number): "fd:\(number)"
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
