// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
package import HTTPServer
package import KeySources
internal import Keys
internal import NIOHTTP1
internal import Platform
package import PlaybackGate

extension PublishedKeys {
    /// Answers a request for a document: 304 if the client has it.
    package func response(
        to request: HTTPRequest,
        in notation: KeySetNotation,
        at now: Timestamp,
        trace: TraceID?
    ) -> APIAnswer {
        let document = document(notation, at: now)
        let type: StaticString = notation == .jwkSet ? "application/jwk-set+json" : "application/cose-key-set"
        let isKnown = request.head.headers["if-none-match"].contains { $0.listsTag(document.tag) }
        var answer = APIAnswer(
            isKnown ? [] : document.bytes,
            type: type,
            status: isKnown ? .notModified : .ok,
            trace: trace
        )
        answer.caching = "public, max-age=3600"
        answer.more = [("ETag", document.tag), ("Access-Control-Allow-Origin", "*")]
        return answer
    }
}

extension String {
    /// True if this value of `If-None-Match` lists a tag (RFC 9110 §13.1.2): compared weakly.
    func listsTag(_ tag: String) -> Bool {
        split(separator: ",").contains { entry in
            let entry = entry.drop { $0 == " " || $0 == "\t" }
            let end = entry.lastIndex { $0 != " " && $0 != "\t" }.map { entry.index(after: $0) } ?? entry.startIndex
            let text = entry[..<end]
            return text == "*" || (text.hasPrefix("W/") ? text.dropFirst(2) : text) == tag
        }
    }
}
