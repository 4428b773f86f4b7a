// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AsyncHTTPClient
package import ConfigurationReading
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
package import NIOCore
internal import NIOHTTP1
internal import NIOSSL

internal import struct SystemPackage.Errno

/// Asks a listener of a running gate, at the address in the gate's configuration.
///
/// Only the section of the listener is read, so that requests work while the file is being edited.
package struct ListenerClient: Sendable {
    /// The address of the listener, as in the configuration.
    package let address: String
    /// The bearer key; `nil` for none.
    private let key: String?
    /// Scheme and authority.
    private let base: String

    /// A failure to get the answer of a listener.
    package struct Failure: Error {
        package let reason: String

        /// Creates a value of its members.
        package init(reason: String) {
            self.reason = reason
        }
    }

    /// Reads the address of the admin listener.
    ///
    /// - Parameter path: The path of the configuration file.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no usable address.
    package init(configurationFile path: String) throws(ConfigurationError) {
        try self.init(path, section: "admin", key: nil) { GateConfiguration.admin($0).listener }
    }

    /// Reads the address of the API.
    ///
    /// - Parameters:
    ///   - path: The path of the configuration file.
    ///   - key: The bearer key; `nil` for an open API.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no usable address.
    package init(ofAPIIn path: String, key: String?) throws(ConfigurationError) {
        try self.init(path, section: "api", key: key) { GateConfiguration.API($0).listener }
    }

    private init(
        _ path: String,
        section: String,
        key: String?,
        read: (ConfigurationSection) -> GateConfiguration.Listener
    ) throws(ConfigurationError) {
        self.key = key
        let file = ConfigurationFile(path: path)
        let problems = ProblemList()
        let root = try ConfigurationSection(file.text, file: file, problems: problems)
        let listener = root.section(section, read: read)
        let scheme = listener.tls == nil ? "http" : "https"
        address = listener.address.description
        switch listener.address {
        case .tcp(let host, let port) where port > 0:
            base = "\(scheme)://\(ListenerAddress.tcp(host: Self.reachable[host] ?? host, port: port))"
        case .unix(let path): base = "\(scheme)+unix://\(path.percentEncoded)"
        case .tcp, .descriptor:
            base = ""
            problems.add(
                at: listener.location,
                message: "\(address) cannot be asked: the port is not in the configuration"
            )
        }
        try problems.throwIfAny()
    }

    /// Addresses that are listened to but not connected to.
    private static let reachable = ["0.0.0.0": "127.0.0.1", "::": "::1"]
}

extension ListenerClient {
    /// Longer than the longest `replayStore.deadline`, for which the gate may wait for its store.
    private static let limit = TimeAmount.seconds(12)

    /// Requests a path by GET.
    ///
    /// - Parameter size: The most bytes of the body.
    /// - Throws: ``Failure`` if no HTTP server answers, or with more bytes.
    package func get(_ path: String, upTo size: Int) async throws(Failure) -> (status: UInt, body: ByteBuffer) {
        try await send("GET", to: path, body: nil, upTo: size)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - body: The JSON of the body; `nil` for none.
    ///   - size: The most bytes of the answer's body.
    /// - Throws: ``Failure`` if no HTTP server answers, or with more bytes.
    package func send(
        _ method: String,
        to path: String,
        body: [UInt8]?,
        upTo size: Int
    ) async throws(Failure) -> (status: UInt, body: ByteBuffer) {
        do {
            return try await HTTPClient.withHTTPClient(configuration: settings) { client in
                var request = HTTPClientRequest(url: base + path)
                request.method = .RAW(value: method)
                request.headers = ["Host": "localhost"]
                if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
                if let body {
                    request.headers.add(name: "Content-Type", value: "application/json")
                    request.body = .bytes(body)
                }
                let response = try await client.execute(request, timeout: Self.limit)
                return (response.status.code, try await response.body.collect(upTo: size))
            }
        } catch let error as IOError {
            throw Failure(reason: Errno(rawValue: error.errnoCode).description.lowercased())
        } catch {
            throw Failure(reason: "\(error)")
        }
    }

    private var settings: HTTPClient.Configuration {
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.httpVersion = .http1Only
        settings.connectionPool.retryConnectionEstablishment = false
        // Without a key the request has no secret, and the certificate need not name the address.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = key == nil ? .none : .fullVerification
        settings.tlsConfiguration = tls
        return settings
    }
}
