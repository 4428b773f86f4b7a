// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    package import NIOCore
    internal import NIOPosix
    internal import Platform

    /// The settings of a connection to Redis.
    public struct RedisSettings: Sendable {
        /// The servers.
        public var servers: Servers
        /// The user (Redis ACL); `nil` for the default user.
        public var user: String?
        /// The password, if one is needed.
        public var password: RedisPassword?
        /// The number of the database.
        public var database: Int
        /// The prefix of all keys.
        public var keyPrefix: String
        /// The TLS settings; `nil` for plain text. They apply to sentinels too.
        public var tls: TLS?
        /// The replicas that must acknowledge a write; `nil` if the primary's word is enough.
        public var wait: Wait?

        /// The event loop of the connection to a single server, whose calls then wake no other thread; any by default.
        package var eventLoop: (any EventLoop)?

        /// The address of a server.
        public enum Address: Hashable, Sendable, CustomStringConvertible {
            /// A host, by name or address, and a port.
            case tcp(host: String, port: Int)
            /// The path of a Unix domain socket.
            case unix(path: String)

            public var description: String {
                switch self {
                case .tcp(let host, let port): "\(host):\(port)"
                case .unix(let path): path
                }
            }
        }

        /// The servers of a store.
        public enum Servers: Hashable, Sendable {
            /// One server, always at the same address.
            case one(Address)
            /// A primary and its replicas, of which sentinels know the primary.
            case sentinels(Sentinels)
            /// A cluster, of which some servers are known.
            case cluster([Address])
        }

        /// The sentinels of a primary.
        public struct Sentinels: Hashable, Sendable {
            /// The addresses of the sentinels.
            public var addresses: [Address]
            /// The name that the sentinels know the primary by.
            public var primary: String
            /// The user (Redis ACL) at the sentinels; `nil` for the default user.
            public var user: String?
            /// The password at the sentinels, if one is needed.
            public var password: RedisPassword?

            /// Creates the settings of sentinels.
            public init(
                addresses: [Address],
                primary: String,
                user: String? = nil,
                password: RedisPassword? = nil
            ) {
                self.addresses = addresses
                self.primary = primary
                self.user = user
                self.password = password
            }
        }

        /// The replicas that must acknowledge a write before it counts.
        public struct Wait: Hashable, Sendable {
            /// The number of replicas.
            public var replicas: Int
            /// The time limit of their acknowledgements.
            public var timeout: Duration

            /// Creates the settings of acknowledgements.
            public init(replicas: Int, timeout: Duration) {
                self.replicas = replicas
                self.timeout = timeout
            }
        }

        /// The settings of TLS.
        public struct TLS: Hashable, Sendable {
            /// The file with the certificates (PEM) of the trusted authorities; `nil` for the system's.
            public var authorities: String?

            /// Creates TLS settings.
            public init(authorities: String? = nil) { self.authorities = authorities }
        }

        /// Creates settings.
        public init(
            _ servers: Servers,
            user: String? = nil,
            password: RedisPassword? = nil,
            database: Int = 0,
            keyPrefix: String = "playgate:",
            tls: TLS? = nil,
            wait: Wait? = nil
        ) {
            self.servers = servers
            self.user = user
            self.password = password
            self.database = database
            self.keyPrefix = keyPrefix
            self.tls = tls
            self.wait = wait
        }

        /// The maximum wait for a connection, and for a reply before the connection is closed: longer than any deadline of
        /// a use.
        package var longestSilence = Duration.seconds(2)

        /// The same for NIO.
        package var patience: TimeAmount { .nanoseconds(longestSilence.nanoseconds) }

        /// The event loop of a connection to a server. Calls that need several replies leave their event loop anyway.
        package var loop: any EventLoop {
            (hasOneReply ? eventLoop : nil) ?? MultiThreadedEventLoopGroup.singleton.any()
        }

        /// True if each answer of the store needs one reply.
        var hasOneReply: Bool {
            if case .cluster = servers { return false }
            return wait == nil
        }
    }

    extension RedisSettings.Address {
        /// The required name in the server's certificate; `nil` for an IP address or a socket.
        var serverName: String? {
            guard case .tcp(let host, _) = self else { return nil }
            return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
        }
    }

    extension RedisSettings {
        /// The names of the keys.
        package var keys: RedisKeys {
            if case .cluster = servers {
                RedisKeys(prefix: keyPrefix, areSpread: true)
            } else {
                RedisKeys(prefix: keyPrefix)
            }
        }
    }

    /// The names of keys.
    package struct RedisKeys {
        package let prefix: String
        /// True if keys are spread over the slots of a cluster: only those with a common tag are on one server.
        var areSpread = false

        /// The texts around the part of a name that decides about its slot.
        var tagMarks: (open: String, close: String) { areSpread ? ("{", "}") : ("", "") }

        /// The part of a name that decides about its slot.
        package func tag(_ text: String) -> String { tagMarks.open + text + tagMarks.close }
    }

    /// A password that is never printed.
    public struct RedisPassword: Hashable, Sendable {
        package let text: String

        /// Creates a password from its text.
        public init(_ text: String) { self.text = text }
    }

    extension RedisPassword: CustomStringConvertible, CustomReflectable {
        public var description: String { "<password>" }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif
