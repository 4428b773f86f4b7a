// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import RequestTargets

@testable import EdgeChecks
@testable import GateConfiguration
@testable import PlaybackGate

/// The answer to a check, as far as it must be the same.
struct SameAnswer: Equatable {
    let code: String
    let status: Int
    let seconds: Int64
}

/// The edges that describe a request with the same facts. Each difference has its reason.
enum EdgeWords: CaseIterable {
    /// nginx resolves paths before it asks.
    case resolving
    /// The others pass paths on as they are, and state the method in a field.
    case stating
    /// The method is that of the check, which may be any token.
    case passing
    /// HAProxy states addresses and numbers in types of their own, which texts that are none do not have.
    case typed
    /// By gRPC, a client's own fields would be taken for facts of this kind, so that there are none; repeated fields are joined.
    case bare

    var dialects: [EdgeDialect] {
        switch self {
        case .resolving: [.nginx]
        case .stating: [.forward]
        case .passing: [.envoy, .ats]
        case .typed: [.spoe]
        case .bare: [.grpc]
        }
    }
}

/// A request, by its meaning.
struct SameRequest: CustomStringConvertible {
    var path = ""
    var query: String?
    var method = "GET"
    var host: String?
    var range: String?
    /// The facts in texts.
    var facts: [RequestFact: String] = [:]
    /// A fact that is reported twice.
    var repeated: RequestFact?
    /// Media tokens, with their sources.
    var tokens: [(source: Int, text: String)] = []
    /// Grants in the header field, or in the query if there is only one.
    var grants: [String] = []
    var agent: String?

    var description: String {
        "\(method) \(host ?? "-") \(path.prefix(80)) \(query ?? "-") \(range ?? "-") \(facts) \(repeated.map { "\($0)" } ?? "-") "
            + "\(tokens.map { "\($0.source):\($0.text.prefix(12))" }) \(grants.map { $0.prefix(12) }) \(agent ?? "-")"
    }

    /// The target as the client sends it, with its tokens.
    var target: String {
        var parts = query.map { [$0] } ?? []
        parts += tokens.filter { $0.source == 0 }.map { "token=\($0.text.percentEncoded)" }
        let segments = tokens.filter { $0.source == 4 }.map { "/t=\(Self.segment($0.text))" }.joined() + path
        return parts.isEmpty ? segments : "\(segments)?\(parts.joined(separator: "&"))"
    }

    /// Returns a token as a segment has it: in the alphabet for URLs, without what would end the segment.
    static func segment(_ token: String) -> String {
        String(token.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "<" && $0 != " " })
    }

    /// True for a path in which a token's segment is read by all in the same way. The others are for EdgeRequestTests.
    var mayHaveSegment: Bool {
        path.utf8.first == UInt8(ascii: "/") && !path.contains("//") && !path.contains("/.")
            && path.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "/") }
    }

    /// The client's own header fields.
    var clientFields: [(String, String)] {
        var fields: [(String, String)] = []
        for (source, text) in tokens {
            switch source {
            case 1: fields.append(("X-Media-Token", text))
            case 2: fields.append(("Cookie", "a=b; media-token=\(text); c=d"))
            case 3: fields.append(("Authorization", "MediaToken \(text)"))
            default: break
            }
        }
        if !grants.isEmpty { fields.append(("CTA-Common-Access-Token", grants.joined(separator: ", "))) }
        if let agent { fields.append(("User-Agent", agent)) }
        return fields
    }

    /// Returns the request in the words of some edges, with what they can state; `nil` if they cannot state it.
    func words(of group: EdgeWords) -> SameRequest? {
        var words = self
        switch group {
        case .resolving, .stating, .passing: break
        case .typed:
            if let client = facts[.clientAddress] {
                guard IPAddress(client)?.isIPv4 ?? false, !client.contains(":") else { return nil }
            }
            if let asn = facts[.clientASN], UInt32(asn) == nil || asn.utf8.first == UInt8(ascii: "0") { return nil }
        case .bare:
            guard repeated == nil else { return nil }
            for fact in [RequestFact.alpn, .clientKey, .clientASN, .countries, .position] { words.facts[fact] = nil }
        }
        words.group = group
        return words
    }

    var group = EdgeWords.stating
}

/// A plain description of a request: what an adapter must find in its protocol is given.
struct PlainReport: EdgeReport {
    let request: SameRequest

    var hasHeaders: Bool { true }

    func values(of name: String) -> [Substring] {
        request.clientFields.filter { $0.0.lowercased() == name.lowercased() }.map { $0.1[...] }
    }

    var mediaToken: PresentedToken {
        var presented = PresentedToken()
        // Blanks at the ends of a field are none of its value.
        for (source, text) in request.tokens {
            switch source {
            case 0: presented.add(text[...], from: source)
            case 4: presented.add(SameRequest.segment(text)[...], from: source)
            default: presented.add(text[...].trimmingBlanks, from: source)
            }
        }
        return presented
    }

    func grants() -> PresentedGrantTokens {
        var presented = PresentedGrantTokens()
        for grant in request.grants { presented.add(grant[...]) }
        return presented
    }

    func report(of fact: RequestFact) -> ReportedFact {
        if request.repeated == fact, request.facts[fact] != nil { return .repeated }
        return request.facts[fact].map { .text($0[...]) } ?? .none
    }
}
