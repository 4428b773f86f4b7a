// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import Encodings
internal import NIOCore

/// Records, lists and lifts revocations at a running gate, by its API.
package struct RevocationClient: Sendable {
    private let client: ListenerClient

    /// The address of the API, as in the configuration.
    package var address: String { client.address }

    /// Reads the address of the API.
    ///
    /// - Parameters:
    ///   - path: The path of the configuration file.
    ///   - key: The bearer key of a caller with the scope `revoke`; `nil` for an open API.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no usable address.
    package init(configurationFile path: String, key: String?) throws(ConfigurationError) {
        client = try ListenerClient(ofAPIIn: path, key: key)
    }

    /// The answer of the API.
    package struct Answer: Sendable {
        /// True if the gate has executed the request.
        package let isDone: Bool
        /// The body.
        package let body: JSON
    }

    /// Records the revocation of a subject.
    ///
    /// - Parameter members: The members of the body of `POST /v1/revocations`.
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func add(_ members: [JSON.Member]) async throws(ListenerClient.Failure) -> Answer {
        try await send("POST", to: "/v1/revocations", body: .object(members))
    }

    /// Lists the newest revocations in force.
    ///
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func list() async throws(ListenerClient.Failure) -> Answer {
        try await send("GET", to: "/v1/revocations", body: nil)
    }

    /// Lists the playbacks whose grants more than one hold.
    ///
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func leaks() async throws(ListenerClient.Failure) -> Answer {
        try await send("GET", to: "/v1/leaks", body: nil)
    }

    /// Returns a playback of the list, with the requests since its challenge.
    ///
    /// - Parameter session: The id of the session, 32 hexadecimal digits.
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func leak(_ session: String) async throws(ListenerClient.Failure) -> Answer {
        try await send("GET", to: "/v1/leaks/\(session)", body: nil)
    }

    /// Lifts the revocation of a subject.
    ///
    /// - Parameter members: The member that names the subject, as in the body of `POST /v1/revocations`.
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func lift(_ members: [JSON.Member]) async throws(ListenerClient.Failure) -> Answer {
        try await send("POST", to: "/v1/revocations/lift", body: .object(members))
    }

    /// Lifts the revocation with an id, as the list has it.
    ///
    /// - Throws: `ListenerClient.Failure` if no gate answers.
    package func lift(id: String) async throws(ListenerClient.Failure) -> Answer {
        try await send("DELETE", to: "/v1/revocations/\(id)", body: nil)
    }

    private func send(_ method: String, to path: String, body: JSON?) async throws(ListenerClient.Failure) -> Answer {
        let sent = body.map { [UInt8]($0.line.utf8) }
        let (status, bytes) = try await client.send(method, to: path, body: sent, upTo: 1 << 20)
        let limits = JSONLimits(depth: 4, members: 64, elements: 2000)
        guard let answer = try? JSONReader.read(bytes.readableBytesUInt8Span, limits: limits) else {
            throw ListenerClient.Failure(reason: "the answer, with status \(status), is not that of a gate")
        }
        return Answer(isDone: 200..<300 ~= status, body: answer)
    }
}
