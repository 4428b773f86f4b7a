// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// Concurrency Monitoring, which limits the streams that a household watches at once.
///
/// The documentation describes a conflict in three forms. This is the form of a response to a call.
extension SandboxCore {
    /// The time in milliseconds after which a stream must send a heartbeat.
    private static let heartbeat: Int64 = 60_000
    /// The time in milliseconds after which a stream without a heartbeat ends.
    private static let lifetime: Int64 = 90_000

    /// The maximum number of metadata of a stream, and the maximum size of each name and value in bytes.
    private static let metadataLimit = 64
    private static let metadataSize = 256

    /// The names of metadata that cannot change once they are set.
    private static let immutable: Set<String> = [
        "package", "channel", "platform", "assetId", "idp", "mvpd", "hba_status", "hba", "mobileDevice",
    ]

    var concurrencyEndpoints: [Endpoint] {
        [
            Endpoint(.get, path: "/v2/metadata", operation: .concurrency, dialect: .plain) { call in
                _ = try application(call)
                return .json(.strings(configuration.concurrency.requiredMetadata))
            },
            Endpoint(
                .post,
                path: "/v2/sessions/:idp/:subject",
                operation: .concurrency,
                dialect: .plain,
                answer: start
            ),
            Endpoint(
                .post,
                path: "/v2/sessions/:idp/:subject/:session",
                operation: .concurrency,
                dialect: .plain,
                answer: beat
            ),
            Endpoint(
                .delete,
                path: "/v2/sessions/:idp/:subject/:session",
                operation: .concurrency,
                dialect: .plain,
                answer: end
            ),
            Endpoint(
                .get,
                path: "/v2/runningStreams/:idp/:subject",
                operation: .concurrency,
                dialect: .plain,
                answer: list
            ),
        ]
    }

    private func start(_ call: EndpointRequest) async throws -> Response {
        let application = try application(call)
        let household = try household(call)
        let policy = configuration.concurrency
        let metadata = try metadata(call)
        let missing = policy.requiredMetadata.filter { metadata[$0] == nil }
        guard missing.isEmpty else { return Self.obligation(missing) }
        let stream = WatchedStream(
            id: RandomText.uuid,
            provider: call.segment("idp"),
            subject: call.segment("subject"),
            household: household,
            application: application,
            metadata: metadata,
            terminationCode: RandomText.short,
            started: call.now,
            expires: call.now.advanced(byMilliseconds: Self.lifetime)
        )
        let terminated = (call.header("X-Terminate") ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
        let conflicts = try await store.start(stream, ending: Set(terminated), at: call.now) { running in
            guard running.count >= policy.limit else { return [] }
            return policy.strategy == .rejectNew ? nil : Array(running.prefix(running.count - policy.limit + 1))
        }
        if let conflicts { return conflict(conflicts) }
        var response = accepted(call)
        response.headers[.location] = stream.id
        return response
    }

    private func beat(_ call: EndpointRequest) async throws -> Response {
        let stream = try await stream(call)
        let metadata = try metadata(call)
        let isRunning = try await store.change(stream, at: call.now) { stream in
            for (name, value) in metadata where !(Self.immutable.contains(name) && stream.metadata[name] != nil) {
                stream.metadata[name] = value
            }
            guard stream.metadata.count <= Self.metadataLimit else { throw Self.tooMuch }
            stream.expires = call.now.advanced(byMilliseconds: Self.lifetime)
        }
        return isRunning ? accepted(call) : Self.gone(try await self.stream(call))
    }

    private func end(_ call: EndpointRequest) async throws -> Response {
        let stream = try await stream(call)
        let isRunning = try await store.change(stream, at: call.now) { stream in
            (stream.hasEnded, stream.expires) = (true, call.now)
        }
        return isRunning ? .empty(.accepted) : Self.gone(try await self.stream(call))
    }

    private func list(_ call: EndpointRequest) async throws -> Response {
        _ = try application(call)
        let streams = try await store.streams(household(call), at: call.now)
        guard let first = streams.map(\.expires).min() else {
            return .json(["runningStreams": [], "otherStreams": .number(0)])
        }
        let list = streams.map { stream -> JSON in
            [
                "sessionId": .string(stream.id), "startTime": .number(stream.started.millisecondsSince1970),
                "applicationId": .string(stream.application), "applicationName": .string(stream.application),
                "terminationCode": .string(stream.terminationCode), "metadata": stream.metadata.json,
            ]
        }
        return .json(["runningStreams": .array(list)], headers: [.expires: first.httpDate])
    }

    // MARK: Callers and households

    /// Returns the application's id: the user of `Authorization: Basic`.
    private func application(_ call: EndpointRequest) throws -> String {
        let parts = (call.headers[.authorization] ?? "").split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let bytes = Base64.decode([UInt8](parts[1].utf8)),
            let name = String(validating: bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self), !name.isEmpty,
            name.utf8.count <= 128
        else {
            throw EndpointError(401, message: "Send Authorization: Basic with the id of the application as the user.")
        }
        return name
    }

    /// Returns the household of a viewer, who is named by the session GUID of media tokens or by the provider's own id. An
    /// unknown viewer is a household of one.
    private func household(_ call: EndpointRequest) throws -> String {
        let (provider, subject) = (call.segment("idp"), call.segment("subject"))
        guard configuration.provider(provider) != nil else { throw EndpointError(404, message: "The idp is unknown.") }
        let household = configuration.households.first { household in
            household.users.contains { $0.id == subject || Viewer.guid($0.id) == subject }
        }
        return household?.id ?? "\(provider)\n\(subject)"
    }

    private func stream(_ call: EndpointRequest) async throws -> WatchedStream {
        _ = try application(call)
        let stream = try await store.stream(
            call.segment("session"),
            provider: call.segment("idp"),
            subject: call.segment("subject")
        )
        guard let stream else { throw EndpointError(404, message: "The session is unknown.") }
        return stream
    }

    /// Returns the metadata of a stream, from the query and the form.
    private func metadata(_ call: EndpointRequest) throws -> [String: String] {
        let metadata = call.query.values.merging(call.form.values) { $1 }
        let isSmall = metadata.allSatisfy { name, value in
            name.utf8.count <= Self.metadataSize && value.utf8.count <= Self.metadataSize
        }
        guard isSmall, metadata.count <= Self.metadataLimit else { throw Self.tooMuch }
        return metadata
    }

    private static let tooMuch = EndpointError(
        400,
        message:
            "A stream has at most \(metadataLimit) metadata entries, with names and values of at most \(metadataSize) bytes."
    )

    // MARK: Answers

    private func accepted(_ call: EndpointRequest) -> Response {
        let next = call.now.advanced(byMilliseconds: Self.heartbeat).httpDate
        return Response(status: .accepted, headers: [.cacheControl: "no-store", .expires: next])
    }

    private static func obligation(_ names: [String]) -> Response {
        .json(
            [
                "associatedAdvice": [],
                "obligations": ["namespace": "adobe.primetime.cm", "action": "refresh", "arguments": .strings(names)],
            ],
            status: .badRequest
        )
    }

    private func conflict(_ streams: [WatchedStream]) -> Response {
        let limit = configuration.concurrency.limit
        let conflicts = streams.map { stream -> JSON.Member in
            let conflict: JSON = [
                "terminationCode": .string(stream.terminationCode), "metadata": stream.metadata.json,
                "channel": .string(stream.metadata["channel"] ?? "Unknown"),
                "startedAt": .string(stream.started.iso8601),
                "deviceName": .string(stream.metadata["deviceName"] ?? "Unknown"),
                "applicationName": .string(stream.application),
            ]
            return (stream.id, [conflict])
        }
        let advice: JSON = [
            "type": "rule-violation", "message": "Number of active streams exceeded",
            "policyName": "sandbox-policy", "ruleName": .string("\(limit) streams cap"),
            "threshold": .number(Int64(limit)), "conflicts": .object(conflicts),
        ]
        return .json(["associatedAdvice": [advice]], status: .conflict)
    }

    /// Returns 410: without a body if the stream ended by itself, with the reason if another stream ended it.
    private static func gone(_ stream: WatchedStream) -> Response {
        guard let terminator = stream.terminator else { return .empty(.gone) }
        let advice: JSON = [
            "type": "remote-termination", "message": "This session was terminated by a remote user",
            "terminator": ["applicationName": .string(terminator)],
        ]
        return .json(["associatedAdvice": [advice], "obligations": []], status: .gone)
    }
}
