// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import GateStores
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate

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
        var limits: HTTPLimits
        var place: ConfigurationPlace

        struct TLS: Hashable, Sendable {
            var certificate: Located<String>
            var key: Located<String>
            /// Who may vouch for clients; nil where clients need no certificate.
            var clientAuthorities: Located<String>?
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

extension GateConfiguration.Listener {
    /// The settings of this listener, with its certificate and key read from their files.
    ///
    /// - Throws: ``ConfigurationError`` at the place of the file that cannot be used.
    func settings() throws(ConfigurationError) -> ListenerSettings {
        let server: ServerTLS?
        do throws(ServerTLS.Fault) {
            server = try tls.map { (tls) throws(ServerTLS.Fault) in
                try ServerTLS(
                    certificate: tls.certificate.value,
                    key: tls.key.value,
                    clientAuthorities: tls.clientAuthorities?.value
                )
            }
        } catch {
            let file =
                switch error.file {
                case .certificate: tls?.certificate
                case .key: tls?.key
                case .clientAuthorities: tls?.clientAuthorities
                }
            throw ConfigurationError(
                problems: [ConfigurationProblem(place: file?.place ?? place, message: error.reason)]
            )
        }
        return ListenerSettings(address: address, socketMode: socketMode, limits: limits, tls: server)
    }
}
