// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate

/// The span of a decision: the facts of its log line, without a token, a key or the viewer's session.
struct DecisionSpan {
    private let event: DecisionEvent
    private let id: UInt64

    /// Creates the span of a decision, with an id of its own.
    init(_ event: DecisionEvent) {
        self.event = event
        id = .random(in: 1 ... .max)
    }

    /// The span in the JSON form of OTLP. Times have the precision of the gate's clock, which is a millisecond; the
    /// duration is exact.
    ///
    /// Source: OTLP 1.x, "JSON Protobuf Encoding": ids in hexadecimal, 64-bit integers as strings.
    var text: [UInt8] {
        let (client, start) = (event.client, event.time.millisecondsSince1970 * 1_000_000)
        var members: [JSON.Member] = [
            ("traceId", .string("\(client.trace)")), ("spanId", .string(id.hexadecimal)),
        ]
        if client.parent != .none { members.append(("parentSpanId", .string(client.parent.span.hexadecimal))) }
        members += [
            ("flags", .number(Self.flags | (client.parent == .none ? 0 : Self.remoteParent))),
            // A name says what is done, and has few values; targets are attributes.
            ("name", .string(client.edge == nil ? "playback" : "check")), ("kind", .number(Self.server)),
            ("startTimeUnixNano", .string("\(start)")),
            ("endTimeUnixNano", .string("\(start + event.latency.nanoseconds)")), ("attributes", .array(attributes)),
            ("status", status),
        ]
        var text: [UInt8] = []
        JSON.object(members).write(to: &text)
        return text
    }

    private var attributes: [JSON] {
        let (decision, subject) = (event.decision, event.decision.subject)
        var target: (name: String, text: String)
        switch event.target {
        case .media(let id): target = ("playgate.media", id[...].beginning)
        // The query may contain a token.
        case .path(let path): target = ("url.path", path.loggable)
        }
        let texts: [(String, String?)] = [
            ("playgate.decision", decision.name), ("playgate.code", decision.codeName), target,
            ("playgate.entry", subject.entry?.key.text), ("playgate.requestor", subject.requestor),
            ("playgate.mvpd", subject.token.map { $0.mvpdID[...].beginning }),
            ("playgate.resource", subject.resource.map { $0.text[...].beginning }),
            ("playgate.playback", playback), ("playgate.caller", event.client.caller),
            ("playgate.edge", event.client.edge), ("error.type", fault),
        ]
        let store: JSON? = event.storeLatency.map { latency in
            ["key": "playgate.store.duration_us", "value": ["intValue": .string("\(latency.nanoseconds / 1000)")]]
        }
        return texts.compactMap { name, text in text.map { .attribute(name, text: $0) } } + [store].compactMap(\.self)
    }

    private var playback: String? {
        if case .allow(let allowance) = event.decision { allowance.access?.session?.hexadecimal } else { nil }
    }

    /// The code of a refusal that is caused by the installation; `nil` if the viewer has caused it.
    private var fault: String? {
        guard case .refuse(let refusal) = event.decision, [.retry, .configuration].contains(refusal.code.action) else {
            return nil
        }
        return refusal.code.rawValue
    }

    private var status: JSON { fault.map { ["code": .number(Self.error), "message": .string($0)] } ?? .object([]) }

    /// The trace is sampled, and it is known if the parent is remote.
    private static let flags: Int64 = 0x101
    private static let remoteParent: Int64 = 0x200
    /// The numbers of `SPAN_KIND_SERVER` and `STATUS_CODE_ERROR`.
    private static let (server, error): (Int64, Int64) = (2, 2)
}

extension JSON {
    /// Returns an attribute of OTLP with a text.
    package static func attribute(_ name: String, text: String) -> JSON {
        ["key": .string(name), "value": ["stringValue": .string(text)]]
    }
}

extension UInt64 {
    /// 16 hexadecimal digits.
    fileprivate var hexadecimal: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
