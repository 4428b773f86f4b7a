// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate and key of a listener, read from their files. Only TLS 1.2 and newer are spoken.
package final class ServerTLS: Sendable {
    /// A file that cannot be used.
    package struct Fault: Error {
        package enum File { case certificate, key, clientAuthorities }

        package let file: File
        package let reason: String
    }

    private let context: Mutex<NIOSSLContext>

    /// - Parameters:
    ///   - certificate: A PEM file with the certificate and its chain.
    ///   - key: A PEM file with the private key.
    ///   - clientAuthorities: A PEM file with the authorities of clients' certificates; clients show none if it is nil.
    ///   - application: The protocol that ALPN names (RFC 7301): `http/1.1` or `h2`.
    package init(
        certificate: String,
        key: String,
        clientAuthorities: String?,
        application: String = "http/1.1"
    ) throws(Fault) {
        let chain: [NIOSSLCertificateSource]
        do { chain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) } } catch {
            throw Fault(file: .certificate, reason: "\(certificate): no certificate can be read: \(error)")
        }
        let privateKey: NIOSSLPrivateKey
        do { privateKey = try NIOSSLPrivateKey(file: key, format: .pem) } catch {
            throw Fault(file: .key, reason: "\(key): no private key can be read: \(error)")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain,
            privateKey: .privateKey(privateKey)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [application]
        if let clientAuthorities {
            do {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(clientAuthorities))
            } catch {
                throw Fault(
                    file: .clientAuthorities,
                    reason: "\(clientAuthorities): no certificate can be read: \(error)"
                )
            }
            // A client without a certificate may have a key; a certificate that is shown must be valid.
            configuration.certificateVerification = .optionalVerification
        }
        do { context = Mutex(try NIOSSLContext(configuration: configuration)) } catch {
            throw Fault(file: .certificate, reason: "cannot be used for TLS: \(error)")
        }
    }

    /// Uses the certificate, key and authorities of `other` for connections from now on.
    package func replace(with other: ServerTLS) {
        let next = other.context.withLock(\.self)
        context.withLock { $0 = next }
    }

    package func addHandler(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(NIOSSLServerHandler(context: context.withLock(\.self)))
    }
}
