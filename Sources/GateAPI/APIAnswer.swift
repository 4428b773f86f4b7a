// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeListener
package import Encodings
package import HTTPServer
internal import Licences
internal import MediaResources
internal import MediaTokens
package import NIOCore
package import NIOHTTP1
package import Platform
package import PlaybackGate
internal import XML

/// The format of a refusal's body.
package enum AnswerFormat: Sendable {
    case json
    case xml
    /// One line for people: the verifier's status or the message, and the code.
    case text

    /// Chooses the format that `Accept` prefers; JSON if it prefers neither.
    ///
    /// Source: RFC 9110 §12.5.1.
    package init(accept: String?) {
        var best = (json: 0, xml: 0)
        for range in (accept ?? "").split(separator: ",").prefix(32) {
            let parts = range.split(separator: ";").map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let weight = quality.isFinite ? Int(min(max(quality, 0), 1) * 1000) : 0
            switch type {
            case "application/xml", "text/xml": best.xml = max(best.xml, weight)
            case "application/json", "application/*", "*/*": best.json = max(best.json, weight)
            default: break
            }
        }
        self = best.xml > best.json ? .xml : .json
    }
}

/// The shape of a refusal: its format, and the member with the refusal.
package struct RefusalShape: Sendable {
    package let format: AnswerFormat
    /// `allowed` or `valid`, which is false, if the request demanded one of them.
    package let verdict: [JSON.Member]

    package init(format: AnswerFormat, verdict: [JSON.Member]) {
        self.format = format
        self.verdict = verdict
    }

    package init(_ request: HTTPRequest) {
        let operation = APIOperation(request.path)
        format = operation?.isHosted ?? false ? .text : AnswerFormat(accept: request.first("accept"))
        switch operation {
        case .playback, .sign: verdict = [("allowed", .bool(false))]
        case .verify: verdict = [("valid", .bool(false))]
        default: verdict = []
        }
    }
}

/// A response of the API or of the admin listener.
package struct APIAnswer: HTTPAnswer {
    package let status: HTTPResponseStatus
    package let type: StaticString
    package var trace: TraceID?
    package var caching: StaticString = "no-store"
    /// Header fields that few responses have.
    package var more: [(StaticString, String)] = []
    package let body: [UInt8]
    package let sharedBody: ByteBuffer?

    package init(_ body: [UInt8], type: StaticString, status: HTTPResponseStatus = .ok, trace: TraceID? = nil) {
        self.status = status
        self.type = type
        self.trace = trace
        self.body = body
        sharedBody = nil
    }

    /// Creates a response with a body that all of its kind share.
    package init(shared body: ByteBuffer, type: StaticString, trace: TraceID) {
        status = .ok
        self.type = type
        self.trace = trace
        self.body = []
        sharedBody = body
    }

    /// Creates a JSON response.
    package static func json(_ value: JSON, status: HTTPResponseStatus = .ok, trace: TraceID?) -> APIAnswer {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        value.write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return APIAnswer(bytes, type: "application/json", status: status, trace: trace)
    }

    /// Creates a refusal in the format of an enhanced error.
    package static func refusal(
        _ refusal: APIRefusal,
        shape: RefusalShape,
        helpURL: String,
        trace: TraceID
    ) -> APIAnswer {
        let members = shape.verdict + refusal.members(helpURL: helpURL, trace: trace)
        var answer: APIAnswer
        switch shape.format {
        case .json: answer = json(.object(members), status: refusal.status, trace: trace)
        case .text:
            let line = "\(refusal.verifierStatus ?? refusal.message) (\(refusal.code))"
            answer = APIAnswer(
                [UInt8](line.utf8),
                type: "text/plain; charset=utf-8",
                status: refusal.status,
                trace: trace
            )
        case .xml:
            let xml = refusal.xml(members)
            answer = APIAnswer([UInt8](xml.utf8), type: "application/xml", status: refusal.status, trace: trace)
        }
        switch refusal.status {
        // RFC 9110 §15.5.2: a 401 response names the scheme of the credentials that it asks for.
        case .unauthorized:
            let isMissing = DenyCode(rawValue: refusal.code)?.isMissing ?? false
            let scheme = isMissing ? "MediaToken" : "Bearer"
            answer.more.append(("WWW-Authenticate", scheme))
        case .serviceUnavailable: answer.more.append(("Retry-After", "1"))
        default: break
        }
        if let allow = refusal.allow { answer.more.append(("Allow", allow)) }
        return answer
    }

    package var limit: Int {
        // 192 bytes hold the fixed text, the numbers and the trace ID; the variable parts are added in full.
        192 + caching.utf8CodeUnitCount + status.reasonPhrase.utf8.count + type.utf8CodeUnitCount + body.count
            + more.reduce(0) { $0 + $1.0.utf8CodeUnitCount + $1.1.utf8.count + 4 }
    }

    package func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writer.write("HTTP/1.1 ")
        writer.write(decimal: Int64(status.code))
        writer.write(UInt8(ascii: " "))
        writer.write(status.reasonPhrase.utf8.span)
        // RFC 9110 §15.4.5: a 304 has the fields of the cache, and none of a body.
        if status != .notModified {
            writer.write("\r\nContent-Type: ")
            writer.write(type)
            writer.write("\r\nContent-Length: ")
            writer.write(decimal: Int64(sharedBody?.readableBytes ?? body.count))
        }
        writer.write("\r\nCache-Control: ")
        writer.write(caching)
        writer.write("\r\n")
        if let trace {
            writer.write("X-Playgate-Trace: ")
            writer.write(trace)
            writer.write("\r\n")
        }
        for (name, value) in more {
            writer.write(name)
            writer.write(": ")
            writer.write(value.utf8.span)
            writer.write("\r\n")
        }
        closing.write(into: &writer)
        if !isHead { writer.write(body.span) }
    }
}

extension APIRefusal {
    /// The members of the enhanced error, in the order of the documentation.
    package func members(helpURL: String, trace: TraceID) -> [JSON.Member] {
        var members: [JSON.Member] = [
            ("action", .string(action)), ("status", .number(Int64(status.code))), ("code", .string(code)),
            ("message", .string(message)),
        ]
        if let details { members.append(("details", .string(details))) }
        members.append(("helpUrl", .string(helpURL + code)))
        members.append(("trace", .string("\(trace)")))
        if let verifierStatus { members.append(("verifierStatus", .string(verifierStatus))) }
        return members
    }

    fileprivate func xml(_ members: [JSON.Member]) -> String {
        var bytes: [UInt8] = []
        for (name, value) in members {
            bytes += "<\(name)>".utf8
            switch value {
            case .string(let text): bytes.appendXMLText(text.filter { $0.isLegalInXML }.utf8.span)
            default: value.write(to: &bytes)
            }
            bytes += "</\(name)>".utf8
        }
        return "<error>" + String(decoding: bytes, as: UTF8.self) + "</error>\n"
    }
}

extension Character {
    fileprivate var isLegalInXML: Bool { String(self).isLegalXML }
}

extension Decision {
    /// Returns the members of the JSON response to a playback that may start.
    package static func members(
        _ allowance: Allowance,
        licensed: LicensedEntries,
        at now: Timestamp,
        trace: TraceID
    ) -> [JSON.Member] {
        let subject = allowance.subject
        var members: [JSON.Member] = [
            ("allowed", .bool(true)), ("code", .string(allowance.reason.name)),
            ("media", .optional(subject.entry?.key.text)), ("resource", .optional(subject.resource?.text)),
            ("requestor", .optional(subject.requestor)), ("mvpd", .optional(subject.token?.mvpdID)),
            ("expires", allowance.expires.map { .number($0.millisecondsSince1970) } ?? .null),
        ]
        if case .shadow(let code) = allowance.reason { members.append(("shadowed", .string(code.rawValue))) }
        let grants = allowance.access?.issued.map { $0.json(at: now) } ?? []
        if grants.count == 1 { members.append(("grant", grants[0])) }
        if grants.count > 1 { members.append(("grants", .array(grants))) }
        let tokens = licensed.tokens(for: allowance, at: now)
        if !tokens.isEmpty { members.append(("licenceTokens", .array(tokens.map(\.json)))) }
        members.append(("trace", .string("\(trace)")))
        return members
    }
}

extension LicenceToken {
    /// The token with its carrier.
    fileprivate var json: JSON {
        let carrier: JSON.Member =
            switch self.carrier {
            case .header(let name): ("header", .string(name))
            case .query(let name): ("query", .string(name))
            }
        return .object([
            ("name", .string(name)), ("form", .string(form.rawValue)), ("token", .string(text)), carrier,
            ("expires", expires.map { .number($0.millisecondsSince1970) } ?? .null),
        ])
    }
}
