// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import PlaybackGate

/// The grants that a request shows. Two different ones are no conflict: cookies of overlapping paths have one name.
enum PresentedGrants {
    /// The result of looking for grants.
    enum Finding {
        /// The grants; `nil` if there is none.
        case found(ShownGrants?)
        /// A fact of the request that a grant may be bound to is malformed, or stated twice.
        case invalid
    }

    /// Finds the grants of a check, in the form of paths and by the names of facts that its dialect has.
    static func find(
        _ client: EdgeRequest,
        _ fields: HTTPFields,
        _ target: OriginalTarget,
        path: Substring,
        _ rules: EdgeRules,
        _ dialect: EdgeDialect
    ) -> Finding {
        let form: RequestURI.Form = dialect.pathForm == .resolved ? .resolved : .asIs
        let redirects = !target.packages.isEmpty && rules.redirects(dialect, target.path)
        return find(client, fields, target, path: path, rules.sources, dialect.factHeaders, form, redirects: redirects)
    }

    /// Finds the grants of a request in the configured places, in their order, and the facts that they may be bound to.
    ///
    /// - Parameters:
    ///   - path: The path without token segments.
    ///   - names: The names of the header fields that state facts.
    ///   - redirects: True if the answer can redirect the client to the same target with another grant.
    static func find(
        _ client: EdgeRequest,
        _ fields: HTTPFields,
        _ target: OriginalTarget,
        path: Substring,
        _ sources: CredentialSources,
        _ names: EdgeDialect.FactHeaders,
        _ form: RequestURI.Form,
        redirects: Bool = false
    ) -> Finding {
        var shown = Tokens()
        for source in sources.grants { source.forEachValue(in: fields, target) { shown.take($0) } }
        guard let first = shown.first else { return .found(nil) }
        guard let stated = EdgeFacts(fields, target: client.target, names),
            let uri = RequestURI(stated, target, path: path, hiding: sources.secretParameters, form)
        else { return .invalid }
        var facts = RequestFacts(uri: uri, method: client.method == .other ? nil : client.method.rawValue[...])
        guard stated.fill(&facts) else { return .invalid }
        facts.headers = EdgeHeaderFields(fields: fields)
        let redirectable = redirects ? target.packages : []
        return .found(ShownGrants(facts, first: first, others: shown.rest, redirectable: redirectable))
    }

    /// The tokens of a request, of which most have one: a structure, so that nothing is allocated for it.
    private struct Tokens {
        var first: Substring?
        var rest: [Substring] = []

        /// Takes the value of a place: tokens with commas between them.
        mutating func take(_ value: Substring) {
            // Most values are one token, of which the search for a comma takes the most time.
            guard value.utf8.span.firstIndex(of: UInt8(ascii: ","), from: 0) != nil else { return add(value) }
            for token in value.listItems { add(token) }
        }

        private mutating func add(_ token: Substring) {
            guard !token.isEmpty else { return }
            if first == nil { first = token } else { rest.append(token) }
        }
    }
}

extension PlaybackRequest.Player {
    /// Reads the facts about a player that grants are bound to; `nil` if one is malformed or repeated.
    ///
    /// - Parameters:
    ///   - facts: The names of the header fields that state facts.
    ///   - names: The names of the header fields that grants are bound to.
    convenience init?(
        _ fields: HTTPFields,
        target: Substring,
        _ facts: EdgeDialect.FactHeaders,
        _ names: [String]
    ) {
        guard let stated = EdgeFacts(fields, target: target, facts) else { return nil }
        var address: IPAddress?
        guard stated.clientAddress.fill(&address) else { return nil }
        let bound = fields.indices.filter { index in names.contains { fields.isField(index, as: $0) } }
        self.init(
            address: address,
            headers: bound.map { (name: String(fields.name($0)), value: String(fields.value($0))) }
        )
    }
}

extension RequestURI {
    /// Creates the URI of a request without its tokens; `nil` if a fact is malformed, or the target is not in one clear form.
    init?(
        _ stated: EdgeFacts,
        _ target: OriginalTarget,
        path: Substring,
        hiding secrets: [String],
        _ form: Form
    ) {
        var scheme: Scheme?
        let told = stated.scheme
        guard told.fill(&scheme) else { return nil }
        var known: EdgeFacts.Authority?
        guard stated.authority(told).fill(&known) else { return nil }
        let authority = known.map { known in known.port.map { "\(known.host):\($0)"[...] } ?? known.host }
        self.init(target.text(path: path, hiding: secrets), scheme: scheme, authority: authority, form: form)
    }
}

extension EdgeFacts {
    /// Copies the facts about the client and its connection. Returns false if one is malformed.
    fileprivate func fill(_ facts: inout RequestFacts) -> Bool {
        clientAddress.fill(&facts.clientAddress) && clientASN.fill(&facts.clientASN) && countries.fill(&facts.countries)
            && position.fill(&facts.position) && alpn.fill(&facts.alpn) && clientKey.fill(&facts.clientKey)
    }
}

extension EdgeFacts.Fact {
    /// Copies the fact, if it is known. Returns false if it is malformed.
    fileprivate func fill(_ fact: inout Value?) -> Bool {
        if case .known(let value) = self { fact = value }
        return !isMalformed
    }

    /// Copies the fact, if it is known. Returns false if it is malformed.
    fileprivate func fill(_ fact: inout Value) -> Bool {
        if case .known(let value) = self { fact = value }
        return !isMalformed
    }

    private var isMalformed: Bool {
        if case .malformed = self { true } else { false }
    }
}

/// The header fields of a check, as far as they are the client's.
private struct EdgeHeaderFields: HeaderFields {
    let fields: HTTPFields

    func values(of name: String) -> [Substring] {
        fields.indices.filter { fields.isField($0, as: name) }.map(fields.value)
    }
}
