// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import SharedGrants

extension APIResponder {
    /// `GET /v1/leaks`: lists the playbacks that this gate suspects or has proven to be shared, the newest first.
    func listLeaks(_ call: RequestContext) -> APIAnswer {
        let members: [JSON.Member] = [
            ("leaks", .array(leaks.leaks(at: call.time).map { .object($0.members) })),
            (
                "edges",
                .array(
                    edges.present(at: call.time).map { edge, reports in
                        .object([
                            ("caller", .string(edge.caller)), ("reports", .bool(reports)),
                            ("last", .number(edge.last.millisecondsSince1970)),
                        ])
                    }
                )
            ),
            ("trace", .string("\(call.trace)")),
        ]
        return .json(.object(members), trace: call.trace)
    }

    /// `POST /v1/edge/reports`: records what an edge that decides by itself has counted, and answers with its orders. Both are binary:
    /// see `LeakReportBatch` and `LeakOrders`.
    func recordReports(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> APIAnswer {
        guard APIOperation.reports.accepts(call.request.first("content-type")) else {
            throw APIRefusal(.unsupportedMediaType, details: "the body must be application/octet-stream")
        }
        let limit = LeakReportBatch.maximumSize
        let body = call.request.body ?? ByteBuffer()
        guard !call.request.isTooLarge, body.readableBytes <= limit else {
            throw APIRefusal(.bodyTooLarge, details: "at most \(limit) bytes")
        }
        switch leaks.exchange(Array(body.readableBytesView), of: caller ?? "", at: call.time) {
        case .malformed: throw APIRefusal(.invalidRequest, details: "the body is no batch of reports")
        case .overloaded: throw APIRefusal(DenyCode.overloaded)
        case .orders(let orders):
            edges.note(caller, isReport: true, at: call.time)
            return APIAnswer(orders, type: "application/octet-stream", trace: call.trace)
        }
    }

    /// `GET /v1/leaks/{session}`: a playback of the list, with the requests since its challenge.
    func leak(_ session: Substring, in call: RequestContext) throws(APIRefusal) -> APIAnswer {
        guard let id = SessionID(hexadecimal: session) else {
            throw APIRefusal(.invalidRequest, details: "session: must have 32 hexadecimal digits")
        }
        guard let leak = leaks.leak(id) else { throw APIRefusal(.leakUnknown) }
        let uses = leak.uses.map { use in
            JSON.object([
                ("time", .number(use.time.millisecondsSince1970)), ("index", .number(Int64(use.index))),
                ("grant", .number(Int64(use.grant))), ("track", .number(Int64(use.track))),
            ])
        }
        return .json(
            .object(leak.members + [("uses", .array(uses)), ("trace", .string("\(call.trace)"))]),
            trace: call.trace
        )
    }
}

extension Leak {
    /// The members of a leak in answers. There are no addresses.
    fileprivate var members: [JSON.Member] {
        [
            ("session", .string(session.hexadecimal)), ("profile", .string(profile)),
            ("state", .string(proven == nil ? "suspected" : "proven")), ("evidence", .string(evidence.rawValue)),
            ("generations", .number(Int64(generations))), ("grants", .number(Int64(grants))),
            ("returns", .number(Int64(returns))), ("suspected", .number(suspected.millisecondsSince1970)),
            ("last", .number(last.millisecondsSince1970)),
            ("challenged", challenged.map { .number($0.millisecondsSince1970) } ?? .null),
            ("proven", proven.map { .number($0.millisecondsSince1970) } ?? .null), ("revoked", .bool(isRevoked)),
        ]
    }
}
