// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Testing

@testable import RequestTargets
@testable import URISigning

@Suite struct `Containers of signed URIs` {
    private static let uris: [RequestURI] = {
        var uris: [RequestURI] = []
        for authority in ["cdn.example", "cdn.example:8443", "cdn.example:443", "[2001:db8::1]", "c"] {
            for target in [
                "/", "/live/a.m3u8", "/live/a.m3u8?b=1", "/live/a.m3u8?b=1?c", "/%C3%A9/x?", "/live/tnt/seg1",
            ] {
                for scheme in RequestURI.Scheme.allCases {
                    guard let uri = RequestURI(target[...], scheme: scheme, authority: authority[...]) else { continue }
                    uris.append(uri)
                }
            }
        }
        return uris
    }()

    private static func container(_ pattern: String) throws -> URIContainer {
        try URIContainer("regex:\(pattern)".utf8.span, match: .whole)
    }

    /// The pattern of a text, with every special character escaped.
    private static func escaped(_ text: some StringProtocol) -> String {
        text.map { #"\.[](){}*+?|^$"#.contains($0) ? "\\\($0)" : String($0) }.joined()
    }

    @Test func `agree with the whole text of a URI, wherever it is cut`() throws {
        #expect(Self.uris.count == 60)
        for uri in Self.uris {
            let text = try #require(uri.absolute)
            var pieces = ""
            #expect(
                uri.forEachPiece { piece in
                    pieces += String(copying: piece)
                    return true
                }
            )
            #expect(pieces == text)
            for length in 0...text.utf8.count {
                let start = text.prefix(length)
                let prefix = try Self.container("^\(Self.escaped(start)).*$")
                #expect(prefix.holds(uri), "\(start)")
                guard length > 0 else { continue }
                let exact = try Self.container("^\(Self.escaped(start))$")
                #expect(exact.holds(uri) == (length == text.count), "\(start)")
                let wrong = try Self.container("^\(Self.escaped(start.dropLast()))~.*$")
                #expect(!wrong.holds(uri), "\(start)")
            }
            #expect(!(try Self.container("^\(Self.escaped(text))x$").holds(uri)))
            #expect(!(try Self.container("^\(Self.escaped(text))x.*$").holds(uri)))
        }
    }

    @Test func `agree with the engine's patterns`() throws {
        for uri in Self.uris {
            for other in Self.uris {
                let text = try #require(other.absolute)
                for end in ["$", ".*$"] {
                    // A group makes the pattern one for the engine.
                    let simple = try Self.container("^\(Self.escaped(text))\(end)")
                    let engine = try Self.container("^(\(Self.escaped(text)))\(end)")
                    #expect(simple.holds(uri) == engine.holds(uri), "\(text) \(end) \(uri)")
                }
            }
        }
    }

    @Test func `open nothing of a URI with unknown parts`() throws {
        let all = try Self.container("^.*$")
        let known = try #require(RequestURI("/a", scheme: .https, authority: "cdn.example"))
        #expect(all.holds(known))
        for (scheme, authority) in [(nil, "cdn.example"), (.https, nil)] as [(RequestURI.Scheme?, Substring?)] {
            let uri = try #require(RequestURI("/a", scheme: scheme, authority: authority))
            #expect(!all.holds(uri))
        }
        let unreadable = try #require(RequestURI("/a?%", scheme: .https, authority: "cdn.example"))
        #expect(unreadable.query == nil && !all.holds(unreadable))
    }
}
