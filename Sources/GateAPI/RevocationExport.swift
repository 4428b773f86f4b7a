// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate
internal import ReplayStores

/// The parameters of `GET /v1/revocations/export`.
struct RevocationExport {
    /// The maximum number of subjects in an answer.
    static let limit = 10_000

    /// The tag after which the list begins; `nil` for its beginning.
    let after: SubjectTag?

    /// Reads the query of a target: nothing, or `after` with the tag of a line. Returns `nil` for any other.
    init?(target: String) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            after = nil
            return
        }
        let query = target[target.utf8.index(after: mark)...]
        guard query.hasPrefix("after="), let tag = SubjectTag(hexadecimal: query.dropFirst("after=".count)) else {
            return nil
        }
        after = tag
    }
}

extension APIResponder {
    /// `GET /v1/revocations/export`: lists the revocations for edges that check grants by themselves.
    ///
    /// An answer has at most ``RevocationExport/limit`` subjects. If there are more, `Link` (RFC 8288) names the next one.
    func export(_ call: RequestContext) throws(APIRefusal) -> APIAnswer {
        guard let revocationCache else { throw APIRefusal(.revocationsNotExported) }
        guard let export = RevocationExport(target: call.request.head.uri) else {
            throw APIRefusal(.invalidRequest, details: "the only parameter is after, with the tag of a line")
        }
        // An incomplete list would allow what was revoked.
        guard revocationCache.isRecent() else { throw APIRefusal(DenyCode.replayStoreUnavailable) }
        var text: [UInt8] = []
        let last = revocationCache.list(after: export.after, limit: RevocationExport.limit, into: &text)
        var answer = APIAnswer(text, type: "text/plain; charset=utf-8", trace: call.trace)
        if let last {
            answer.more.append(("Link", "</v1/revocations/export?after=\(last.hexadecimal)>; rel=\"next\""))
        }
        return answer
    }
}
