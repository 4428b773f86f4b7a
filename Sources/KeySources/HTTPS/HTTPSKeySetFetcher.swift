// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Service
    internal import AsyncHTTPClient
    internal import Dispatch
    internal import Keys
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix
    internal import NIOSSL
    internal import Platform

    /// A fetcher over HTTPS.
    ///
    /// All addresses of the host are looked up and checked first, and the connection goes to a checked one. A name that
    /// resolves to another address a moment later (DNS rebinding) therefore reaches nothing. Redirects are not
    /// followed. A connection has 2 s at most, and the whole fetch 5 s.
    public struct HTTPSKeySetFetcher: KeySetFetcher {
        private let addresses: PermittedAddresses
        private let authorities: [NIOSSLCertificate]?
        private let resolve: @Sendable (String) -> [String]
        private var limits: Limits

        /// The time limits.
        struct Limits: Sendable {
            var connect = Duration.seconds(2)
            var whole = Duration.seconds(5)
            /// A wait for ``whole``, which ends early if its task is cancelled.
            var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }

            /// Limits that a fetch on this machine does not reach, however busy it is.
            static var unreached: Limits { Limits(connect: .seconds(86_400), whole: .seconds(86_400)) }
        }

        /// The number of addresses of a host that are tried.
        private static let maximumAttempts = 4

        /// Creates a fetcher.
        ///
        /// - Parameters:
        ///   - addresses: The permitted addresses.
        ///   - authorities: PEM with the certificate authorities of the server; `nil` for those of the system.
        /// - Throws: ``UnusableAuthorities`` if there is no certificate in `authorities`.
        public init(_ addresses: PermittedAddresses, authorities: [UInt8]? = nil) throws(UnusableAuthorities) {
            try self.init(addresses, authorities: authorities, limits: Limits()) { $0.addressesOfHost() }
        }

        init(
            _ addresses: PermittedAddresses,
            authorities: [UInt8]?,
            limits: Limits,
            resolve: @escaping @Sendable (String) -> [String]
        ) throws(UnusableAuthorities) {
            self.addresses = addresses
            self.resolve = resolve
            self.limits = limits
            guard let authorities else {
                self.authorities = nil
                return
            }
            guard let certificates = try? NIOSSLCertificate.fromPEMBytes(authorities), !certificates.isEmpty else {
                throw UnusableAuthorities()
            }
            self.authorities = certificates
        }

        /// The same fetcher without limits of time, for tests: a busy machine is no fault of a server.
        package var withoutTimeLimits: Self {
            var fetcher = self
            fetcher.limits = .unreached
            return fetcher
        }

        /// An error of a caller whose PEM has no certificate.
        public struct UnusableAuthorities: Error, Hashable, Sendable, CustomStringConvertible {
            /// A sentence for the author of a configuration.
            public var description: String { "has no certificate in PEM" }
        }

        /// Requests a key set.
        public func fetch(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault> {
            await withTimeLimit(limits.whole, sleep: limits.sleep) { await fetchSlowly(request) } ?? .failure(.timeout)
        }

        private func fetchSlowly(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault> {
            let (host, resolve) = (request.address.host, resolve)
            let found = await withCheckedContinuation { continuation in
                // The resolver of the system blocks, and cannot be interrupted.
                DispatchQueue.global(qos: .utility).async { continuation.resume(returning: resolve(host)) }
            }
            guard !found.isEmpty else { return .failure(.unreachable) }
            // One private address among public ones is a mistake, or an attack.
            guard found.allSatisfy(addresses.permit) else { return .failure(.addressRefused) }
            var result = Result<KeySetResponse, KeySetFault>.failure(.unreachable)
            for address in found.prefix(Self.maximumAttempts) {
                guard case .failure(.unreachable) = result, !Task.isCancelled else { break }
                result = await fetch(request, from: address)
            }
            return result
        }

        /// Requests a key set from one address of its host.
        private func fetch(
            _ request: KeySetRequest,
            from address: String
        ) async -> Result<KeySetResponse, KeySetFault> {
            let client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration([request.address.host: address])
            )
            let result = await KeySetExchange(client).run(request)
            try? await client.shutdown()
            return result
        }

        private func configuration(_ overrides: [String: String]) -> HTTPClient.Configuration {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.minimumTLSVersion = .tlsv12
            if let authorities { tls.trustRoots = .certificates(authorities) }
            var configuration = HTTPClient.Configuration(
                tlsConfiguration: tls,
                redirectConfiguration: .disallow,
                timeout: .init(connect: .nanoseconds(limits.connect.milliseconds * 1_000_000)),
                decompression: .disabled
            )
            configuration.httpVersion = .http1Only
            configuration.dnsOverride = overrides
            configuration.connectionPool.retryConnectionEstablishment = false
            return configuration
        }
    }

    /// One request to one address.
    private struct KeySetExchange {
        let client: HTTPClient

        init(_ client: HTTPClient) { self.client = client }

        func run(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault> {
            do { return .success(try await exchange(request)) } catch let fault as KeySetFault {
                return .failure(fault)
            } catch {
                return .failure(KeySetFault(error))
            }
        }

        private func exchange(_ request: KeySetRequest) async throws -> KeySetResponse {
            var message = HTTPClientRequest(url: request.address.url)
            message.headers.add(name: "Accept", value: KeySetNotation.accepted)
            message.headers.add(name: "User-Agent", value: "Playgate")
            if let tag = request.entityTag { message.headers.add(name: "If-None-Match", value: tag) }
            let response = try await client.execute(message, deadline: .distantFuture)
            let headers = response.headers.map { KeySetResponse.Header(name: $0.name, value: $0.value) }
            var answer = KeySetResponse(status: Int(response.status.code), headers: headers)
            guard answer.status == 200 else { return answer }
            for try await part in response.body {
                answer.body += part.readableBytesView
                guard answer.body.count <= KeySetReading.maximumSize else { throw KeySetFault.tooLarge }
            }
            return answer
        }
    }

    extension KeySetFault {
        fileprivate init(_ error: any Error) {
            switch error {
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self = .tlsFailed
            case let error as HTTPClientError where error == .tlsHandshakeTimeout: self = .tlsFailed
            case let error as HTTPParserError where error != .invalidEOFState: self = .malformed
            default: self = .unreachable
            }
        }
    }
#endif
