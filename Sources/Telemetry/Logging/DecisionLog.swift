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
    ///   - logsChecks: True to log every segment that an edge allows, which is a line per viewer every few seconds;
    ///     false to omit those.
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
        writer.begin(at: event.time, in: &line)
        let subject = event.decision.subject
        writer.add("trace", value: event.client.trace.description, to: &line)
        writer.add("decision", value: event.decision.name, to: &line)
        writer.add("code", value: event.decision.codeName, to: &line)
        switch event.target {
        case .media(let id): writer.add("media", value: id, to: &line)
        // The query may contain a token.
        case .path(let path): writer.add("path", value: path.loggable, to: &line)
        }
        writer.add("entry", value: subject.entry?.key.text, to: &line)
        writer.add("requestor", value: subject.requestor, to: &line)
        writer.add("mvpd", value: subject.token?.mvpdID, to: &line)
        writer.add("resource", value: subject.resource?.text, to: &line)
        writer.add("session", value: subject.token.map { sessions.text($0.userSessionGUID) }, to: &line)
        if let token = subject.token, let code = event.decision.code { writer.add(token, refusedFor: code, to: &line) }
        if case .refuse(let refusal) = event.decision, let unknown = refusal.unknownFact {
            writer.add("fact", value: unknown.fact.rawValue, to: &line)
            writer.add("fact_reason", value: unknown.reason.rawValue, to: &line)
        }
        if case .allow(let allowance) = event.decision, let playback = allowance.access?.session {
            writer.add("playback", value: playback.hexadecimal, to: &line)
        }
        if let fields = event.signingFields {
            writer.add("s-uri-signing", value: fields.status, to: &line)
            writer.add("s-uri-signing-deny-reason", value: fields.denyReason, to: &line)
        }
        writer.add("caller", value: event.client.caller, to: &line)
        writer.add("edge", value: event.client.edge, to: &line)
        writer.add("latency_us", value: Int64(event.latency.seconds * 1e6), to: &line)
        writer.add("hint", value: event.decision.code?.operatorHint, to: &line)
        writer.end(&line)
        sink.line { $0 += line }
    }
}

extension DecisionEvent {
    /// The fields of a CDNI log (RFC 9246 §4.4) for a check at an edge whose entry accepts signed URIs; `nil` for
    /// another event.
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

    /// True if nothing was consumed and nothing refused. There are many such events, but few licences.
    fileprivate var isPassingCheck: Bool {
        guard case .allow(let allowance) = decision, allowance.subject.entry?.licence == nil else { return false }
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
    let format: LogFormat

    func begin(at time: Timestamp, in line: inout [UInt8]) {
        switch format {
        case .json:
            line.append("{\"time\":\"")
            line.append(copying: time.iso8601)
            line.append("\",\"level\":\"info\",\"message\":\"playback\"")
        case .text: line.append(copying: "\(time.iso8601) info playback")
        }
    }

    func add(_ name: StaticString, value text: String?, to line: inout [UInt8]) {
        // Text lines omit unknown values.
        if format == .text, text == nil { return }
        addName(name, to: &line)
        switch (format, text) {
        case (.json, let text?): JSON.write(text, to: &line)
        case (.json, nil): line.append("null")
        case (.text, let text): line.append(copying: TextLine.value(text ?? ""))
        }
    }

    func add(_ name: StaticString, value number: Int64, to line: inout [UInt8]) {
        addName(name, to: &line)
        line.append(decimal: number)
    }

    /// Adds the claims for which an authentic token was refused, besides the line's own requestor, resource and time.
    func add(_ token: MediaToken, refusedFor code: DenyCode, to line: inout [UInt8]) {
        switch code {
        case .token(.resourceMismatch): add("token_resource", value: token.resourceID[...].beginning, to: &line)
        case .token(.requestorMismatch): add("token_requestor", value: token.requestorID[...].beginning, to: &line)
        case .token(.expired), .token(.issuedInFuture):
            add("issued", value: token.timeIssued.iso8601, to: &line)
            add("expires", value: token.expires.iso8601, to: &line)
        default: break
        }
    }

    func end(_ line: inout [UInt8]) {
        if format == .json { line.append(UInt8(ascii: "}")) }
    }

    private func addName(_ name: StaticString, to line: inout [UInt8]) {
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
