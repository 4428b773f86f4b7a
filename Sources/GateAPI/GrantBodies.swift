// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import RequestTargets
internal import URISigning

/// A request to renew a grant.
struct GrantBody: StrictBody {
    static let members = ["grant"]

    let grant: String

    init(_ object: JSONObject) throws(JSONObjectFault) {
        grant = try object.grant()
    }
}

/// A request to exchange a grant for one of another profile.
struct GrantExchangeBody: StrictBody {
    static let members = ["grant", "profile", "media", "path", "host", "client", "headers"]

    let grant: String
    let profile: String
    let target: PlaybackRequest.Target
    let host: String?
    let player: PlaybackRequest.Player?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        grant = try object.grant()
        profile = try object.text("profile", limit: 256)
        switch (try object.optionalText("media", limit: 1024), try object.optionalText("path", limit: 8 * 1024)) {
        case (let media?, nil): target = .media(media)
        case (nil, let path?): target = .path(path)
        default: throw JSONObjectFault("exactly one of media and path is required")
        }
        host = try object.host()
        player = try object.player()
    }
}

/// A request to check a grant for a request that the body describes.
struct GrantVerifyBody: StrictBody {
    static let members = ["grant", "url", "method", "client", "headers", "at"]

    let grant: String
    let facts: RequestFacts
    let time: Timestamp?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        var grant = try object.grant()
        grant.makeContiguousUTF8()
        self.grant = grant
        guard let url = try object.optionalText("url", limit: 8 * 1024), let uri = RequestURI(url: url[...]) else {
            throw JSONObjectFault("url is missing or malformed: give an http or https URL in full")
        }
        var facts = RequestFacts(uri: uri, method: (try object.optionalText("method", limit: 32) ?? "GET")[...])
        facts.clientAddress = try object.clientAddress()
        facts.headers = HeaderList(try object.textMembers("headers"))
        self.facts = facts
        time = try object.timestamp("at")
    }
}

extension JSONObject {
    fileprivate func grant() throws(JSONObjectFault) -> String {
        try text("grant", limit: URISigningVerifier.maximumSize)
    }
}
