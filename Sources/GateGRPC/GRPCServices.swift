// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if GRPC
    internal import GRPCCore

    /// `envoy.service.auth.v3.Authorization`: each check is decided, and none is answered by an error that could open.
    struct AuthorizationService: RegistrableRPCService {
        let authority: any CheckAuthority
        let certificates: PeerCertificates

        static let name = "envoy.service.auth.v3.Authorization"

        func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
            router.registerHandler(
                forMethod: MethodDescriptor(fullyQualifiedService: Self.name, method: "Check"),
                deserializer: RawMessages(),
                serializer: RawMessages()
            ) { request, context in
                let message = try await ServerRequest(stream: request).message
                // Nobody waits for it, and a check may use a token up.
                guard !context.cancellation.isCancelled else {
                    throw RPCError(code: .deadlineExceeded, message: "the deadline has passed")
                }
                let address = GRPCPeer.address(context.remotePeer)
                let peer = GRPCPeer(address: address, certificate: address.flatMap { certificates.digest(of: $0) })
                let answer = await authority.check(CheckRequest(message), from: peer)
                return StreamingServerResponse(single: ServerResponse(message: answer.message))
            }
        }
    }

    /// `grpc.health.v1.Health`: `Check` of the whole server (an empty name) and of the authorization service. `Watch` is not
    /// implemented, as its definition permits.
    struct HealthService: RegistrableRPCService {
        let authority: any CheckAuthority

        private static let (serving, notServing) = (1, 2)

        func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
            router.registerHandler(
                forMethod: MethodDescriptor(fullyQualifiedService: "grpc.health.v1.Health", method: "Check"),
                deserializer: RawMessages(),
                serializer: RawMessages()
            ) { request, _ in
                let message = try await ServerRequest(stream: request).message
                guard let name = Self.service(message) else {
                    throw RPCError(code: .invalidArgument, message: "malformed request")
                }
                guard ["", AuthorizationService.name].contains(name) else {
                    throw RPCError(code: .notFound, message: "unknown service")
                }
                var writer = ProtobufWriter()
                writer.write(await authority.isReady ? Self.serving : Self.notServing, field: 1)
                return StreamingServerResponse(single: ServerResponse(message: writer.bytes))
            }
        }

        /// Reads the name of a service; `nil` if the message is none.
        private static func service(_ message: [UInt8]) -> String? {
            var reader = ProtobufReader(message[...])
            var name = ""
            do {
                while let (field, value) = try reader.next() { if field == 1 { name = try value.text } }
            } catch { return nil }
            return name
        }
    }
#endif
