// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings
internal import HTTPServer
internal import NIOCore

#if ManifestListener
    internal import AsyncHTTPClient
    internal import NIOHTTP1

    internal import struct SystemPackage.Errno
#endif
#if TLS
    internal import NIOSSL
#endif

/// Asks the admin listener of a running gate, at the address in the gate's configuration, for what needs no credential.
///
/// Only the section `admin` is read, so that asking needs no key and no secret, and works while the file is being edited.
package struct AdminClient: Sendable {
    /// The address of the admin listener, as in the configuration.
    package let address: String
    /// Scheme and authority.
    private let base: String

    /// A failure to get the answer of an admin listener.
    package struct Failure: Error {
        package let reason: String
    }

    /// Reads the address of the admin listener.
    ///
    /// - Parameter path: The path of the configuration file.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no address that can be asked.
    package init(configurationFile path: String) throws(ConfigurationError) {
        let file = ConfigurationFile(path: path)
        let problems = ProblemList()
        let root = try ConfigurationSection(file.text, file: file, problems: problems)
        let listener = root.section("admin") { GateConfiguration.admin($0).listener }
        let scheme = listener.tls == nil ? "http" : "https"
        address = listener.address.description
        switch listener.address {
        case .tcp(let host, let port) where port > 0:
            base = "\(scheme)://\(ListenerAddress.tcp(host: Self.reachable[host] ?? host, port: port))"
        case .unix(let path): base = "\(scheme)+unix://\(path.percentEncoded)"
        case .tcp, .descriptor:
            base = ""
            problems.add(listener.place, "\(address) cannot be asked: the port is not in the configuration")
        }
        try problems.throwIfAny()
    }

    /// Addresses that are listened to but not connected to.
    private static let reachable = ["0.0.0.0": "127.0.0.1", "::": "::1"]
}

#if ManifestListener
    extension AdminClient {
        /// Longer than the longest `use.deadline`, for which the gate may wait for its store.
        private static let limit = TimeAmount.seconds(12)

        /// Requests a path.
        ///
        /// - Parameter size: The most bytes of the body.
        /// - Throws: ``Failure`` if no HTTP server answers, or with more bytes.
        func get(_ path: String, upTo size: Int) async throws(Failure) -> (status: UInt, body: ByteBuffer) {
            do {
                return try await HTTPClient.withHTTPClient(configuration: Self.settings) { client in
                    var request = HTTPClientRequest(url: base + path)
                    request.headers = ["Host": "localhost"]
                    let response = try await client.execute(request, timeout: Self.limit)
                    return (response.status.code, try await response.body.collect(upTo: size))
                }
            } catch let error as IOError {
                throw Failure(reason: Errno(rawValue: error.errnoCode).description.lowercased())
            } catch {
                throw Failure(reason: "\(error)")
            }
        }

        private static var settings: HTTPClient.Configuration {
            var settings = HTTPClient.Configuration()
            settings.redirectConfiguration = .disallow
            settings.httpVersion = .http1Only
            settings.connectionPool.retryConnectionEstablishment = false
            #if TLS
                // The request has no secret, and the certificate need not name the address.
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.certificateVerification = .none
                settings.tlsConfiguration = tls
            #endif
            return settings
        }
    }
#else
    extension AdminClient {
        /// Throws: this build has no client of HTTP.
        func get(_: String, upTo _: Int) async throws(Failure) -> (status: UInt, body: ByteBuffer) {
            throw Failure(reason: "this build cannot ask: it needs the trait ManifestListener")
        }
    }
#endif
