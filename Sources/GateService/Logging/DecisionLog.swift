// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import MediaTokens
internal import PlaybackGate

/// Writes a line for every decision: never a token, a key or a session GUID in clear.
struct DecisionLog: DecisionObserver {
    private let sink: LogSink
    private let format: LogFormat
    private let salt: String

    /// - Parameter salt: What session GUIDs are hashed with.
    init(_ sink: LogSink, format: LogFormat, salt: String) {
        self.sink = sink
        self.format = format
        self.salt = salt
    }

    func observe(_ event: DecisionEvent) {
        // Hashing and formatting happen here, outside of the sink's lock.
        var line: [UInt8] = []
        line.reserveCapacity(512)
        let facts = facts(event)
        switch format {
        case .json: JSONText.object(facts).write(to: &line)
        case .text:
            line += "\(event.time.iso8601) info playback".utf8
            for (key, value) in facts.dropFirst(3) where !value.isNull {
                line += " \(key)=\(value.bare)".utf8
            }
        }
        sink.line { $0 += line }
    }

    private func facts(_ event: DecisionEvent) -> [(String, JSONText)] {
        let subject = event.decision.subject
        let token = subject.token
        let (kind, media) =
            switch event.target {
            case .media(let id): ("media", id)
            // A query may have a token in it.
            case .path(let path): ("path", String(path.prefix { $0 != "?" }))
            }
        return [
            ("time", .string(event.time.iso8601)), ("level", .string("info")), ("message", .string("playback")),
            ("trace", .string(event.client.trace)), ("decision", .string(event.decision.name)),
            ("code", .string(event.decision.codeName)), (kind, .string(String(media.prefix(1024)))),
            ("entry", .optional(subject.entry?.key.text)), ("requestor", .optional(subject.requestor)),
            ("mvpd", .optional(token?.mvpdID)), ("resource", .optional(subject.resource?.text)),
            ("session", .optional(token.map { session($0.userSessionGUID) })),
            ("caller", .optional(event.client.caller)),
            ("latency_us", .number(Int64(event.latency.seconds * 1e6))),
            ("hint", .optional(event.decision.code?.operatorHint)),
        ]
    }

    /// The same GUID gives the same hash, so that a session can be followed; nobody can tell the GUID.
    private func session(_ guid: String) -> String {
        SHA256.digest("\(salt.utf8.count):\(salt)\(guid)").prefix(12)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension Decision {
    /// `allow` or `refuse`; `shadow` for what would have been refused.
    var name: String {
        switch self {
        case .allow(let allowance): allowance.reason.name == "shadow" ? "shadow" : "allow"
        case .refuse: "refuse"
        }
    }

    /// The deny code, or the reason of an allowance.
    var codeName: String {
        if let code { return code.rawValue }
        guard case .allow(let allowance) = self else { return "" }
        return allowance.reason.name
    }
}

extension JSONText {
    fileprivate var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// A text as it stands where that is one word; anything else as in JSON.
    fileprivate var bare: String {
        if case .string(let text) = self { TextLine.value(text) } else { line }
    }
}
