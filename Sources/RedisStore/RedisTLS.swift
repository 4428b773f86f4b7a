// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import NIOSSL

    /// The TLS of a connection to Redis.
    struct RedisTLS: Sendable {
        private let context: NIOSSLContext
        private let serverName: String?

        /// Creates the TLS of a connection.
        ///
        /// - Parameter serverName: The required name in the server's certificate; `nil` if its address is required.
        /// - Throws: If the authorities cannot be read.
        init(_ tls: RedisSettings.TLS, serverName: String?) throws {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            if let authorities = tls.authorities { configuration.trustRoots = .file(authorities) }
            context = try NIOSSLContext(configuration: configuration)
            self.serverName = serverName
        }

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            try pipeline.addHandler(try NIOSSLClientHandler(context: context, serverHostname: serverName))
        }
    }

#endif
