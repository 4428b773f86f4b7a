// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateConfiguration
internal import RequestTargets
internal import Telemetry

#if GRPC
    internal import EdgeChecks
    package import GateGRPC
    internal import HTTPServer
    internal import NIOHTTP1

    /// Answers Envoy's checks over gRPC with the decisions of the edge listener, in Envoy's messages.
    package struct EnvoyAuthority: CheckAuthority {
        package let responder: EdgeResponder
        /// Returns true if the gate is ready.
        package let readiness: @Sendable () async -> Bool

        /// Creates a value of its members.
        package init(responder: EdgeResponder, readiness: @escaping @Sendable () async -> Bool) {
            self.responder = responder
            self.readiness = readiness
        }

        package func trusts(_ peer: GRPCPeer) -> Bool {
            responder.live.current.edge?.peers.trusts(peer.address, certificate: peer.certificate) ?? false
        }

        package var isReady: Bool { get async { await readiness() } }

        package func check(_ request: CheckRequest?, from peer: GRPCPeer) async -> CheckAnswer {
            let snapshot = responder.live.current
            let isTrusted = snapshot.edge?.peers.trusts(peer.address, certificate: peer.certificate) ?? false
            let method = request.map { HTTPMethod(rawValue: $0.method) } ?? .GET
            let fields = HTTPFields(request.map(HTTPHeaders.init) ?? HTTPHeaders())
            // Without a target, the check is invalid.
            let found: (EdgeDialect, Substring) = (.grpc, request?.path[...] ?? "")
            let answer: EdgeAnswer
            switch responder.reply(to: method, fields: fields, found: found, isTrusted: isTrusted, in: snapshot) {
            // gRPC leaves connections to its transport: that of an untrusted peer stays.
            case .now(let known), .last(let known): answer = known
            case .later(let pending): answer = await pending.value
            }
            return CheckAnswer(answer, sources: snapshot.edge?.sources)
        }
    }

    extension HTTPHeaders {
        /// Creates the header fields of a check over HTTP that has the same facts.
        ///
        /// Facts for grants in `X-Original-` fields are left out. Envoy passes a client's own header fields, so they
        /// may come from the client.
        package init(_ request: CheckRequest) {
            self.init()
            if !request.host.isEmpty { add(name: "host", value: request.host) }
            for field in request.headers where !field.name.lowercased().hasPrefix("x-original-") {
                add(name: field.name, value: field.value)
            }
        }
    }

    extension CheckAnswer {
        /// Creates the answer to a check.
        ///
        /// - Parameter sources: The sources of tokens, which the origin does not receive; `nil` if the edge no longer
        ///   exists.
        fileprivate init(_ answer: EdgeAnswer, sources: TokenSources?) {
            let fields = answer.fields
            guard answer.status == 200 else {
                let headers = fields.map { Header(name: $0.name.lowercased(), value: String($0.value)) }
                self = .deny(Denial(status: answer.status, headers: headers, body: answer.decision.codeName + "\n"))
                return
            }
            var allowance = Allowance()
            for (name, value) in fields {
                switch name {
                case "X-Playgate-MVPD" where !value.isEmpty:
                    allowance.set.append(Header(name: "x-playgate-mvpd", value: String(value)))
                case "X-Playgate-Code", "X-Playgate-Trace", "CTA-Common-Access-Token", "Common-Access-Token":
                    allowance.added.append(Header(name: name.lowercased(), value: String(value)))
                case "Set-Cookie":
                    allowance.added.append(Header(name: "set-cookie", value: String(value), isRepeatable: true))
                default: break
                }
            }
            // The client's fields that the origin could read as the gate's, and those with tokens.
            let own = Self.ownFields.filter { name in !allowance.set.contains { $0.name == name } }
            allowance.removed = own + (sources?.fieldNames ?? [])
            allowance.removedParameters = sources?.targetNames.parameters ?? []
            self = .allow(allowance)
        }

        /// The names of the fields of answers.
        private static let ownFields = [
            "decision", "code", "status", "requestor", "mvpd", "resource", "expires", "token", "trace", "session",
            "grant",
            "set-cookie",
        ].map { "x-playgate-\($0)" }
    }
#endif
