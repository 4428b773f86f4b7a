// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Cryptography
internal import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate

/// Writes a line for every decision: never a token, a key or a session GUID in clear.
struct DecisionLog: DecisionObserver {
    private let sink: LogSink
    private let format: LogFormat
    private let salt: String

    private let logsChecks: Bool

    /// - Parameters:
    ///   - salt: What session GUIDs are hashed with.
    ///   - logsChecks: Whether there is a line for every segment that an edge lets pass, which is a line a viewer every
    ///     few seconds, or only for what was used up or refused.
    init(_ sink: LogSink, format: LogFormat, salt: String, logsChecks: Bool) {
        self.logsChecks = logsChecks
        self.sink = sink
        self.format = format
        self.salt = salt
    }

    func observe(_ event: DecisionEvent) {
        if !logsChecks, event.isPassingCheck { return }
        // Hashing and formatting happen here, outside of the sink's lock.
        var line: [UInt8] = []
        line.reserveCapacity(640)
        let writer = LineWriter(format: format)
        writer.begin(event.time, &line)
        let subject = event.decision.subject
        writer.add("trace", event.client.trace.description, &line)
        writer.add("decision", event.decision.name, &line)
        writer.add("code", event.decision.codeName, &line)
        switch event.target {
        case .media(let id): writer.add("media", id, &line)
        // A query may have a token in it.
        case .path(let path): writer.add("path", path.loggable, &line)
        }
        writer.add("entry", subject.entry?.key.text, &line)
        writer.add("requestor", subject.requestor, &line)
        writer.add("mvpd", subject.token?.mvpdID, &line)
        writer.add("resource", subject.resource?.text, &line)
        writer.add("session", subject.token.map { session($0.userSessionGUID) }, &line)
        writer.add("caller", event.client.caller, &line)
        writer.add("edge", event.client.edge, &line)
        writer.add("latency_us", Int64(event.latency.seconds * 1e6), &line)
        writer.add("hint", event.decision.code?.operatorHint, &line)
        writer.end(&line)
        sink.line { $0 += line }
    }

    /// The same GUID gives the same hash, so that a session can be followed; nobody can tell the GUID.
    private func session(_ guid: String) -> String {
        SHA256.digest("\(salt.utf8.count):\(salt)\(guid)").prefix(12).hexadecimal
    }
}

extension Substring {
    /// A path as requested, without its query and at most 2 KiB of it. Cut by bytes: a combining character behind the
    /// question mark makes another character of it, and the query would follow into the log.
    fileprivate var loggable: String {
        let end = utf8.firstIndex(of: UInt8(ascii: "?")) ?? endIndex
        let path = utf8[..<end]
        return String(decoding: path.prefix(2048), as: UTF8.self)
    }
}

extension DecisionEvent {
    /// Whether nothing was used up, and nothing refused: there are many of these.
    fileprivate var isPassingCheck: Bool {
        guard case .allow(let allowance) = decision else { return false }
        return allowance.reason == .withinTTL || allowance.reason == .probe
            || (allowance.reason == .unprotected && client.edge != nil)
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

/// Writes a line member by member: a tree of values for every decision costs more than to write it.
private struct LineWriter {
    let format: LogFormat

    func begin(_ time: Timestamp, _ line: inout [UInt8]) {
        switch format {
        case .json:
            line += "{\"time\":\"".utf8
            line += time.iso8601.utf8
            line += "\",\"level\":\"info\",\"message\":\"playback\"".utf8
        case .text: line += "\(time.iso8601) info playback".utf8
        }
    }

    func add(_ name: StaticString, _ text: String?, _ line: inout [UInt8]) {
        // For people, what is not known is not said.
        if format == .text, text == nil { return }
        addName(name, &line)
        switch (format, text) {
        case (.json, let text?): JSONText.write(text, to: &line)
        case (.json, nil): line += "null".utf8
        case (.text, let text): line += TextLine.value(text ?? "").utf8
        }
    }

    func add(_ name: StaticString, _ number: Int64, _ line: inout [UInt8]) {
        addName(name, &line)
        line += String(number).utf8
    }

    func end(_ line: inout [UInt8]) {
        if format == .json { line.append(UInt8(ascii: "}")) }
    }

    private func addName(_ name: StaticString, _ line: inout [UInt8]) {
        switch format {
        case .json:
            line += ",\"".utf8
            line += name.description.utf8
            line += "\":".utf8
        case .text:
            line.append(UInt8(ascii: " "))
            line += name.description.utf8
            line.append(UInt8(ascii: "="))
        }
    }
}
