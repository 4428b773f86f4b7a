// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings

/// A request, as an edge states it to a gate in its own process. Empty texts are unknown facts.
///
/// They are `Substring()`: a literal is made anew for each.
package struct EdgeQuestion: Sendable {
    /// Path and query, undecoded, without tokens.
    package var target = Substring()
    /// The method, in the client's case.
    package var method = Substring()
    /// The scheme of the client's connection.
    package var scheme = Substring()
    /// The requested host, with or without a port.
    package var host = Substring()
    /// The media token that the request shows; `nil` for none.
    package var token: Substring?
    /// True if the request shows two different media tokens.
    package var hasTokenConflict = false
    /// The first grant that the request shows; `nil` for none. Most requests show one only, which needs no list.
    package private(set) var grant: Substring?
    /// The other grants, in the order in which they are tried.
    package private(set) var otherGrants: [Substring] = []
    /// The client's address.
    package var client = Substring()
    /// The protocol id of ALPN; `nil` if it is not known, empty if there is none.
    package var alpn: [UInt8]?
    /// The DER of the client's public key; `nil` if it is not known, empty if there is none.
    package var clientKey: [UInt8]?
    /// The codes of country and subdivision.
    package var countries = Substring()
    /// Latitude and longitude.
    package var position = Substring()
    /// The number of the client's autonomous system; 0 if it is not known.
    package var clientASN: UInt32 = 0
    /// The header fields of the request; `nil` if they are not known.
    package var headers: (any HeaderFields)?
    /// True if the client requests a part of the media.
    package var isPartial = false
    /// True if the edge does not resolve empty and dot segments.
    package var isAsIs = false
    /// True if the path can be read in two ways.
    package var isAmbiguous = false

    /// True if the caller keeps answers for other requests, and wants to know for which and how long.
    package var isKept = true

    /// Creates a question without facts.
    package init() {}

    /// Adds the values of a place of media tokens.
    package mutating func show(token value: Substring) {
        guard !value.isEmpty else { return }
        let shown = value.percentDecodedToken
        guard let token else {
            self.token = shown
            return
        }
        if !token.utf8.span.hasSameBytes(as: shown.utf8.span) { hasTokenConflict = true }
    }

    /// Adds the grants of a value: one, or several with commas between them.
    package mutating func show(grant value: Substring) {
        guard value.utf8.span.firstIndex(of: UInt8(ascii: ","), from: 0) != nil else {
            show(oneGrant: value)
            return
        }
        for token in value.listItems { show(oneGrant: token) }
    }

    private mutating func show(oneGrant token: Substring) {
        guard !token.isEmpty else { return }
        if grant == nil { grant = token } else { otherGrants.append(token) }
    }
}

extension EdgeQuestion {
    /// The method; `nil` if the text cannot be the name of one: 1 to 32 upper-case letters and hyphens.
    var parsedMethod: PlaybackRequest.Method? {
        // Nearly all requests have this one.
        if method.utf8.span.hasSameBytes(as: "GET".utf8.span) { return .get }
        guard 1...32 ~= method.utf8.count,
            method.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "-") })
        else { return nil }
        return PlaybackRequest.Method(rawValue: String(method)) ?? .other
    }

    /// Returns the player, for entries whose grants are bound to it; `nil` if its address is malformed.
    func player(_ names: [String]) -> PlaybackRequest.Player? {
        guard let address = parsedClient else { return nil }
        var bound: [(name: String, value: String)] = []
        for name in Set(names) {
            for value in headers?.values(of: name) ?? [] { bound.append((name: name, value: String(value))) }
        }
        return PlaybackRequest.Player(address: address.value, headers: bound)
    }

    /// A fact that may be unknown.
    private struct Known<Value> {
        let value: Value?
    }

    /// The address, if it is known; `nil` if it is malformed.
    private var parsedClient: Known<IPAddress>? {
        guard !client.isEmpty else { return Known(value: nil) }
        let text = client.trimmingBlanks
        guard !text.isEmpty else { return Known(value: nil) }
        return IPAddress(text).map { Known(value: $0) }
    }

    /// Returns the grants that the request shows, with the facts that they may be bound to; `nil` if one of these is malformed.
    ///
    /// - Parameters:
    ///   - first: The first grant.
    ///   - target: The parsed target.
    ///   - authority: The parsed host; `nil` if it is not known.
    func shownGrants(
        first: Substring,
        _ target: OriginalTarget,
        _ authority: URIAuthority?,
        _ method: PlaybackRequest.Method
    ) -> ShownGrants? {
        let scheme = scheme.isEmpty ? nil : RequestURI.Scheme(stated: scheme)
        guard self.scheme.isEmpty || scheme != nil,
            let uri = RequestURI(
                target.text(path: target.path, hiding: []),
                scheme: scheme,
                parsed: authority,
                form: isAsIs ? .asIs : .resolved
            ),
            let address = parsedClient
        else { return nil }
        var facts = RequestFacts(
            uri: uri,
            method: method == .other ? nil : method.rawValue[...],
            clientAddress: address.value
        )
        facts.headers = headers
        if clientASN > 0 { facts.clientASN = clientASN }
        guard fillRest(of: &facts) else { return nil }
        return ShownGrants(facts, first: first, others: otherGrants)
    }

    /// Adds the facts that few grants need. Returns false if one of them is malformed.
    private func fillRest(of facts: inout RequestFacts) -> Bool {
        if countries.isEmpty, position.isEmpty, alpn == nil, clientKey == nil { return true }
        let (countries, position) = (countries.trimmingBlanks, position.trimmingBlanks)
        if !countries.isEmpty {
            facts.countries = RequestFacts.countries(stated: countries)
            guard facts.countries != nil else { return false }
        }
        if !position.isEmpty {
            facts.position = Position(stated: position)
            guard facts.position != nil else { return false }
        }
        if let alpn {
            guard alpn.isEmpty || RequestFacts.isProtocolID(alpn.span) else { return false }
            facts.alpn = alpn.isEmpty ? .none : .value(alpn)
        }
        if let clientKey {
            guard clientKey.isEmpty || RequestFacts.isKeyInfo(clientKey) else { return false }
            facts.clientKey = clientKey.isEmpty ? .none : .value(clientKey)
        }
        return true
    }
}
