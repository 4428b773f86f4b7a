// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeChecks
internal import EdgeTokens
internal import Encodings
internal import GateStores
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate

/// The configuration file of the gate, read once into plain values.
///
/// Files that it names (keys, feeds) are not read yet; see `GateBuilder`.
struct GateConfiguration: Sendable {
    /// The configuration file.
    let file: ConfigurationFile
    var trust: Trust
    var verification: Verification
    var catalogue: Catalogue
    var policies: [PlaybackPolicy]
    var use: Use
    /// The settings for grants; `nil` if the gate issues and accepts none.
    var grants: Grants?
    var isShadow: Bool
    var api: API
    /// The settings for edges; `nil` if there is no edge listener.
    var edge: Edge?
    /// The settings for manifests; `nil` if there is no manifest listener.
    var manifest: Manifest?
    var admin: Listener
    /// The host names of the admin listener, besides addresses and localhost.
    var adminHosts: [String]
    /// The callers that may use the operator page; none if there is no page.
    var adminCallers: [Caller]
    var log: Log
    /// The settings of the spans that are sent to a collector; `nil` if none are.
    var traces: Traces?
    var shutdownGrace: Duration
    var watch: FileWatching
    /// The effective configuration, with defaults and without secrets.
    var effective: JSON

    /// The text that this was parsed from, which may have secrets.
    let text: String

    /// The files whose changes are noticed.
    struct FileWatching: Hashable, Sendable {
        /// The interval at which they are checked.
        var interval: Duration
        var subject: Subject

        enum Subject: String, CaseIterable {
            /// Keys, certificates and feeds: what the configuration names.
            case files
            /// The configuration too. A writer that pauses for seconds may open what it protects later.
            case configuration
            case nothing = "false"
        }
    }

    struct Trust: Hashable, Sendable {
        var keys: [Key]
        var anchors: [Located<String>]
        var minimumKeySize: MinimumRSAKeySize

        struct Key: Hashable, Sendable {
            var file: Located<String>
            var name: String?
            var requestors: [String]?
            var validity: ClosedRange<Timestamp>?
            var tokens = MediaTokenForm.signedElement
        }
    }

    struct Verification: Hashable, Sendable {
        var earlyLeeway: Duration
        var lateLeeway: Duration
        var maximumTimeToLive: Duration
        var matchOptions: MediaResource.MatchOptions
        /// The number of authenticated tokens that the cache holds; 0 for no cache.
        var cacheCapacity: Int
    }

    struct Catalogue: Sendable {
        var entries: [Located<PlaybackGate.Catalogue.Entry>]
        /// The token sources of entries that have a list of their own.
        var tokens: [PlaybackGate.Catalogue.Entry: [TokenSource]]
        var feeds: [Feed]

        struct Feed: Hashable, Sendable {
            var file: Located<String>
            var requestor: String
            var channel: String?
            var paths: FeedPathScope
            /// The profiles of the grants that playbacks of its items get.
            var grants: [GrantProfile]
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

    /// A listening socket and the limits of its clients.
    struct Listener: Sendable {
        var address: ListenerAddress
        /// The permissions of a unix socket, such as 0o660; `nil` leaves them to the umask.
        var socketMode: Int?
        /// The name or number of the group of a unix socket; `nil` leaves it to the system.
        var socketGroup: Located<String>?
        var tls: TLS?
        var limits: HTTPLimits
        var place: ConfigurationPlace

        struct TLS: Hashable, Sendable {
            var certificate: Located<String>
            var key: Located<String>
            /// The authorities that sign client certificates; `nil` if client certificates are not requested.
            var clientAuthorities: Located<String>?
        }
    }

    struct API: Sendable {
        var listener: Listener
        /// The callers that may use the API; `nil` if every caller may, which only a local listener permits.
        var callers: [Caller]?
        /// The host names of a listener for every caller, besides addresses and localhost.
        var hosts: [String]
        /// The most requests in flight, of API and edges together; a batch counts once for each playback.
        var concurrency: Int
        /// The paths of the hosted service, `/tvs/v1`; `nil` if they are off.
        var hosted: Hosted?
        /// The time for which edges may use a policy without having it confirmed.
        var policyGoodFor: Duration
        /// The prefix of the links to explanations of codes.
        var helpURL: String
    }

    /// The settings for the checks of edges.
    struct Edge: Sendable {
        /// The listeners, one for each address; all other settings are common.
        var listeners: [Listener]
        /// The listeners of HAProxy's stream processing offload, one for each address.
        var offloads: [Listener]
        /// The listeners for Envoy's checks over gRPC; empty for none.
        var grpc: [Listener] = []
        var peers: TrustedPeers
        /// The dialects that are answered.
        var dialects: Set<EdgeDialect>
        /// The dialects whose edges pass a redirect on to the client.
        var redirects: Set<EdgeDialect>
        /// The sources in which clients may present tokens and grants.
        var sources: TokenSources
        /// The rule by which the client's address is chosen from `X-Forwarded-For`.
        var forwardedFor: ForwardedFor
        /// The longest time for which an edge may cache an answer, in seconds.
        var cacheCeiling: Int64
    }

    struct Log: Hashable, Sendable {
        var format: LogFormat
        var level: LogLevel
        /// The checks of edges that are logged.
        var checks: CheckLog
        /// The salt of session hashes; `nil` for a random salt at each start.
        var salt: Secret?
    }
}

/// A value and its position in the configuration.
struct Located<Value> {
    let value: Value
    let place: ConfigurationPlace
}

extension Located: Sendable where Value: Sendable {}
extension Located: Equatable where Value: Equatable {}
extension Located: Hashable where Value: Hashable {}

/// A caller of the API.
struct Caller: Hashable, Sendable {
    let name: String
    let credential: Credential
    let scopes: Set<Scope>
    /// The resources that the caller may name by itself at `/tvs/v1`; `nil` for those of the catalogue alone.
    let resources: [String]?

    enum Credential: Hashable, Sendable {
        /// The SHA-256 of a bearer key.
        case key(sha256: [UInt8])
        /// The SHA-256 of a client certificate's DER form.
        case certificate(sha256: [UInt8])
    }
}

/// A permission of a caller.
enum Scope: String, CaseIterable, Sendable {
    /// The caller may start playbacks.
    case playback
    /// The caller may verify tokens without consuming them.
    case verify
    /// The caller may look up entries of the catalogue.
    case catalogue
    /// The caller may revoke tokens, sessions and MVPDs.
    case revoke
    /// The caller may renew and exchange grants, and have them explained.
    case grant
    /// The caller may use the paths of the hosted service, `/tvs/v1`.
    case tvs
    /// The caller may read the policy, with the symmetric keys of grants.
    case edge
    /// The caller may see the operator page, of the admin listener.
    case read

    /// The permissions of callers of the API.
    static let ofAPI = allCases.filter { $0 != .read }
    /// The permissions of callers of the admin listener.
    static let ofAdmin: [Scope] = [.read, .revoke]
}

/// The format of log lines.
enum LogFormat: String, CaseIterable, Sendable {
    case json
    case text
}

/// The checks of edges that are logged.
enum CheckLog: String, CaseIterable, Sendable {
    /// All checks except those allowed as unprotected, within the TTL, or as a probe: these consume nothing.
    case decisive
    /// All checks.
    case all
}

/// The lowest level that is logged.
enum LogLevel: String, CaseIterable, Sendable {
    case debug
    case info
    case warning
    case error

    /// True if lines of `level` are logged.
    func isAtMost(_ level: LogLevel) -> Bool {
        (Self.allCases.firstIndex(of: self) ?? 0) <= (Self.allCases.firstIndex(of: level) ?? 0)
    }
}

extension GateConfiguration.Listener {
    /// The settings of this listener, with its certificate and key read from their files.
    ///
    /// - Parameter application: The protocol that it speaks, as ALPN names it.
    /// - Throws: ``ConfigurationError`` at the place of the file that cannot be used.
    func settings(speaking application: String = "http/1.1") throws(ConfigurationError) -> ListenerSettings {
        ListenerSettings(
            address: address,
            socketMode: socketMode,
            socketGroup: try groupNumber(),
            limits: limits,
            tls: try serverTLS(speaking: application)
        )
    }

    /// The certificate and key of this listener, read from their files; `nil` if it has none.
    func serverTLS(speaking application: String = "http/1.1") throws(ConfigurationError) -> ServerTLS? {
        guard let tls else { return nil }
        do throws(ServerTLS.Fault) {
            return try ServerTLS(
                certificate: tls.certificate.value,
                key: tls.key.value,
                clientAuthorities: tls.clientAuthorities?.value,
                application: application
            )
        } catch {
            let file =
                switch error.file {
                case .certificate: tls.certificate
                case .key: tls.key
                case .clientAuthorities: tls.clientAuthorities
                }
            throw ConfigurationError(
                problems: [ConfigurationProblem(place: file?.place ?? place, message: error.reason)]
            )
        }
    }

    private func groupNumber() throws(ConfigurationError) -> UInt32? {
        guard let socketGroup else { return nil }
        if let number = socketGroup.value.groupNumber { return number }
        let message = "there is no group named \(socketGroup.value)"
        throw ConfigurationError(problems: [ConfigurationProblem(place: socketGroup.place, message: message)])
    }
}
