// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Cryptography
internal import Encodings
package import GateConfiguration
internal import MediaResources
internal import MediaTokens
internal import Platform
package import PlaybackGate
internal import URISigning

/// Logs a line for every decision, never with a token, a key or a session GUID in clear.
package struct DecisionLog: DecisionObserver {
    private let sink: LogSink
    private let format: LogFormat
    private let sessions: SessionHash

    private let logsChecks: Bool

    /// Creates a decision log.
    ///
    /// - Parameters:
    ///   - sessions: The hash of session GUIDs.
    ///   - logsChecks: True to log every segment that an edge lets pass, which is a line per viewer every few seconds;
    ///     false to leave those out.
    package init(_ sink: LogSink, format: LogFormat, sessions: SessionHash, logsChecks: Bool) {
        self.logsChecks = logsChecks
        self.sink = sink
        self.format = format
        self.sessions = sessions
    }

    package func observe(_ event: DecisionEvent) {
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
        // The query may contain a token.
        case .path(let path): writer.add("path", path.loggable, &line)
        }
        writer.add("entry", subject.entry?.key.text, &line)
        writer.add("requestor", subject.requestor, &line)
        writer.add("mvpd", subject.token?.mvpdID, &line)
        writer.add("resource", subject.resource?.text, &line)
        writer.add("session", subject.token.map { sessions.text($0.userSessionGUID) }, &line)
        if let token = subject.token, let code = event.decision.code { writer.add(token, refusedFor: code, &line) }
        if case .refuse(let refusal) = event.decision, let unknown = refusal.unknownFact {
            writer.add("fact", unknown.fact.rawValue, &line)
            writer.add("fact_reason", unknown.reason.rawValue, &line)
        }
        if case .allow(let allowance) = event.decision, let playback = allowance.access?.session {
            writer.add("playback", playback.hexadecimal, &line)
        }
        if let fields = event.signingFields {
            writer.add("s-uri-signing", fields.status, &line)
            writer.add("s-uri-signing-deny-reason", fields.denyReason, &line)
        }
        writer.add("caller", event.client.caller, &line)
        writer.add("edge", event.client.edge, &line)
        writer.add("latency_us", Int64(event.latency.seconds * 1e6), &line)
        writer.add("hint", event.decision.code?.operatorHint, &line)
        writer.end(&line)
        sink.line { $0 += line }
    }
}

extension DecisionEvent {
    /// The fields of a CDNI log (RFC 9246 §4.4) for a check at an edge whose entry takes signed URIs; `nil` for another event.
    fileprivate var signingFields: SigningLogFields? {
        guard client.edge != nil, let terms = decision.subject.entry?.grants,
            terms.profiles.contains(where: { $0.format == .uriSigning })
        else { return nil }
        switch decision.subject.signedURI {
        case .allowed: return SigningLogFields()
        case .refused(let code): return SigningLogFields(code)
        case .unknown: return .unknown
        case nil: return decision.code == .grant(.missing) ? SigningLogFields(.missing) : .notPerformed
        }
    }

    /// True if nothing was consumed and nothing refused. There are many such events.
    fileprivate var isPassingCheck: Bool {
        guard case .allow(let allowance) = decision else { return false }
        return allowance.reason == .granted || allowance.reason == .withinTTL || allowance.reason == .probe
            || (allowance.reason == .unprotected && client.edge != nil)
    }
}

extension Decision {
    /// The outcome: `allow` or `refuse`, or `shadow` for a refusal that shadow mode turned into an allowance.
    package var name: String {
        switch self {
        case .allow(let allowance): allowance.reason.name == "shadow" ? "shadow" : "allow"
        case .refuse: "refuse"
        }
    }

    /// The deny code, or the reason of an allowance.
    package var codeName: String {
        if let code { return code.rawValue }
        guard case .allow(let allowance) = self else { return "" }
        return allowance.reason.name
    }
}

/// Writes a line member by member, which costs less than building a tree of values for every decision.
private struct LineWriter {
    package let format: LogFormat

    package func begin(_ time: Timestamp, _ line: inout [UInt8]) {
        switch format {
        case .json:
            line.append("{\"time\":\"")
            line.append(copying: time.iso8601)
            line.append("\",\"level\":\"info\",\"message\":\"playback\"")
        case .text: line.append(copying: "\(time.iso8601) info playback")
        }
    }

    package func add(_ name: StaticString, _ text: String?, _ line: inout [UInt8]) {
        // Text lines omit unknown values.
        if format == .text, text == nil { return }
        addName(name, &line)
        switch (format, text) {
        case (.json, let text?): JSON.write(text, to: &line)
        case (.json, nil): line.append("null")
        case (.text, let text): line.append(copying: TextLine.value(text ?? ""))
        }
    }

    package func add(_ name: StaticString, _ number: Int64, _ line: inout [UInt8]) {
        addName(name, &line)
        line.append(decimal: number)
    }

    /// Adds the claims of an authentic token for which it was refused, beside the line's own requestor, resource and time.
    package func add(_ token: MediaToken, refusedFor code: DenyCode, _ line: inout [UInt8]) {
        switch code {
        case .token(.resourceMismatch): add("token_resource", token.resourceID[...].beginning, &line)
        case .token(.requestorMismatch): add("token_requestor", token.requestorID[...].beginning, &line)
        case .token(.expired), .token(.issuedInFuture):
            add("issued", token.timeIssued.iso8601, &line)
            add("expires", token.expires.iso8601, &line)
        default: break
        }
    }

    package func end(_ line: inout [UInt8]) {
        if format == .json { line.append(UInt8(ascii: "}")) }
    }

    private func addName(_ name: StaticString, _ line: inout [UInt8]) {
        switch format {
        case .json:
            line.append(",\"")
            line.append(name)
            line.append("\":")
        case .text:
            line.append(UInt8(ascii: " "))
            line.append(name)
            line.append(UInt8(ascii: "="))
        }
    }
}
