// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import Entitlements
internal import FoundationEssentials
internal import NIOHTTP1

/// A client of a gate's API, such as a player's backend.
package struct PlaybackClient: Sendable {
    /// The answer of a gate.
    package struct Answer: Hashable, Sendable {
        /// The HTTP status.
        package let status: Int
        /// True if the playback may start.
        package let isAllowed: Bool
        /// The code of the decision, such as `verified` or `token_already_used`.
        package let code: String
        package let message: String?
        package let action: String?
        /// The id of the decision in the gate's log.
        package let trace: String?
    }

    /// The entry of a media in the catalogue of a gate.
    package struct Entry: Hashable, Sendable {
        /// True if the media requires a token.
        package let isProtected: Bool
        /// The resource that a token must be for; `nil` for unprotected media.
        package let resource: String?
    }

    private let url: String
    private let key: String?
    private let http = HTTPTransport()

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: The URL of the gate's API, without a path.
    ///   - key: The caller's API key, if the gate requires one.
    package init(url: String, key: String?) {
        self.url = url
        self.key = key
    }

    /// Presents a token for the start of a playback: `POST /v1/playback`. If the gate allows it, it consumes the token.
    ///
    /// - Parameter token: The token in Base64; `nil` for unprotected media.
    /// - Throws: The reason why there is no answer, in one line.
    package func play(_ media: String, token: String?) async throws(FormBrowser.Fault) -> Answer {
        var request = ServiceRequest(method: .POST, path: ["v1", "playback"], isAuthorized: false)
        var members = ["media": media]
        members["token"] = token
        request.json = try? EntitlementBody.json(members)
        let (status, body) = try await ask(request)
        return Answer(status: status, body)
    }

    /// Looks a media up in the catalogue: `GET /v1/catalogue/{media}`.
    ///
    /// - Returns: The entry, or the answer that refuses the request.
    /// - Throws: The reason why there is no answer, in one line.
    package func entry(_ media: String) async throws(FormBrowser.Fault) -> (Entry?, Answer) {
        let request = ServiceRequest(path: ["v1", "catalogue", media], isAuthorized: false)
        let (status, body) = try await ask(request)
        let entry = body.protected.map { Entry(isProtected: $0, resource: body.resource) }
        return (status == 200 ? entry : nil, Answer(status: status, body))
    }

    private func ask(_ request: ServiceRequest) async throws(FormBrowser.Fault) -> (status: Int, Body) {
        var request = request
        if let key { request.headers.append(("Authorization", "Bearer \(key)")) }
        let answer: ServiceAnswer
        do throws(ServiceFailure) { answer = try await http.send(request, to: url, within: .seconds(10)) } catch {
            throw FormBrowser.Fault(description: "the gate at \(url) did not respond: \(error.status.message ?? "")")
        }
        guard let body = try? EntitlementBody.read(Body.self, json: answer.body) else {
            throw FormBrowser.Fault(
                description: "the gate at \(url) returned no decision (HTTP \(answer.status))"
            )
        }
        return (answer.status, body)
    }

    /// The members of the gate's answers that a viewer needs.
    fileprivate struct Body: Decodable {
        let allowed: Bool?
        let protected: Bool?
        let resource: String?
        let code: String?
        let message: String?
        let action: String?
        let trace: String?
    }
}

extension PlaybackClient.Answer {
    fileprivate init(status: Int, _ body: PlaybackClient.Body) {
        self.init(
            status: status,
            isAllowed: status == 200 && body.allowed == true,
            code: body.code ?? "",
            message: body.message,
            action: body.action,
            trace: body.trace
        )
    }
}
