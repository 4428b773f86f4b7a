// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate
package import SPOPServer
internal import Telemetry

/// Answers the notifications of HAProxy. Each is a check of an edge, decided in the same way as on the edge listener.
package struct SPOEResponder: SPOPService {
    package let checks: EdgeResponder

    /// Creates a value of its members.
    package init(checks: EdgeResponder) {
        self.checks = checks
    }

    package func reply(to messages: consuming SPOPMessages, on connection: HTTPConnection) -> Reply<SPOEAnswer> {
        // Without header fields, the check has no target, and is invalid.
        let fields = SPOERequest(messages)?.fields ?? HTTPFields([:])
        switch checks.answerToOffload(fields, on: connection) {
        case .again(let known): return .now(.again(known))
        case .first(let reply):
            let variables = SPOEVariables(in: fields)
            switch reply {
            case .now(let answer): return .now(.first(answer, variables))
            case .later(let pending): return .later(pending.map { .first($0, variables) })
            case .last(let answer): return .last(.first(answer, variables))
            }
        }
    }
}

/// The answer to a notification: it sets variables of the transaction.
package enum SPOEAnswer: SPOPAnswer {
    case again(RepeatedEdgeAnswer)
    // Indirect, so that an answer has the size of a repeated one.
    indirect case first(EdgeAnswer, SPOEVariables)

    package func write(into actions: inout SPOPActions) {
        switch self {
        case .again(let known):
            if actions.append(size: known.answer.written.size, body: { known.write(into: &$0) }) { return }
            // The frame has no room for all actions.
            SPOEActions(known.whole, variables: known.answer.variables).write(into: &actions)
        case .first(let answer, let variables): SPOEActions(answer, variables: variables).write(into: &actions)
        }
    }
}

/// The actions that set the variables of an answer. The first ones suffice to allow, to refuse and to give the reason.
struct SPOEActions {
    private let answer: EdgeAnswer
    private let variables: SPOEVariables

    init(_ answer: EdgeAnswer, variables: SPOEVariables) {
        self.answer = answer
        self.variables = variables
    }

    func write(into actions: inout SPOPActions) {
        writeStart(into: &actions)
        writeEnd(into: &actions)
    }

    /// Writes everything up to the number of the trace.
    private func writeStart(into actions: inout SPOPActions) {
        let decision = answer.decision
        if sets(.allowed) { actions.set("allowed", to: decision.isAllowed) }
        // Each variable costs HAProxy more than a percent of a request's time, and 200 adds nothing to the first one.
        if sets(.status), !decision.isAllowed { actions.set("status", to: answer.statusOfCode) }
        if sets(.code) { actions.set("code", atMost: 64) { $0.write(decision.codeName.utf8.span) } }
        if sets(.trace) { actions.set("trace", atMost: 32) { $0.write(answer.trace) } }
    }

    /// Writes the part after the number of the trace.
    private func writeEnd(into actions: inout SPOPActions) {
        let decision = answer.decision
        if sets(.decision) { actions.set("decision", atMost: 16) { $0.write(decision.name.utf8.span) } }
        if sets(.setCookie), let cookie = answer.grant?.cookie {
            actions.set("set_cookie", atMost: cookie.utf8.count) { $0.write(cookie.utf8.span) }
        }
        if sets(.session), let session = answer.session {
            actions.set("session", atMost: 32) { $0.write(session) }
        }
        write(decision.subject, into: &actions)
        if sets(.grant), let token = answer.grant?.token {
            actions.set("grant", atMost: token.utf8.count) { $0.write(token.utf8.span) }
        }
    }

    /// The actions as they are written, except for the number of the trace.
    var written: EdgeAnswerCache.Written {
        // A head has the same texts, and longer names.
        let limit = answer.limit
        let (start, end) = (SPOPActions.bytes(limit: limit, writeStart), SPOPActions.bytes(limit: limit, writeEnd))
        let hasTrace = sets(.trace)
        return EdgeAnswerCache.Written(start: hasTrace ? start.dropLast(32) : start, hasTrace: hasTrace, end: end)
    }

    private func sets(_ variable: SPOEVariables) -> Bool { variables.contains(variable) }

    private func write(_ subject: Decision.Subject, into actions: inout SPOPActions) {
        let limit = 3 * ByteWriter.escapedLimit
        if sets(.mvpd), let token = subject.token {
            actions.set("mvpd", atMost: limit) { writer in token.withMVPDID { writer.write(escaping: $0) } }
        }
        if sets(.resource), let resource = subject.resource {
            actions.set("resource", atMost: limit) { $0.write(escaping: resource.text.utf8.span) }
        }
        if sets(.requestor), let requestor = subject.requestor {
            actions.set("requestor", atMost: limit) { $0.write(escaping: requestor.utf8.span) }
        }
        if sets(.expires), let expires = subject.token?.expires {
            actions.set("expires", to: expires.millisecondsSince1970)
        }
        if sets(.token), answer.tokenSources != 0 {
            let limit = answer.sources.reduce(0) { $0 + $1.labelSize + 2 }
            actions.set("token", atMost: limit) { answer.writeTokenSources(into: &$0) }
        }
    }
}
