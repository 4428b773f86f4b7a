// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore

    /// The settings of a connection to Redis.
    public struct RedisSettings: Sendable {
        /// The address of the server.
        public var address: Address
        /// The user (Redis ACL); `nil` for the default user.
        public var user: String?
        /// The password, if one is needed.
        public var password: RedisPassword?
        /// The number of the database.
        public var database: Int
        /// The prefix of all keys.
        public var keyPrefix: String
        /// The TLS settings; `nil` for plain text.
        public var tls: TLS?

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

        /// The settings of TLS.
        public struct TLS: Hashable, Sendable {
            /// The file with the certificates (PEM) of the trusted authorities; `nil` for the system's.
            public var authorities: String?

            /// Creates TLS settings.
            public init(authorities: String? = nil) { self.authorities = authorities }
        }

        /// Creates settings.
        public init(
            address: Address,
            user: String? = nil,
            password: RedisPassword? = nil,
            database: Int = 0,
            keyPrefix: String = "playgate:",
            tls: TLS? = nil
        ) {
            self.address = address
            self.user = user
            self.password = password
            self.database = database
            self.keyPrefix = keyPrefix
            self.tls = tls
        }

        /// The maximum wait for a reply before the connection is closed: longer than any deadline of a use.
        var patience: TimeAmount { .seconds(2) }

        var connectTimeout: TimeAmount { .seconds(2) }

        /// The required name in the server's certificate; `nil` if the address is an IP address or a socket.
        var serverName: String? {
            guard case .tcp(let host, _) = address else { return nil }
            return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
        }
    }

    /// A password that is never printed.
    public struct RedisPassword: Sendable {
        let text: String

        /// Creates a password from its text.
        public init(_ text: String) { self.text = text }
    }

    extension RedisPassword: CustomStringConvertible, CustomReflectable {
        public var description: String { "<password>" }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif
