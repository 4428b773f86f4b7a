// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import RequestTargets
internal import URISigning

// The operation for licence servers and their proxies, which know what an edge does not: the keys that a licence is for.

/// A request of a player for a licence, as a backend describes it.
struct LicenceBody: StrictBody {
    static let members = ["url", "grant", "token", "keys", "playbackID", "client", "headers", "proof"]
    /// The most keys of a request.
    static let mostKeys = 64

    let uri: RequestURI
    let token: String?
    let playbackID: String?
    let player: PlaybackRequest.Player
    /// The grant with the request that it is presented with; `nil` if there is none.
    let presentedGrants: PresentedGrants?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        guard let url = try object.optionalText("url", limit: 8 * 1024), let uri = RequestURI(url: url[...]) else {
            throw JSONObjectFault("url is missing or malformed: give the http or https URL of the licence path in full")
        }
        self.uri = uri
        var grant = try object.optionalText("grant", limit: URISigningVerifier.maximumSize)
        grant?.makeContiguousUTF8()
        token = try object.optionalText("token")
        guard (grant == nil) != (token == nil) else {
            throw JSONObjectFault("exactly one of grant and token is required")
        }
        playbackID = try object.optionalText("playbackID", limit: 256)
        if playbackID?.isEmpty ?? false { throw JSONObjectFault("playbackID must not be empty") }
        var keys: [ContentKeyID]?
        if object.has("keys") {
            let texts = try object.texts("keys")
            guard 1...Self.mostKeys ~= texts.count else {
                throw object.fault("must have from 1 to \(Self.mostKeys) ids", member: "keys")
            }
            var read: [ContentKeyID] = []
            for text in texts {
                guard let key = ContentKeyID(text) else {
                    throw object.fault("must be ids of keys: UUIDs, or 32 hexadecimal digits", member: "keys")
                }
                if !read.contains(key) { read.append(key) }
            }
            keys = read
        }
        let (address, headers) = (try object.clientAddress(), try object.textMembers("headers"))
        player = PlaybackRequest.Player(address: address, headers: headers, proof: try object.proof(), keys: keys)
        var facts = RequestFacts(uri: uri, method: "POST")
        facts.clientAddress = address
        facts.headers = HeaderList(headers)
        presentedGrants = grant.map { PresentedGrants(facts, first: $0[...]) }
    }
}

extension APIResponder {
    /// `POST /v1/licence`: decides if a playback gets a licence, and counts it.
    func licence(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let body = try read(LicenceBody.self, from: call)
        var request = PlaybackRequest(
            path: body.uri.path,
            method: .post,
            isPartial: false,
            token: body.token.map { $0[...] },
            player: body.player,
            client: call.client(caller)
        )
        request.playbackID = body.playbackID
        let finding = call.gate.catalogue.find(request.target, host: body.uri.host)
        if case .entry(let entry) = finding {
            guard entry.licence != nil else {
                throw APIRefusal(.invalidRequest, details: "url: the entry of the path has no licenceUse")
            }
            // Players choose what they ask for: keys of other content would only fill the store.
            let known = call.snapshot.licensed.keys(of: entry)
            if !known.isEmpty, let other = body.player.keys?.first(where: { !known.contains($0) }) {
                throw APIRefusal(.invalidRequest, details: "keys: \(other) is none of this content")
            }
        }
        let grants = body.presentedGrants
        return try decide(call) { call.gate.begin(request, finding: finding, grants: grants, at: call.time) }
    }
}
