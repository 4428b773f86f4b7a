// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeChecks
package import Encodings
package import HTTPServer
package import MediaResources
package import MediaTokens
package import Platform
package import PlaybackGate
package import RedisStore

/// The configuration file of the gate, read once into plain values.
///
/// Files that it names (keys, feeds) are not read yet; see `GateLoader`.
package struct GateConfiguration: Sendable {
    /// The configuration file.
    package let file: ConfigurationFile
    package var trust: Trust
    /// The identity providers whose tokens start playbacks.
    package var starts: [Start]
    /// The tokens for licence servers.
    package var licenceTokens: [LicenceTokens]
    /// The number of authenticated tokens, and of grants, that are cached; 0 for none. Tokens are cached only if an entry lets
    /// them be presented again.
    package var cacheCapacity: (tokens: Int, grants: Int)
    package var catalogue: Catalogue
    package var policies: [PlaybackPolicy]
    package var use: Use
    /// The folder of the keys that the gate makes itself.
    package let state: StateFolder
    /// The settings for grants; `nil` if the gate issues and accepts none.
    package var grants: Grants?
    package var isShadow: Bool
    package var leaks: Leaks
    package var api: API
    /// The settings for edges; `nil` if there is no edge listener.
    package var edge: Edge?
    /// The settings for manifests; `nil` if there is no manifest listener.
    package var manifest: Manifest?
    package var admin: Listener
    /// The host names of the admin listener, besides addresses and localhost.
    package var adminHosts: [String]
    /// The callers that may use the operator page; none if there is no page.
    package var adminCallers: [Caller]
    package var log: Log
    /// The settings of the spans that are sent to a collector; `nil` if none are sent.
    package var traces: Traces?
    /// The files whose changes are noticed.
    package var watch: WatchedFiles
    package var advanced: Advanced
    /// The effective configuration, with defaults and without secrets.
    package var effective: JSON

    /// The text that this was parsed from, which may have secrets.
    package let text: String

    /// The files whose changes are noticed.
    package enum WatchedFiles: String, CaseIterable, Sendable {
        /// The files that the configuration names: keys, certificates and feeds.
        case files
        /// The configuration too. If a writer pauses for seconds, a reload may open media that the rest of the file
        /// protects.
        case configuration
        case nothing = "false"
    }

    package struct Trust: Hashable, Sendable {
        package var keys: [Key]
        package var anchors: [Located<String>]
        package var minimumKeySize: MinimumRSAKeySize
        /// The rules by which media tokens are verified.
        package var verification: Verification

        package struct Key: Hashable, Sendable {
            package var file: Located<String>
            package var name: String?
            package var requestors: [String]?
            package var validity: ClosedRange<Timestamp>?
            package var tokens = MediaTokenForm.signedElement
        }
    }

    /// The rules by which media tokens are verified, besides their keys.
    package struct Verification: Hashable, Sendable {
        package var earlyLeeway: Duration
        package var lateLeeway: Duration
        package var maximumTimeToLive: Duration
        package var matchOptions: MediaResource.MatchOptions
    }

    package struct Catalogue: Sendable {
        package var entries: [Located<PlaybackGate.Catalogue.Entry>]
        /// The token sources of entries that have a list of their own.
        package var tokens: [PlaybackGate.Catalogue.Entry: [TokenSource]]
        package var feeds: [Feed]
        /// The content of entries whose playbacks get tokens for licence servers.
        package var contents: [PlaybackGate.Catalogue.Entry: LicensedContent] = [:]

        package struct Feed: Hashable, Sendable {
            package var file: Located<String>
            package var requestor: String
            package var channel: String?
            package var paths: FeedPathScope
            /// The profiles of the grants that playbacks of its items get.
            package var grants: [GrantProfile]
        }
    }

    package struct Use: Sendable {
        package var store: Store
        package var rules: Gate.Rules

        package enum Store: Sendable {
            case memory(capacity: Int)
            case sqlite(Located<String>)
            #if Redis
                case redis(RedisSettings)
            #endif
        }
    }

    /// A listening socket and the limits of its clients.
    package struct Listener: Sendable {
        package var address: ListenerAddress
        /// The permissions of a unix socket, such as 0o660; `nil` leaves them to the umask.
        package var socketMode: Int?
        /// The name or number of the group of a unix socket; `nil` leaves it to the system.
        package var socketGroup: Located<String>?
        package var tls: TLS?
        package var limits: HTTPLimits
        package var location: ConfigurationLocation

        package struct TLS: Hashable, Sendable {
            package var certificate: Located<String>
            package var key: Located<String>
            /// The authorities that sign client certificates; `nil` if client certificates are not requested.
            package var clientAuthorities: Located<String>?
        }
    }

    package struct API: Sendable {
        package var listener: Listener
        /// The callers that may use the API; `nil` if every caller may use it, which only a local listener permits.
        package var callers: [Caller]?
        /// The host names of a listener for every caller, besides addresses and localhost.
        package var hosts: [String]
        /// The paths of the hosted service, `/tvs/v1`; `nil` if they are off.
        package var hosted: Hosted?
    }

    /// The settings for the checks of edges.
    package struct Edge: Sendable {
        /// The listeners, one for each address; all other settings are common.
        package var listeners: [Listener]
        /// The listeners of HAProxy's stream processing offload, one for each address.
        package var offloads: [Listener]
        /// The listeners for Envoy's checks over gRPC; empty for none.
        package var grpc: [Listener] = []
        package var peers: TrustedPeers
        /// The dialects that are answered.
        package var dialects: Set<EdgeDialect>
        /// The dialects whose edges pass a redirect on to the client.
        package var redirects: Set<EdgeDialect>
        /// The sources in which clients may present tokens and grants.
        package var sources: TokenSources
        /// The rule by which the client's address is chosen from `X-Forwarded-For`.
        package var forwardedFor: ForwardedFor
        /// The longest time for which an edge may cache an answer, in seconds.
        package var maxCacheAge: Int64
    }

    package struct Log: Hashable, Sendable {
        package var format: LogFormat
        package var level: LogLevel
        /// The checks of edges that are logged.
        package var checks: CheckLog
        /// The salt of session hashes; `nil` for a random salt at each start.
        package var salt: Secret?
    }
}

/// A value and its position in the configuration.
package struct Located<Value> {
    package let value: Value
    package let location: ConfigurationLocation
}

extension Located: Sendable where Value: Sendable {}
extension Located: Equatable where Value: Equatable {}
extension Located: Hashable where Value: Hashable {}

/// A caller of the API.
package struct Caller: Hashable, Sendable {
    package let name: String
    package let credential: Credential
    package let scopes: Set<Scope>
    /// The resources that the caller may name at `/tvs/v1`; `nil` for only those of the catalogue.
    package let resources: [String]?

    package enum Credential: Hashable, Sendable {
        /// The SHA-256 of a bearer key.
        case key(sha256: [UInt8])
        /// The SHA-256 of a client certificate's DER form.
        case certificate(sha256: [UInt8])
    }
}

/// A permission of a caller.
package enum Scope: String, CaseIterable, Sendable {
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
package enum LogFormat: String, CaseIterable, Sendable {
    case json
    case text
}

/// The checks of edges that are logged.
package enum CheckLog: String, CaseIterable, Sendable {
    /// All checks except those allowed as unprotected, within the TTL, or as a probe: these consume nothing.
    case decisive
    /// All checks.
    case all
}

/// The lowest level that is logged.
package enum LogLevel: String, CaseIterable, Sendable {
    case debug
    case info
    case warning
    case error

    /// True if lines of `level` are logged.
    package func isAtMost(_ level: LogLevel) -> Bool {
        (Self.allCases.firstIndex(of: self) ?? 0) <= (Self.allCases.firstIndex(of: level) ?? 0)
    }
}

extension GateConfiguration.Listener {
    /// The settings of this listener, with its certificate and key read from their files.
    ///
    /// - Parameter application: The protocol that it speaks, as ALPN names it.
    /// - Throws: ``ConfigurationError`` at the location of the file that cannot be used.
    package func settings(speaking application: String = "http/1.1") throws(ConfigurationError) -> ListenerSettings {
        ListenerSettings(
            address: address,
            socketMode: socketMode,
            socketGroup: try groupNumber(),
            limits: limits,
            tls: try serverTLS(speaking: application)
        )
    }

    /// The certificate and key of this listener, read from their files; `nil` if it has none.
    package func serverTLS(speaking application: String = "http/1.1") throws(ConfigurationError) -> ServerTLS? {
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
            throw ConfigurationError(file?.location ?? location, reason: error.reason)
        }
    }

    private func groupNumber() throws(ConfigurationError) -> UInt32? {
        guard let socketGroup else { return nil }
        if let number = socketGroup.value.groupNumber { return number }
        throw ConfigurationError(socketGroup.location, reason: "there is no group named \(socketGroup.value)")
    }
}
