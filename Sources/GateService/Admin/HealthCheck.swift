// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import Encodings
internal import HTTPServer

#if ManifestListener
    internal import AsyncHTTPClient
    internal import NIOCore
    internal import NIOHTTP1

    internal import struct SystemPackage.Errno
#endif
#if TLS
    internal import NIOSSL
#endif

/// Asks the admin listener of a running gate for its readiness, at the address in the gate's configuration.
///
/// Only the section `admin` is read, so that the check needs no key and no secret, and works while the file is being edited.
package struct HealthCheck: Sendable {
    /// The address of the admin listener, as in the configuration.
    package let address: String
    fileprivate let url: String

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
            url = "\(scheme)://\(ListenerAddress.tcp(host: Self.reachable[host] ?? host, port: port))/readyz"
        case .unix(let path): url = "\(scheme)+unix://\(path.percentEncoded)/readyz"
        case .tcp, .descriptor:
            url = ""
            problems.add(listener.place, "\(address) cannot be asked: the port is not in the configuration")
        }
        try problems.throwIfAny()
    }

    /// Addresses that are listened to but not connected to.
    private static let reachable = ["0.0.0.0": "127.0.0.1", "::": "::1"]
}

#if ManifestListener
    extension HealthCheck {
        /// Longer than the longest `use.deadline`, for which the gate may wait for its store.
        private static let limit = TimeAmount.seconds(12)

        /// Returns the faults of the gate, by the part that has them; none if the gate is ready.
        ///
        /// - Throws: ``Failure`` if no admin listener answers.
        package func faults() async throws(Failure) -> [JSON.Member] {
            do {
                return try await HTTPClient.withHTTPClient(configuration: Self.settings) { client in
                    var request = HTTPClientRequest(url: url)
                    request.headers = ["Host": "localhost"]
                    let response = try await client.execute(request, timeout: Self.limit)
                    let body = try await response.body.collect(upTo: 64 * 1024)
                    return try Self.faults(response.status.code, body)
                }
            } catch let failure as Failure {
                throw failure
            } catch let error as IOError {
                throw Failure(reason: Errno(rawValue: error.errnoCode).description.lowercased())
            } catch {
                throw Failure(reason: "\(error)")
            }
        }

        private static func faults(_ status: UInt, _ body: ByteBuffer) throws(Failure) -> [JSON.Member] {
            let limits = JSONLimits(depth: 4, members: 64, elements: 64)
            guard status == 200 || status == 503,
                let answer = try? JSONReader.read(body.readableBytesUInt8Span, limits: limits),
                case .bool(let isReady)? = answer["ready"], isReady == (status == 200),
                case .object(let faults)? = answer["faults"], isReady == faults.isEmpty
            else { throw Failure(reason: "the answer, with status \(status), is not that of an admin listener") }
            return faults
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
    extension HealthCheck {
        /// Throws: this build has no client of HTTP.
        package func faults() async throws(Failure) -> [JSON.Member] {
            throw Failure(reason: "this build cannot ask: it needs the trait ManifestListener")
        }
    }
#endif
