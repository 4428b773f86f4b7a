// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import KeySources
internal import NIOHTTP1

#if Service
    public import AccessTokens
    internal import AsyncHTTPClient
    internal import Cryptography
    internal import Encodings
    internal import NIOCore
    internal import NIOPosix
    internal import NIOSSL
    public import Platform
    internal import Synchronization

    /// Asks the server of an identity provider about opaque tokens (RFC 7662 §2).
    ///
    /// What cannot be known refuses: a server that is away, too slow, or answers anything but 200 with a JSON object of at
    /// most 64 KiB. Redirects are not followed.
    public final class HTTPSTokenIntrospector: TokenIntrospector {
        private let server: IntrospectionServer
        private let answers: KnownAnswers
        private let client: HTTPClient
        private let inFlight = Atomic(0)

        /// The most requests at a time. More could only wait, and tokens of an attacker cost as much as others.
        static let maximumInFlight = 256
        /// The largest token, in characters.
        static let maximumTokenSize = 4096
        /// The largest body of an answer, in bytes.
        static let maximumAnswerSize = 64 << 10

        /// An error of a caller whose PEM has no certificate.
        public struct UnusableAuthorities: Error, Hashable, Sendable, CustomStringConvertible {
            /// A sentence for the author of a configuration.
            public var description: String { "has no certificate in PEM" }
        }

        /// Creates an introspector.
        ///
        /// - Throws: ``UnusableAuthorities`` if there is no certificate in the authorities of `server`.
        public init(_ server: IntrospectionServer) throws(UnusableAuthorities) {
            self.server = server
            answers = KnownAnswers(life: server.life)
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.minimumTLSVersion = .tlsv12
            if let authorities = server.authorities {
                guard let certificates = try? NIOSSLCertificate.fromPEMBytes(authorities), !certificates.isEmpty else {
                    throw UnusableAuthorities()
                }
                tls.trustRoots = .certificates(certificates)
            }
            var configuration = HTTPClient.Configuration(
                tlsConfiguration: tls,
                redirectConfiguration: .disallow,
                timeout: .init(connect: .nanoseconds(server.deadline.milliseconds * 1_000_000)),
                decompression: .disabled
            )
            configuration.httpVersion = .http1Only
            configuration.connectionPool.retryConnectionEstablishment = false
            client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration
            )
        }

        deinit {
            // A reload replaces the introspector. Its connections end behind the last request.
            let client = client
            Task { try? await client.shutdown() }
        }

        public func known(_ token: Substring, at now: Timestamp) -> TokenIntrospection? {
            guard Self.isToken(token) else { return TokenIntrospection(issuer: server.issuer, body: Self.inactive) }
            return SHA256.fingerprint([UInt8](token.utf8)).flatMap { answers.body(of: $0, at: now) }
                .map { TokenIntrospection(issuer: server.issuer, body: $0) }
        }

        public func introspect(_ token: Substring, at now: Timestamp) async -> TokenIntrospection? {
            guard Self.isToken(token) else { return TokenIntrospection(issuer: server.issuer, body: Self.inactive) }
            guard let digest = SHA256.fingerprint([UInt8](token.utf8)) else { return nil }
            defer { inFlight.subtract(1, ordering: .relaxed) }
            guard inFlight.add(1, ordering: .relaxed).newValue <= Self.maximumInFlight else { return nil }
            guard let body = await ask(String(token)) else { return nil }
            answers.insert(body, of: digest, at: now)
            return TokenIntrospection(issuer: server.issuer, body: body)
        }

        private static let inactive = [UInt8](#"{"active":false}"#.utf8)

        /// True for a text that can be a token (RFC 6749 §A.12): visible characters and blanks.
        private static func isToken(_ token: Substring) -> Bool {
            1...maximumTokenSize ~= token.utf8.count && token.utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        }

        /// Returns the body of the answer; `nil` if there is none in time that can be used.
        private func ask(_ token: String) async -> [UInt8]? {
            var request = HTTPClientRequest(url: server.address.url)
            request.method = .POST
            request.headers = [
                "Authorization": server.credentials, "Accept": "application/json", "User-Agent": "Playgate",
                "Content-Type": "application/x-www-form-urlencoded",
            ]
            request.body = .bytes(ByteBuffer(string: "token=\(token.percentEncoded)&token_type_hint=access_token"))
            let (client, prepared) = (client, request)
            let end = NIODeadline.now() + .nanoseconds(server.deadline.milliseconds * 1_000_000)
            let answer = await withTimeLimit(server.deadline) { () async -> [UInt8]? in
                guard let response = try? await client.execute(prepared, deadline: end), response.status == .ok,
                    response.headers.first(name: "content-type")?.lowercased().hasPrefix("application/json") ?? false,
                    let body = try? await response.body.collect(upTo: Self.maximumAnswerSize)
                else { return nil }
                return [UInt8](body.readableBytesView)
            }
            return answer ?? nil
        }
    }
#endif
