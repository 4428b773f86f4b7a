// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import Entitlements
internal import FoundationEssentials
internal import NIOHTTP1

/// A client of a gate's `POST /v1/playback`, such as a player's backend.
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

    /// Presents a token for the start of a playback. If the gate allows the playback, it consumes the token.
    ///
    /// - Throws: The reason why there is no answer, in one line.
    package func play(_ media: String, token: String?) async throws(FormBrowser.Fault) -> Answer {
        var request = ServiceRequest(method: .POST, path: ["v1", "playback"], isAuthorized: false)
        var members = ["media": media]
        members["token"] = token
        request.json = try? EntitlementBody.json(members)
        if let key { request.headers.append(("Authorization", "Bearer \(key)")) }
        let answer: ServiceAnswer
        do throws(ServiceFailure) { answer = try await http.answer(request, at: url, within: .seconds(10)) } catch {
            throw FormBrowser.Fault(description: "the gate at \(url) did not respond: \(error.status.message ?? "")")
        }
        guard let body = try? EntitlementBody.read(Body.self, json: answer.body) else {
            throw FormBrowser.Fault(
                description: "the gate at \(url) returned no decision (HTTP \(answer.status))"
            )
        }
        return Answer(
            status: answer.status,
            isAllowed: answer.status == 200 && body.allowed == true,
            code: body.reason ?? body.code ?? "",
            message: body.message,
            action: body.action,
            trace: body.trace
        )
    }

    private struct Body: Decodable {
        let allowed: Bool?
        let code: String?
        let reason: String?
        let message: String?
        let action: String?
        let trace: String?
    }
}
