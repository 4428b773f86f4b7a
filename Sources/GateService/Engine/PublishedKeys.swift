// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import HTTPServer
internal import KeySources
internal import Keys
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate
internal import Synchronization

/// The public keys by which others verify the grants of this gate: of the keys that sign now, of the next ones, and of former
/// ones until their last grant has expired. Symmetric keys have no public part, and are never among them.
final class PublishedKeys: Sendable {
    private let keys: [TokenKey]
    private let documents = Mutex<Documents?>(nil)

    /// The documents for a choice of the keys.
    private struct Documents: Sendable {
        let places: [Int]
        let jwkSet: Document
        let coseKeySet: Document
    }

    /// The bytes of a key set, and their entity tag.
    struct Document: Sendable {
        let bytes: [UInt8]
        let tag: String

        fileprivate init(_ bytes: [UInt8]) {
            self.bytes = bytes
            tag = "\"\(SHA256.digest(bytes).prefix(16).hexadecimal)\""
        }
    }

    /// Creates a set of keys, of which those with a public part are published. Twins, which differ in their issuer alone, count
    /// once.
    init(_ keys: [TokenKey]) {
        var own: [TokenKey] = []
        for key in keys where !key.algorithm.isMAC {
            guard !own.contains(where: { $0.id == key.id && $0.algorithm == key.algorithm }) else { continue }
            own.append(key)
        }
        self.keys = own
    }

    /// Returns the document at `now`.
    func document(_ notation: KeySetNotation, at now: Timestamp) -> Document {
        // A key that is not valid yet is the next one.
        let places = keys.indices.filter { keys[$0].validity.map { now <= $0.upperBound } ?? true }
        let documents = documents.withLock { documents in
            if let documents, documents.places == places { return documents }
            let chosen = try? KeySet(places.map { keys[$0] })
            let made = Documents(
                places: places,
                jwkSet: Document([UInt8](((chosen?.publishedJWKSet ?? "{\"keys\":[]}") + "\n").utf8)),
                coseKeySet: Document(chosen?.publishedCOSEKeySet ?? [0x80])
            )
            documents = made
            return made
        }
        return notation == .jwkSet ? documents.jwkSet : documents.coseKeySet
    }

    /// Answers a request for a document: 304 if the client has it.
    func answer(_ notation: KeySetNotation, _ request: HTTPRequest, at now: Timestamp, trace: TraceID?) -> APIAnswer {
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
