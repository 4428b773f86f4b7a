// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import EdgeTokens
internal import Encodings
internal import GateAPI
internal import GateConfiguration
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import RequestTargets

// The inspection of a media token or a grant: each check, and what became of it. Nothing is consumed, kept, logged or counted.

extension OperatorPage {
    func inspectionForm(_ visit: Visit, form: FormParameters? = nil, result: HTML? = nil) -> APIAnswer {
        // The token itself is not sent back.
        let content: HTML = """
            \(result)
            \(result == nil ? nil : "<h2>Inspect another</h2>")
            <form class="fields" method="post" action="/ui/inspect" autocomplete="off">
            <label><span>Media token or grant</span><textarea name="token" required spellcheck="false"></textarea></label>
            <label><span>For a media token: the path or media id to play. For a grant: the whole URL</span>\
            <input name="target" value="\(form?.optional("target") ?? "")" required></label>
            <label><span>Host of the path (for entries that name hosts)</span>\
            <input name="host" value="\(form?.optional("host") ?? "")"></label>
            <label><span>Address of the player (for grants that are bound to one)</span>\
            <input name="client" value="\(form?.optional("client") ?? "")"></label>
            <button>Inspect</button>
            </form>
            <p class="hint">Nothing is consumed, kept or logged.</p>
            """
        return .page("Inspect", content: content, caller: visit.caller.name, at: "/ui/inspect")
    }

    func inspect(_ visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        let form = try visit.parameters.get()
        // A token in raw form has its plus signs encoded by the browser; line ends come from the text field.
        var token = try form.required("token").filter { !$0.isNewline }
        token.makeContiguousUTF8()
        let target = try form.required("target")
        if let uri = RequestURI(url: target[...]) {
            let result = try grant(token, for: uri, client: form.optional("client"), in: visit)
            return .now(inspectionForm(visit, form: form, result: result))
        }
        let host = form.optional("host")
        let text = token
        return .later(
            .task {
                let result = await mediaToken(
                    text,
                    for: Self.target(target),
                    host: host.isEmpty ? nil : host,
                    in: visit
                )
                return inspectionForm(visit, form: form, result: result)
            }
        )
    }

    // MARK: Media tokens

    private func mediaToken(
        _ token: String,
        for target: PlaybackRequest.Target,
        host: String?,
        in visit: Visit
    ) async -> HTML {
        let gate = Self.silent(visit.snapshot.gate)
        let name = host.flatMap { HostName($0[...])?.text }
        guard case .entry(let entry) = gate.catalogue.find(target, host: name) else {
            return
                "<p class=\"fault\" role=\"status\">No entry of the catalogue covers the target: nothing opens it.</p>"
        }
        guard case .resource(let resource, let requestor) = entry.protection else {
            return "<p role=\"status\">The entry \(entry.key.text) demands no token.</p>"
        }
        let verdict = gate.verifier.verify(token.utf8.span, for: resource, requestor: requestor, at: visit.time)
        var reason: RefusalReason?
        if case .refused(let refused) = verdict { reason = refused.reason }
        var probe = PlaybackRequest(target, token: token)
        probe.host = name
        probe.method = .head
        let canTell = reason == nil && entry.methods.contains(.head)
        let decision = canTell ? await gate.decide(probe, at: visit.time) : nil
        let facts = (try? UnverifiedToken(reading: token)).map {
            Self.facts($0.content, isAuthentic: reason?.isOfContent ?? true)
        }
        return """
            <h2>Checks for \(entry.key.text)</h2>
            <table role="status"><thead><tr><th>Check</th><th>Result</th><th></th></tr></thead>
            <tbody>\(Self.steps(reason) + Self.steps(decision))</tbody></table>
            \(facts)
            """
    }

    /// A gate like another one that reports to no observer, and caches no token.
    private static func silent(_ gate: Gate) -> Gate {
        Gate(
            catalogue: gate.catalogue,
            verifier: Verifier(trust: gate.verifier.trust, policy: gate.verifier.policy),
            policies: gate.policies,
            store: gate.store,
            rules: gate.rules,
            grants: gate.grants
        )
    }

    /// The steps after the verification: by a probe, which consumes nothing.
    private static func steps(_ decision: Decision?) -> [HTML] {
        let name = "policies and revocations"
        let result: Result = decision.map { $0.code == nil ? .passed : .failed } ?? .skipped
        return [
            row(name, result: result, details: decision?.code?.rawValue ?? ""),
            row("not used before", result: .skipped, details: "only a playback can tell, by consuming the token"),
        ]
    }

    private enum Result: String {
        case passed
        case failed
        case skipped = "not done"
    }

    private static func row(_ check: String, result: Result, details: String) -> HTML {
        let kind = result == .skipped ? "skipped" : result.rawValue
        return "<tr><th>\(check)</th><td class=\"\(kind)\">\(result.rawValue)</td><td>\(details)</td></tr>"
    }

    /// The steps of the verification in their order. Those before the failed one have passed, and those after it were
    /// not performed.
    private static func steps(_ reason: RefusalReason?) -> [HTML] {
        var hasFailed = false
        return VerificationStep.allCases.map { step in
            guard reason == nil || !hasFailed else { return row(step.rawValue, result: .skipped, details: "") }
            guard let reason, reason.step == step || reason.step == nil else {
                return row(step.rawValue, result: .passed, details: "")
            }
            hasFailed = true
            return row(
                step.rawValue,
                result: .failed,
                details: "\(reason.rawValue): \(DenyCode.token(reason).operatorHint)"
            )
        }
    }

    private static func facts(_ token: MediaToken, isAuthentic: Bool) -> HTML {
        let title: HTML =
            isAuthentic
            ? "<h2>Content</h2>"
            : "<h2>Content, <span class=\"fault\">which is not authentic and can be forged</span></h2>"
        return """
            \(title)
            \(table([
                ("Requestor", token.requestorID), ("Resource", token.resourceID), ("MVPD", token.mvpdID),
                ("Proxy MVPD", token.proxyMVPDID ?? "none"), ("Issued", token.timeIssued.iso8601), ("Expires", token.expires.iso8601),
                ("Fingerprint, for a revocation", token.fingerprint.hexadecimal),
            ]))
            """
    }

    // MARK: Grants

    private func grant(_ token: String, for uri: RequestURI, client: String, in visit: Visit) throws(APIRefusal) -> HTML
    {
        guard let grants = visit.snapshot.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        var facts = RequestFacts(uri: uri, method: "GET")
        if !client.isEmpty {
            guard let address = IPAddress(client[...]) else {
                throw APIRefusal(.invalidRequest, details: "the address of the player is none")
            }
            facts.clientAddress = address
        }
        let explained = grants.explain(token.utf8.span, for: facts, asOf: visit.time, at: visit.time)
        let verdict: HTML =
            switch explained.verdict {
            case .refused(let refusal):
                "<p class=\"failed\" role=\"status\">Refused: \(refusal.code.rawValue)\(refusal.claimName.map { " (\($0))" } ?? "")</p>"
            case .allowed:
                "<p class=\"passed\" role=\"status\">Accepted. Catalogue and revocations are not looked at.</p>"
            }
        let rows = explained.claims.map { claim -> HTML in
            let kind =
                switch claim.outcome {
                case .pass: "passed"
                case .fail: "failed"
                case .notEvaluated, .ignored: "skipped"
                }
            return """
                <tr><th>\(claim.name)</th><td class="\(kind)">\(claim.outcome.rawValue)</td>\
                <td>\(claim.value)\(claim.refusal.map { " (\($0.code.rawValue))" } ?? "")</td></tr>
                """
        }
        return """
            \(verdict)
            \(explained.key?.id.map { "<p>Key: \($0.description)</p>" as HTML })
            <table><thead><tr><th>Claim</th><th>Result</th><th>Value</th></tr></thead><tbody>\(rows)</tbody></table>
            """
    }
}

extension RefusalReason {
    /// True if the signature is that of a trusted key, and the content of the token is the reason.
    fileprivate var isOfContent: Bool {
        switch step {
        case .requestor, .time, .resource: true
        case .envelope, .signature, .fields, nil: false
        }
    }
}
