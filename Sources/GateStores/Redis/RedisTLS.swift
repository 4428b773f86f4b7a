// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    #if TLS
        internal import NIOSSL
    #endif

    /// The TLS of a connection to Redis, which builds without the trait `TLS` do not have.
    struct RedisTLS: Sendable {
        #if TLS
            private let context: NIOSSLContext
            private let serverName: String?
        #endif

        /// Creates the TLS of a connection.
        ///
        /// - Parameter serverName: The required name in the server's certificate; `nil` if its address is required.
        /// - Throws: If the authorities cannot be read, or this build has no TLS.
        init(_ tls: RedisSettings.TLS, serverName: String?) throws {
            #if TLS
                var configuration = TLSConfiguration.makeClientConfiguration()
                configuration.minimumTLSVersion = .tlsv12
                if let authorities = tls.authorities { configuration.trustRoots = .file(authorities) }
                context = try NIOSSLContext(configuration: configuration)
                self.serverName = serverName
            #else
                throw MissingTLS()
            #endif
        }

        func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
            #if TLS
                try pipeline.addHandler(try NIOSSLClientHandler(context: context, serverHostname: serverName))
            #endif
        }
    }

    #if !TLS
        private struct MissingTLS: Error, CustomStringConvertible {
            let description = "this build has no TLS support: build with the trait TLS, or configure Redis without tls"
        }
    #endif
#endif
