// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Testing

/// A request written by hand, with its code.
struct SameRow {
    let request: SameRequest
    /// The code at an edge that resolves paths before it asks, and at one that does not.
    let codes: (resolving: String, asIs: String)

    /// Reads a row: the target, words and the code, with two spaces between them.
    ///
    /// A word is the name of a fact or part of the request, and its value with `␠` for a space: `client:192.0.2.9`, `host:-` for none. Grants and tokens
    /// are named as in ``EdgeSample``; a token has its source, as in `token@cookie:good`. Two codes with a slash: the
    /// first one is that of an edge that resolves paths.
    init(_ line: Substring, with sample: EdgeSample) throws {
        let parts = line.split(separator: "  ")
        try #require(parts.count == 3, "\(line)")
        let target = parts[0] == "∅" ? "" : parts[0]
        let mark = target.firstIndex(of: "?")
        var request = SameRequest()
        request.path = String(target[..<(mark ?? target.endIndex)])
        request.query = mark.map { String(target[target.index(after: $0)...]) }
        request.host = "cdn.example"
        for word in parts[1].split(separator: " ") where word != "-" { try request.add(word, with: sample) }
        // In the order of the sources, since the first one of two that differ counts.
        request.tokens.sort { $0.source < $1.source }
        self.request = request
        let codes = parts[2].split(separator: "/").map(String.init)
        self.codes = (try #require(codes.first), try #require(codes.last))
    }

    /// Returns all rows.
    static func all(_ sample: EdgeSample) throws -> [SameRow] {
        try rows.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { try SameRow($0, with: sample) }
    }

    private static let rows = #"""
        # Paths with a grant for their folder
        /film/tnt/1.ts  grant:plain  granted
        /film/tnt/low/2.ts  grant:plain  granted
        /film/tnt/a/b/c/d/e/f/g.m4s  grant:plain  granted
        /film/tnt/  grant:plain  granted
        /film/tnt  grant:plain  grant_uri_mismatch
        /film/tnt/.hidden  grant:plain  granted
        /film/tnt/..hidden  grant:plain  granted
        /film/tnt/...  grant:plain  granted
        /film/tnt/a.  grant:plain  granted
        /film/tnt/~a  grant:plain  granted
        /film/tnt/a+b  grant:plain  granted
        /film/tnt/a,b  grant:plain  granted
        /film/tnt/a=b  grant:plain  granted
        /film/tnt/a:b@c  grant:plain  granted
        /film/tnt/(a)'!*$&  grant:plain  granted
        /film/tnt/a|b  grant:plain  granted
        /film/tnt/[a]  grant:plain  granted
        /film/tnt/{a}  grant:plain  granted
        /film/tnt/"a"  grant:plain  granted
        /film/tnt/<a>  grant:plain  granted
        /film/tnt/a^`b  grant:plain  granted
        # The same file, spelt otherwise
        /%66ilm/tnt/1.ts  grant:plain  granted
        /film/%74%6E%74/1.ts  grant:plain  granted
        /film/%74%6e%74/1.ts  grant:plain  granted
        /FILM/tnt/1.ts  grant:plain  unknown_media
        /film/TNT/1.ts  grant:plain  unknown_media
        /film/tnt/%31.ts  grant:plain  granted
        /film/tnt/1%2ets  grant:plain  granted
        /film/tnt/1%2Ets  grant:plain  granted
        //film/tnt/1.ts  grant:plain  granted/invalid_path
        ///film/tnt/1.ts  grant:plain  granted/invalid_path
        /film//tnt/1.ts  grant:plain  granted/invalid_path
        /film/tnt//1.ts  grant:plain  granted/invalid_path
        /film/tnt/1.ts/  grant:plain  granted
        /./film/tnt/1.ts  grant:plain  granted/invalid_path
        /film/./tnt/1.ts  grant:plain  granted/invalid_path
        /film/tnt/./1.ts  grant:plain  granted/invalid_path
        /film/tnt/.  grant:plain  granted/invalid_path
        /film/tnt/x/../1.ts  grant:plain  granted/invalid_path
        /film/tbs/../tnt/1.ts  grant:plain  granted/invalid_path
        /film/tnt/%2e/1.ts  grant:plain  granted/invalid_path
        /film/tnt/x/%2e%2e/1.ts  grant:plain  granted/invalid_path
        /film/tnt/x/.%2E/1.ts  grant:plain  granted/invalid_path
        /film/tnt/x/%2e./1.ts  grant:plain  granted/invalid_path
        # Ways out of the folder
        /film/tnt/../tbs/1.ts  grant:plain  grant_resource_mismatch/invalid_path
        /film/tnt/..  grant:plain  unknown_media/invalid_path
        /film/tnt/../  grant:plain  unknown_media/invalid_path
        /film/tnt/%2e%2e/tbs/1.ts  grant:plain  grant_resource_mismatch/invalid_path
        /film/tnt/..%2ftbs/1.ts  grant:plain  invalid_path
        /film/tnt/..%2Ftbs/1.ts  grant:plain  invalid_path
        /film/tnt/..%5ctbs/1.ts  grant:plain  invalid_path
        /film/tnt/..\tbs\1.ts  grant:plain  invalid_path
        /film/tnt/%252e%252e/tbs/1.ts  grant:plain  invalid_path
        /film/tnt/..;/tbs/1.ts  grant:plain  invalid_path
        /film/tnt/;x/../../tbs/1.ts  grant:plain  invalid_path
        /film/tnt/../../../etc/passwd  grant:plain  invalid_path
        /../film/tnt/1.ts  grant:plain  invalid_path
        /..  grant:plain  invalid_path
        /film/tnt/../../..  grant:plain  invalid_path
        /film/tnt/%c0%ae%c0%ae/tbs/1.ts  grant:plain  invalid_path
        /film/tnt/%e0%80%ae%e0%80%ae/tbs/1.ts  grant:plain  invalid_path
        /film/tnt/．．/tbs/1.ts  grant:plain  granted
        /film/tnt/%EF%BC%8E%EF%BC%8E/tbs/1.ts  grant:plain  granted
        /film/tnt∕1.ts  grant:plain  unknown_media
        # Bytes that servers read in different ways
        /film/tnt/1.ts;jsessionid=1  grant:plain  invalid_path
        /film/tnt/1.ts%3b.m3u8  grant:plain  invalid_path
        /film/tnt/1.ts%3f  grant:plain  invalid_path
        /film/tnt/1.ts%3F.m3u8  grant:plain  invalid_path
        /film/tnt/1.ts%23  grant:plain  invalid_path
        /film/tnt/1.ts#  grant:plain  edge_request_invalid
        /film/tnt/1.ts#x  grant:plain  edge_request_invalid
        /film/tnt/a%2fb  grant:plain  granted
        /film/tnt/a%2Fb%2Fc  grant:plain  granted
        /film/tnt/a%2F  grant:plain  invalid_path
        /film/tnt/%2Fa  grant:plain  invalid_path
        /film/tnt/a%2F%2e%2Fb  grant:plain  invalid_path
        /film/tnt%2F1.ts  grant:plain  invalid_path
        /film%2Ftnt/1.ts  grant:plain  invalid_path
        /film/tnt/a%5cb  grant:plain  invalid_path
        /film/tnt/a\b  grant:plain  invalid_path
        /film/tnt/%00  grant:plain  invalid_path
        /film/tnt/1.ts%00.jpg  grant:plain  invalid_path
        /film/tnt/%0a  grant:plain  invalid_path
        /film/tnt/%0d%0aX:%20y  grant:plain  invalid_path
        /film/tnt/%09  grant:plain  invalid_path
        /film/tnt/%7f  grant:plain  invalid_path
        /film/tnt/%1f  grant:plain  invalid_path
        /film/tnt/%20  grant:plain  granted
        /film/tnt/a%20b  grant:plain  granted
        /film/tnt/%25  grant:plain  granted
        /film/tnt/100%25  grant:plain  granted
        /film/tnt/%2525  grant:plain  invalid_path
        /film/tnt/%2541  grant:plain  invalid_path
        /film/tnt/%25%34%31  grant:plain  invalid_path
        /film/tnt/%%34%31  grant:plain  invalid_path
        /film/tnt/%  grant:plain  invalid_path
        /film/tnt/%4  grant:plain  invalid_path
        /film/tnt/%4g  grant:plain  invalid_path
        /film/tnt/%zz  grant:plain  invalid_path
        /film/tnt/%u0041  grant:plain  invalid_path
        /film/tnt/%-1  grant:plain  invalid_path
        /film/tnt/é  grant:plain  granted
        /film/tnt/%C3%A9  grant:plain  granted
        /film/tnt/%c3%a9  grant:plain  granted
        /film/tnt/%E9  grant:plain  invalid_path
        /film/tnt/%ff  grant:plain  invalid_path
        /film/tnt/%c3  grant:plain  invalid_path
        /film/tnt/%ed%a0%80  grant:plain  invalid_path
        /film/tnt/%f4%90%80%80  grant:plain  invalid_path
        /film/tnt/日本  grant:plain  granted
        /film/tnt/%E2%80%AE  grant:plain  granted
        # Targets that are none
        film/tnt/1.ts  grant:plain  edge_request_invalid
        ∅  grant:plain  edge_request_invalid
        *  grant:plain  edge_request_invalid
        ?  grant:plain  edge_request_invalid
        ?/film/tnt/1.ts  grant:plain  edge_request_invalid
        http://cdn.example/film/tnt/1.ts  grant:plain  edge_request_invalid
        https://cdn.example/film/tnt/1.ts  grant:plain  edge_request_invalid
        /  grant:plain  unknown_media
        /?  grant:plain  unknown_media
        /none  grant:plain  unknown_media
        /none/  -  unknown_media
        /filmx/tnt/1.ts  grant:plain  unknown_media
        /film/tntx/1.ts  grant:plain  unknown_media
        /film/tn  grant:plain  unknown_media
        # Queries
        /film/tnt/1.ts?  grant:plain  granted
        /film/tnt/1.ts?a=b  grant:plain  granted
        /film/tnt/1.ts?a=b&c=d  grant:plain  granted
        /film/tnt/1.ts?a=%  grant:plain  granted
        /film/tnt/1.ts?a=%zz  grant:plain  granted
        /film/tnt/1.ts?a=%00  grant:plain  granted
        /film/tnt/1.ts??  grant:plain  granted
        /film/tnt/1.ts?/../../tbs/1.ts  grant:plain  granted
        /film/tnt/1.ts?a=b  grant:query  granted
        /film/tnt/1.ts  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?a=b&  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?&a=b  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?a=c  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?a=B  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?A=b  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?%61=b  grant:query  granted
        /film/tnt/1.ts?a=%62  grant:query  granted
        /film/tnt/1.ts?a%3db  grant:query  grant_uri_mismatch
        /film/tnt/1.ts?a=b#c  grant:query  edge_request_invalid
        /film/tnt/1.ts?a=%  grant:query  grant_context_missing
        /film/tnt/1.ts?a=b&a=b  grant:query  grant_uri_mismatch
        # Catalogue entries and their uses
        /film/tnt/master.m3u8  -  media_token_missing
        /film/tnt/master.m3u8  token@header:good  start
        /film/tnt/master.m3u8  grant:plain  granted
        /film/tnt/master.m3u8  grant:tbs  grant_uri_mismatch
        /film/tnt/master.m3u8?x  grant:plain  granted
        /film/tnt/master.m3u8%3f  grant:plain  invalid_path
        /film/tnt/master.m3u8/  grant:plain  granted
        /film/tnt/Master.m3u8  grant:plain  granted
        /film/tbs/1.ts  grant:plain  grant_resource_mismatch
        /film/tbs/1.ts  grant:tbs  grant_resource_mismatch
        /film/tbs/1.ts  -  grant_missing
        /plain/a.mp4  -  media_token_missing
        /plain/a.mp4  token@query:good  start
        /plain/a.mp4  grant:plain  media_token_missing
        /plain/a.mp4  token@header:tbs  resource_mismatch
        /plain/  token@header:good  start
        /plain  token@header:good  start
        /segments/1.ts  -  media_token_missing
        /segments/1.ts  token@query:good  within_ttl
        /segments/1.ts  token@header:good  within_ttl
        /segments/1.ts  token@cookie:good  within_ttl
        /segments/1.ts  token@scheme:good  within_ttl
        /segments/1.ts  token@segment:good  within_ttl
        /segments/1.ts  token@header:early  expired
        /segments/1.ts  token@header:foreign  untrusted_signature
        /segments/1.ts  token@header:tbs  resource_mismatch
        /segments/1.ts  token@header:garbage  invalid_base64
        /segments/1.ts  token@header:markup  invalid_envelope
        /segments/1.ts  token@header:blanks  blanks_for_plus
        /segments/1.ts  token@query:blanks  blanks_for_plus
        /segments/1.ts  token@cookie:garbage  invalid_base64
        /segments/1.ts  token@scheme:foreign  untrusted_signature
        /segments/1.ts  token@segment:tbs  resource_mismatch
        /segments/1.ts  token@segment:garbage  invalid_base64
        /segments/1.ts  grant:plain  media_token_missing
        /segments/../vod/a.ts  -  unprotected/invalid_path
        /vod/film.m3u8  -  media_token_missing
        /vod/film.m3u8  token@query:good  within_ttl
        /vod/film.m3u8?a=b  token@cookie:good  within_ttl
        /vod/film.m3u8%3f  -  invalid_path
        /vod/film.m3u8%3Fx  -  invalid_path
        /vod/film.m3u8%23  -  invalid_path
        /vod/film.m3u8%23x  -  invalid_path
        /vod/film.m3u8%2f  -  invalid_path
        /vod%2ffilm.m3u8  -  invalid_path
        /vod/film.m3u8;  -  invalid_path
        /vod/film.m3u8%3b  -  invalid_path
        /vod/film.m3u8/  -  unprotected
        /vod/film.m3u8/x  -  unprotected
        /vod/film.m3u8.  -  unprotected
        /vod/film.m3u8%20  -  unprotected
        /vod/film.m3u8%00  -  invalid_path
        /vod/film%2em3u8  -  media_token_missing
        /vod/film.M3U8  -  unprotected
        /vod/x/film.m3u8  -  unprotected
        /vod/.m3u8  -  media_token_missing
        /vod/a.ts  -  unprotected
        /vod/a.ts  token@header:garbage  unprotected
        /vod/a.ts  grant:garbage  unprotected
        /vod/  -  unprotected
        /vod  -  unprotected
        /vod/../plain/a.mp4  -  media_token_missing/invalid_path
        /vod/%2e%2e/plain/a.mp4  -  media_token_missing/invalid_path
        /vod/..%2fplain/a.mp4  -  invalid_path
        /vod//../plain/a.mp4  -  media_token_missing/invalid_path
        /shadow/1  -  media_token_missing
        /shadow/1  token@header:garbage  invalid_base64
        /shadow/1  token@header:good  start
        /shadow/1  grant:garbage  media_token_missing
        # Two tokens
        /segments/1.ts  token@query:good token@header:good  within_ttl
        /segments/1.ts  token@query:good token@cookie:good  within_ttl
        /segments/1.ts  token@header:good token@scheme:good  within_ttl
        /segments/1.ts  token@cookie:good token@scheme:good  within_ttl
        /segments/1.ts  token@query:good token@header:session  token_conflict
        /segments/1.ts  token@query:good token@header:garbage  token_conflict
        /segments/1.ts  token@query:garbage token@cookie:good  token_conflict
        /segments/1.ts  token@header:foreign token@cookie:good  token_conflict
        /segments/1.ts  token@cookie:tbs token@scheme:good  token_conflict
        /segments/1.ts  token@header:good token@segment:session  token_conflict
        /film/tnt/1.ts  grant:plain token@query:good token@header:session  granted
        /film/tnt/1.ts  grant:plain token@header:garbage  granted
        /film/tnt/1.ts  grant:expired token@header:garbage  grant_expired
        /vod/a.ts  token@query:good token@header:session  unprotected
        # Grants
        /film/tnt/1.ts  -  grant_missing
        /film/tnt/1.ts  grant:tbs  grant_uri_mismatch
        /film/tnt/1.ts  grant:expired  grant_expired
        /film/tnt/1.ts  grant:garbage  grant_malformed
        /film/tnt/1.ts  grant:cut  grant_malformed
        /film/tnt/1.ts  grant:longer  grant_malformed
        /film/tnt/1.ts  grant:plain grant:plain  granted
        /film/tnt/1.ts  grant:plain grant:garbage  granted
        /film/tnt/1.ts  grant:garbage grant:plain  granted
        /film/tnt/1.ts  grant:expired grant:plain  granted
        /film/tnt/1.ts  grant:tbs grant:plain  granted
        /film/tnt/1.ts  grant:tbs grant:expired  grant_expired
        /film/tnt/1.ts  grant:expired grant:tbs  grant_uri_mismatch
        /film/tnt/1.ts  grant:garbage grant:cut  grant_malformed
        /film/tnt/1.ts  grant:cut grant:us  grant_context_missing
        /film/tnt/1.ts  grant:us grant:h2  grant_context_missing
        /film/tnt/1.ts  token@header:good  grant_missing
        /film/tnt/1.ts  grant:garbage token@header:good  grant_malformed
        # Methods
        /film/tnt/1.ts  grant:plain method:HEAD  granted
        /film/tnt/1.ts  grant:plain method:OPTIONS  method_not_permitted
        /film/tnt/1.ts  grant:plain method:POST  method_not_permitted
        /film/tnt/1.ts  grant:plain method:PUT  method_not_permitted
        /film/tnt/1.ts  grant:plain method:DELETE  method_not_permitted
        /film/tnt/1.ts  grant:plain method:PURGE  method_not_permitted
        /film/tnt/1.ts  grant:plain method:M-SEARCH  method_not_permitted
        /film/tnt/1.ts  grant:methods  granted
        /film/tnt/1.ts  grant:methods method:HEAD  grant_method_refused
        /film/tnt/1.ts  grant:methods method:PURGE  method_not_permitted
        /film/tnt/1.ts  method:HEAD  grant_missing
        /vod/a.ts  method:HEAD  unprotected
        /vod/a.ts  method:POST  method_not_permitted
        /vod/a.ts  method:OPTIONS  method_not_permitted
        /none  method:POST  unknown_media
        /segments/1.ts  token@header:good method:HEAD  within_ttl
        /segments/1.ts  token@header:good method:POST  method_not_permitted
        /plain/a.mp4  method:HEAD  media_token_missing
        # Hosts
        /film/tnt/1.ts  grant:plain host:-  granted
        /film/tnt/1.ts  grant:plain host:vod.example  granted
        /film/tnt/1.ts  grant:plain host:a␠b  edge_request_invalid
        /film/tnt/1.ts  grant:host  granted
        /film/tnt/1.ts  grant:host host:-  grant_context_missing
        /film/tnt/1.ts  grant:host host:CDN.example  granted
        /film/tnt/1.ts  grant:host host:CDN.EXAMPLE:443  granted
        /film/tnt/1.ts  grant:host host:cdn.example:8443  granted
        /film/tnt/1.ts  grant:host host:cdn.example.  granted
        /film/tnt/1.ts  grant:host host:cdn.example..  grant_uri_mismatch
        /film/tnt/1.ts  grant:host host:vod.example  grant_uri_mismatch
        /film/tnt/1.ts  grant:host host:xcdn.example  grant_uri_mismatch
        /film/tnt/1.ts  grant:host host:cdn.example.evil  grant_uri_mismatch
        /film/tnt/1.ts  grant:host host:cdn.example@evil  edge_request_invalid
        /film/tnt/1.ts  grant:host host:evil@cdn.example  edge_request_invalid
        /film/tnt/1.ts  grant:host host:cdn.example:  granted
        /film/tnt/1.ts  grant:host host:cdn.example:0  edge_request_invalid
        /film/tnt/1.ts  grant:host host:cdn.example:65536  edge_request_invalid
        /film/tnt/1.ts  grant:host host:cdn.example:x  edge_request_invalid
        /film/tnt/1.ts  grant:host host:cdn.example/  edge_request_invalid
        /film/tnt/1.ts  grant:host host:cdn.example,vod.example  edge_request_invalid
        /film/tnt/1.ts  grant:host host:[::1]  grant_uri_mismatch
        /film/tnt/1.ts  grant:host host:[::1  edge_request_invalid
        /film/tnt/1.ts  grant:host host:192.0.2.9  grant_uri_mismatch
        /film/tnt/1.ts  grant:port scheme:https  granted
        /film/tnt/1.ts  grant:port scheme:https host:cdn.example:443  granted
        /film/tnt/1.ts  grant:port scheme:https host:cdn.example:8443  grant_uri_mismatch
        /film/tnt/1.ts  grant:port scheme:http host:cdn.example:443  grant_uri_mismatch
        /film/tnt/1.ts  grant:port  grant_context_missing
        /film/tnt/1.ts  grant:port host:-  grant_context_missing
        /vod/a.ts  host:-  unprotected
        /vod/a.ts  host:a␠b  edge_request_invalid
        # Ranges
        /film/tnt/1.ts  grant:plain range:bytes=0-  granted
        /film/tnt/1.ts  grant:plain range:bytes=5-9  granted
        /segments/1.ts  token@header:good range:bytes=0-  within_ttl
        /segments/1.ts  token@header:good range:bytes=5-9  within_ttl
        /plain/a.mp4  range:bytes=5-9  media_token_missing
        /plain/a.mp4  token@header:garbage range:bytes=5-9  range_not_permitted
        /vod/a.ts  range:x  unprotected
        # Facts that a grant needs: as they should be, others, none, malformed, stated twice
        /film/tnt/1.ts  grant:https scheme:https  granted
        /film/tnt/1.ts  grant:https scheme:HTTPS  granted
        /film/tnt/1.ts  grant:https scheme:http  grant_uri_mismatch
        /film/tnt/1.ts  grant:https  grant_context_missing
        /film/tnt/1.ts  grant:https scheme:wss  grant_context_missing
        /film/tnt/1.ts  grant:https scheme:https,http  grant_context_missing
        /film/tnt/1.ts  grant:https scheme:https repeated:scheme  grant_context_missing
        /film/tnt/1.ts  grant:network client:192.0.2.9  granted
        /film/tnt/1.ts  grant:network client:192.0.2.9:4711  granted
        /film/tnt/1.ts  grant:network client:198.51.100.1  grant_address_mismatch
        /film/tnt/1.ts  grant:network client:2001:db8::1  grant_address_mismatch
        /film/tnt/1.ts  grant:network client:[2001:db8::1]:443  grant_address_mismatch
        /film/tnt/1.ts  grant:network client:::ffff:192.0.2.9  granted
        /film/tnt/1.ts  grant:network  grant_context_missing
        /film/tnt/1.ts  grant:network client:unknown  grant_context_missing
        /film/tnt/1.ts  grant:network client:_hidden  grant_context_missing
        /film/tnt/1.ts  grant:network client:192.0.2  grant_context_missing
        /film/tnt/1.ts  grant:network client:192.0.2.09  grant_context_missing
        /film/tnt/1.ts  grant:network client:192.0.2.9,␠10.0.0.1  grant_context_missing
        /film/tnt/1.ts  grant:network client:192.0.2.9 repeated:client  grant_context_missing
        /film/tnt/1.ts  grant:asn asn:64500  granted
        /film/tnt/1.ts  grant:asn asn:64501  grant_address_mismatch
        /film/tnt/1.ts  grant:asn  grant_context_missing
        /film/tnt/1.ts  grant:asn asn:AS64500  grant_context_missing
        /film/tnt/1.ts  grant:asn asn:-1  grant_context_missing
        /film/tnt/1.ts  grant:asn asn:4294967296  grant_context_missing
        /film/tnt/1.ts  grant:asn asn:64500 repeated:asn  grant_context_missing
        /film/tnt/1.ts  grant:us geo:US  granted
        /film/tnt/1.ts  grant:us geo:us  granted
        /film/tnt/1.ts  grant:us geo:US-CA  grant_location_mismatch
        /film/tnt/1.ts  grant:us geo:FR,␠US  granted
        /film/tnt/1.ts  grant:us geo:FR  grant_location_mismatch
        /film/tnt/1.ts  grant:us  grant_context_missing
        /film/tnt/1.ts  grant:us geo:USA  grant_location_mismatch
        /film/tnt/1.ts  grant:us geo:nowhere  grant_context_missing
        /film/tnt/1.ts  grant:us geo:,  grant_context_missing
        /film/tnt/1.ts  grant:us geo:US repeated:geo  grant_context_missing
        /film/tnt/1.ts  grant:h2 alpn:h2  granted
        /film/tnt/1.ts  grant:h2 alpn:http/1.1  grant_tls_mismatch
        /film/tnt/1.ts  grant:h2  grant_context_missing
        /film/tnt/1.ts  grant:h2 alpn:H2  grant_tls_mismatch
        /film/tnt/1.ts  grant:h2 alpn:h␠2  grant_context_missing
        /film/tnt/1.ts  grant:h2 alpn:h2 repeated:alpn  grant_context_missing
        /film/tnt/1.ts  grant:key key:MAEF  granted
        /film/tnt/1.ts  grant:key key:MAA=  grant_context_missing
        /film/tnt/1.ts  grant:key  grant_context_missing
        /film/tnt/1.ts  grant:key key:!  grant_context_missing
        /film/tnt/1.ts  grant:key key:MAEF repeated:key  grant_context_missing
        /film/tnt/1.ts  grant:tv agent:tv  granted
        /film/tnt/1.ts  grant:tv agent:TV  grant_header_mismatch
        /film/tnt/1.ts  grant:tv agent:other  grant_header_mismatch
        /film/tnt/1.ts  grant:tv  grant_header_mismatch
        # Facts that a grant does not need change nothing
        /film/tnt/1.ts  grant:plain scheme:wss  granted
        /film/tnt/1.ts  grant:plain scheme:https repeated:scheme  granted
        /film/tnt/1.ts  grant:plain client:unknown  granted
        /film/tnt/1.ts  grant:plain client:_hidden  granted
        /film/tnt/1.ts  grant:plain client:192.0.2.9,␠10.0.0.1  granted
        /film/tnt/1.ts  grant:plain client:192.0.2.9 repeated:client  granted
        /film/tnt/1.ts  grant:plain asn:AS64500  granted
        /film/tnt/1.ts  grant:plain asn:64500 repeated:asn  granted
        /film/tnt/1.ts  grant:plain geo:nowhere  granted
        /film/tnt/1.ts  grant:plain geo:US repeated:geo  granted
        /film/tnt/1.ts  grant:plain position:x  granted
        /film/tnt/1.ts  grant:plain position:48.8566,2.3522 repeated:position  granted
        /film/tnt/1.ts  grant:plain alpn:h␠2  granted
        /film/tnt/1.ts  grant:plain key:!  granted
        /film/tnt/1.ts  grant:network client:192.0.2.9 geo:nowhere  granted
        /film/tnt/1.ts  grant:us geo:US client:unknown  granted
        /vod/a.ts  client:unknown  unprotected
        /segments/1.ts  token@header:good client:unknown  within_ttl
        """#
}

extension SameRequest {
    private static let facts: [String: RequestFact] = [
        "scheme": .scheme, "client": .clientAddress, "asn": .clientASN, "geo": .countries, "position": .position,
        "alpn": .alpn,
        "key": .clientKey,
    ]
    private static let tokenSources: [Substring] = ["query", "header", "cookie", "scheme", "segment"]

    /// Adds what a word of a row says.
    fileprivate mutating func add(_ word: Substring, with sample: EdgeSample) throws {
        let colon = try #require(word.firstIndex(of: ":"), "\(word)")
        let name = word[..<colon]
        let value = String(word[word.index(after: colon)...].replacing("␠", with: " "))
        switch name {
        case "grant": grants.append(try sample.grant(value[...]))
        case "method": method = value
        case "host": host = value == "-" ? nil : value
        case "range": range = value
        case "agent": agent = value
        case "repeated":
            let fact: RequestFact = try #require(Self.facts[value], "\(word)")
            repeated = fact
        case let name where name.hasPrefix("token@"):
            tokens.append(
                (try #require(Self.tokenSources.firstIndex(of: name.dropFirst(6))), try sample.token(value[...]))
            )
        default: facts[try #require(Self.facts[String(name)], "\(word)")] = value
        }
    }
}
