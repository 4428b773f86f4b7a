// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import NIOSSL

    /// How to reach Redis.
    public struct RedisSettings: Sendable {
        /// Where the server listens.
        public var address: Address
        /// The user (Redis ACL); nil is the default user.
        public var user: String?
        /// The password, if one is needed.
        public var password: RedisPassword?
        /// The number of the database.
        public var database: Int
        /// What all keys begin with.
        public var keyPrefix: String
        /// TLS, if it is used.
        public var tls: TLS?

        /// Where a server listens.
        public enum Address: Hashable, Sendable, CustomStringConvertible {
            /// A host, by name or address, and a port.
            case tcp(host: String, port: Int)
            /// The path of a socket.
            case unix(path: String)

            public var description: String {
                switch self {
                case .tcp(let host, let port): "\(host):\(port)"
                case .unix(let path): path
                }
            }
        }

        /// How TLS is used.
        public struct TLS: Hashable, Sendable {
            /// A file with the certificates (PEM) of those who may vouch for the server; the system's by default.
            public var authorities: String?

            /// Makes TLS settings.
            public init(authorities: String? = nil) { self.authorities = authorities }
        }

        /// Makes settings.
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

        /// How long a reply may stay out before the connection is given up: longer than any deadline of a use.
        var patience: TimeAmount { .seconds(2) }

        var connectTimeout: TimeAmount { .seconds(2) }

        /// The name that the server's certificate must have, where the address is a name.
        var serverName: String? {
            guard case .tcp(let host, _) = address else { return nil }
            return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
        }
    }

    /// A password that does not print.
    public struct RedisPassword: Sendable {
        let text: String

        /// Takes a password.
        public init(_ text: String) { self.text = text }
    }

    extension RedisPassword: CustomStringConvertible, CustomReflectable {
        public var description: String { "<password>" }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    extension RedisSettings.TLS {
        var configuration: TLSConfiguration {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            if let authorities { configuration.trustRoots = .file(authorities) }
            return configuration
        }
    }
#endif
