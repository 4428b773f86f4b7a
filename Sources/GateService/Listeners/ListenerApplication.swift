// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOSSL

/// Makes a Hummingbird application that listens as the configuration says.
enum ListenerApplication {
    /// - Parameters:
    ///   - group: The event loops that answer.
    ///   - onReady: Is told where it listens, once it does.
    /// - Throws: ``ConfigurationError`` where certificate or key cannot be used.
    static func make<Responder: HTTPResponder>(
        _ listener: GateConfiguration.Listener,
        responder: Responder,
        group: any EventLoopGroup,
        logger: Logger,
        onReady: @escaping @Sendable (ListenerAddress) -> Void
    ) throws(ConfigurationError) -> Application<Responder> where Responder.Context == ListenerContext {
        let limits = listener.limits
        var http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                SlowClientHandler(requestTimeout: limits.requestTimeout, idleTimeout: limits.idleTimeout)
            ]
        )
        http.httpDecoder.maxHeaderFieldSize = limits.headerBytes
        http.httpDecoder.maxHeaderListSize = limits.headerBytes
        http.httpDecoder.maxHeaderFieldCount = 100
        let address: BindAddress =
            switch listener.address {
            case .tcp(let host, let port): .hostname(host, port: port)
            case .unix(let path): .unixDomainSocket(path: path)
            }
        return Application(
            responder: responder,
            server: try server(
                HTTPServerBuilder { [http] in EventLoopChannel(HTTP1Channel(responder: $0, configuration: http)) },
                listener.tls
            ),
            configuration: ApplicationConfiguration(
                address: address,
                serverName: nil,
                reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections, logger: logger)
            ),
            onServerRunning: { channel in
                switch listener.address {
                case .unix: onReady(listener.address)
                case .tcp(let host, let port):
                    onReady(.tcp(host: host, port: channel.localAddress?.port ?? port))
                }
            },
            eventLoopGroupProvider: .shared(group),
            logger: logger
        )
    }

    private static func server(
        _ http: HTTPServerBuilder,
        _ tls: GateConfiguration.Listener.TLS?
    ) throws(ConfigurationError) -> HTTPServerBuilder {
        guard let tls else { return http }
        do { return try .tls(http, tlsConfiguration: configuration(tls)) } catch let error as ConfigurationError {
            throw error
        } catch { throw ConfigurationError(tls.certificate.place, "cannot be used for TLS: \(error)") }
    }

    /// What TLS needs, read from its files.
    static func configuration(_ tls: GateConfiguration.Listener.TLS) throws(ConfigurationError) -> TLSConfiguration {
        let chain: [NIOSSLCertificateSource]
        do { chain = try NIOSSLCertificate.fromPEMFile(tls.certificate.value).map { .certificate($0) } } catch {
            throw ConfigurationError(
                tls.certificate.place,
                "\(tls.certificate.value): no certificate can be read: \(error)"
            )
        }
        let key: NIOSSLPrivateKey
        do { key = try NIOSSLPrivateKey(file: tls.key.value, format: .pem) } catch {
            throw ConfigurationError(tls.key.place, "\(tls.key.value): no private key can be read: \(error)")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain,
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        if let authorities = tls.clientAuthorities {
            do {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities.value))
            } catch {
                throw ConfigurationError(
                    authorities.place,
                    "\(authorities.value): no certificate can be read: \(error)"
                )
            }
            // A client without a certificate may still have a key; one with a certificate must have a good one.
            configuration.certificateVerification = .optionalVerification
        }
        return configuration
    }
}

extension ConfigurationError {
    fileprivate init(_ place: ConfigurationPlace, _ message: String) {
        self.init(problems: [ConfigurationProblem(place: place, message: message)])
    }
}
