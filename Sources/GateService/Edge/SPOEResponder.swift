// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate
internal import SPOPServer

/// Answers the notifications of HAProxy: each is a check of an edge, which is decided as those of the edge listener are.
///
/// The arguments of the message state the client's request. A notification with another message, with an argument that is unknown
/// or of another type, or with several messages is `edge_request_invalid`: a page that is mistyped opens nothing.
struct SPOEResponder: SPOPService {
    let checks: EdgeResponder

    /// The name of the message that is answered.
    static let message = "playgate-check"

    func answer(_ messages: [SPOPMessage], _ connection: HTTPConnection) -> SPOPReply<EdgeAnswer> {
        // Without header fields, the check has no target, and is invalid.
        let fields = Self.fields(messages) ?? HTTPFields([:])
        let request = BodilessRequest(.GET, "/", fields, connection)
        switch checks.reply(to: request, (.spoe, "")) {
        case .now(let answer): return .now(answer)
        case .later(let pending): return .later(pending)
        case .last(let answer): return .last(answer)
        }
    }

    /// Returns the header fields of a check: those of the client, and those that state facts; `nil` if the messages are invalid.
    static func fields(_ messages: [SPOPMessage]) -> HTTPFields? {
        guard messages.count == 1, messages[0].name == message else { return nil }
        var fields = HTTPFieldsBuilder(bytes: 2048, count: 24)
        for argument in messages[0].arguments where !add(argument, to: &fields) { return nil }
        return fields.fields()
    }

    /// Adds what an argument states. Returns false if it is unknown, or of another type. A sample that HAProxy does not have is
    /// null, and states nothing.
    private static func add(_ argument: SPOPMessage.Argument, to fields: inout HTTPFieldsBuilder) -> Bool {
        switch (argument.name, argument.value) {
        case ("target", .string(let text)): fields.add(":path", text.readableBytesUInt8Span)
        case ("method", .string(let text)): fields.add(":method", text.readableBytesUInt8Span)
        case ("secure", .bool(let isSecure)): fields.add(":scheme", isSecure ? "https" : "http")
        case ("scheme", .string(let text)): fields.add(":scheme", text.readableBytesUInt8Span)
        case ("client", .ipv4(let address)): fields.add(":client", address.dotted)
        case ("client", .ipv6(let address)): fields.add(":client", address.colonSeparated)
        case ("headers", .binary(let bytes)):
            var reader = SPOPReader(bytes)
            return reader.forEachHeaderField { name, value in
                addClients(name.readableBytesUInt8Span, value.readableBytesUInt8Span, to: &fields)
            }
        case ("asn", .signed(let number)): fields.add("x-original-asn", "\(number)")
        case ("asn", .unsigned(let number)): fields.add("x-original-asn", "\(number)")
        case (_, .string(let text)): return addText(argument.name, text.readableBytesUInt8Span, to: &fields)
        case (_, .null): return isKnown(argument.name)
        default: return false
        }
        return true
    }

    /// Adds a fact by the name of its field, or a single field of the client: `header.` and its name.
    private static func addText(_ name: String, _ text: Span<UInt8>, to fields: inout HTTPFieldsBuilder) -> Bool {
        if let fact = facts.first(where: { $0.argument == name }) {
            fields.add(fact.field, text)
            return true
        }
        guard isKnown(name), name.hasPrefix(prefix) else { return false }
        addClients(name.dropFirst(prefix.utf8.count).utf8.span, text, to: &fields)
        return true
    }

    /// Adds a field of the client, unless it has the name of one by which facts are stated.
    private static func addClients(_ name: Span<UInt8>, _ value: Span<UInt8>, to fields: inout HTTPFieldsBuilder) {
        if name.isSameField("host") { fields.add(":authority", value) }
        for fact in facts where name.isSameField(fact.field) { return }
        fields.add(name, value)
    }

    private static func isKnown(_ name: String) -> Bool {
        ["target", "method", "secure", "scheme", "client", "headers"].contains(name)
            || facts.contains { $0.argument == name }
            || name.hasPrefix(prefix) && name.utf8.count > prefix.utf8.count
                && name.utf8.dropFirst(prefix.utf8.count).allSatisfy {
                    $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
    }

    private static let prefix = "header."
    private static let facts: [(argument: String, field: StaticString)] = [
        ("alpn", "x-original-alpn"), ("client-key", "x-original-client-key"), ("asn", "x-original-asn"),
        ("geo", "x-original-geo"), ("position", "x-original-position"),
    ]
}

extension EdgeAnswer: SPOPAnswer {
    /// Sets the variables of the transaction: what is needed to allow, to refuse and to say why is first.
    func write(into actions: inout SPOPActions) {
        actions.set("allowed", decision.isAllowed)
        actions.set("status", statusOfCode)
        actions.set("code", atMost: 64) { $0.write(decision.codeName.utf8.span) }
        actions.set("trace", atMost: 32) { $0.write(trace) }
        actions.set("decision", atMost: 16) { $0.write(decision.name.utf8.span) }
        if let cookie = grant?.cookie {
            actions.set("set_cookie", atMost: cookie.utf8.count) { $0.write(cookie.utf8.span) }
        }
        if let session { actions.set("session", atMost: 32) { $0.write(session) } }
        writeSubject(into: &actions)
        if let token = grant?.token {
            actions.set("grant", atMost: token.utf8.count) { $0.write(token.utf8.span) }
        }
    }

    private func writeSubject(into actions: inout SPOPActions) {
        let (subject, limit) = (decision.subject, 3 * ByteWriter.escapedLimit)
        actions.set("mvpd", atMost: limit) { writer in subject.token?.withMVPDID { writer.write(escaping: $0) } }
        if let resource = subject.resource {
            actions.set("resource", atMost: limit) { $0.write(escaping: resource.text.utf8.span) }
        }
        if let requestor = subject.requestor {
            actions.set("requestor", atMost: limit) { $0.write(escaping: requestor.utf8.span) }
        }
        if let expires = subject.token?.expires { actions.set("expires", expires.millisecondsSince1970) }
        if shownIn != 0 {
            let limit = sources.reduce(0) { $0 + $1.nameLimit + 2 }
            actions.set("token", atMost: limit) { writePlaces(into: &$0) }
        }
    }
}

extension UInt32 {
    /// The address as four numbers with dots between them.
    fileprivate var dotted: String { "\(self >> 24).\(self >> 16 & 255).\(self >> 8 & 255).\(self & 255)" }
}

extension UInt128 {
    /// The address as eight hexadecimal numbers with colons between them.
    fileprivate var colonSeparated: String {
        stride(from: 112, through: 0, by: -16).map {
            String(UInt16(truncatingIfNeeded: self >> UInt128($0)), radix: 16)
        }
        .joined(separator: ":")
    }
}
