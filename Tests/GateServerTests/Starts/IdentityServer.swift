// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import Synchronization

@testable import AccessTokens

/// An identity provider of tests: its discovery document, its keys, and a server that knows opaque tokens.
final class IdentityServer: Sendable {
    private let channel: any Channel
    private let shared: Shared

    struct Answer: Sendable {
        var status = HTTPResponseStatus.ok
        var body: String
        var type = "application/json"
        /// True for an answer that never comes.
        var isMissing = false
    }

    fileprivate final class Shared: Sendable {
        let answers = Mutex<[String: Answer]>([:])
        /// The bodies of the requests for a path, with their credentials before them.
        let requests = Mutex<[String: [String]]>([:])
    }

    /// The address, which is the issuer.
    var issuer: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    init() async throws {
        let shared = Shared()
        self.shared = shared
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(shared))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    func answer(_ path: String, with answer: Answer) { shared.answers.withLock { $0[path] = answer } }

    func requests(_ path: String) -> [String] { shared.requests.withLock { $0[path] ?? [] } }

    /// Publishes the discovery document, and keys at the address that it names.
    func publish(_ keys: [TokenKey], issuer: String? = nil) throws {
        let named = issuer ?? self.issuer
        let document = "{\"issuer\":\"\(named)\",\"jwks_uri\":\"\(self.issuer)/keys\",\"token_endpoint\":\"x\"}"
        answer("/.well-known/openid-configuration", with: Answer(body: document))
        answer("/keys", with: Answer(body: try KeySet(keys).publishedJWKSet))
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let shared: Shared
        private var head: HTTPRequestHead?
        private var body = ""

        init(_ shared: Shared) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): (self.head, body) = (head, "")
            case .body(let part): body += String(buffer: part)
            case .end:
                guard let head else { return }
                let seen = (head.headers.first(name: "authorization").map { $0 + " " } ?? "") + body
                shared.requests.withLock { $0[head.uri, default: []].append(seen) }
                let answer = shared.answers.withLock { $0[head.uri] } ?? Answer(status: .notFound, body: "")
                if answer.isMissing { return }
                let fields = HTTPHeaders([
                    ("Content-Type", answer.type), ("Content-Length", "\(answer.body.utf8.count)"),
                ])
                let response = HTTPResponseHead(version: .http1_1, status: answer.status, headers: fields)
                context.write(wrapOutboundOut(.head(response)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}

/// A maker of access tokens.
struct TokenMaker {
    let made: GeneratedKey
    let issuer: String

    init(
        _ issuer: String = "https://id.example/realms/tv",
        algorithm: KeyAlgorithm = .es256,
        id: String = "key-1"
    ) throws {
        self.issuer = issuer
        let binding = AccessTokenIssuer(issuer, audience: [], rules: []).binding
        made = try TokenKey.generate(algorithm, id: KeyID(id), binding: binding)
    }

    var keySet: String { get throws { try KeySet([made.key]).publishedJWKSet } }

    /// Makes a token for TNT.
    ///
    /// - Parameter claims: Further claims in JSON, each with a comma before it.
    func token(_ jti: String, viewer: String = "viewer-1", claims: String = "", at now: Timestamp) throws -> String {
        let second = now.millisecondsSince1970 / 1000
        let header =
            "{\"alg\":\"\(made.key.algorithm.rawValue)\",\"kid\":\"\(made.key.id?.text ?? "")\",\"typ\":\"at+jwt\"}"
        let payload =
            "{\"iss\":\"\(issuer)\",\"aud\":\"playgate\",\"sub\":\"\(viewer)\",\"iat\":\(second),\"exp\":\(second + 600),"
            + "\"jti\":\"\(jti)\",\"entitlements\":[\"TNT\"]\(claims)}"
        let parts = [header, payload].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }
        return try made.key.signedJWS(parts.joined(separator: "."))
    }
}
