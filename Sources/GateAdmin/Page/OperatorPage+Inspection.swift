// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import EdgeTokens
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
    /// The form, and the result of the last inspection. The token itself is not sent back.
    private struct InspectionView {
        var target = ""
        var host = ""
        var client = ""
        var hasResult = false
        var fault: String?
        /// The entry that demands no token.
        var openEntry: String?
        var token: TokenView?
        var grant: GrantView?

        init() {}

        init(_ form: FormParameters) {
            (target, host, client) = (form.optional("target"), form.optional("host"), form.optional("client"))
            hasResult = true
        }
    }

    private struct TokenView {
        let entry: String
        let checks: [PageCheck]
        let tokenContent: Content?

        struct Content {
            let isAuthentic: Bool
            let facts: [PageFact]
        }
    }

    private struct GrantView {
        let verdictKind: String
        let verdict: String
        let key: String?
        let checks: [PageCheck]
    }

    func inspectionForm(_ visit: Visit) -> APIAnswer { page(InspectionView(), for: visit) }

    private func page(_ view: InspectionView, for visit: Visit) -> APIAnswer {
        page(.inspect, title: "Inspect", content: view, for: visit, at: "/ui/inspect")
    }

    func inspect(_ visit: Visit) throws(APIRefusal) -> Reply<APIAnswer> {
        let form = try visit.parameters.get()
        // A token in raw form has its plus signs encoded by the browser; line ends come from the text field.
        var token = try form.required("token").filter { !$0.isNewline }
        token.makeContiguousUTF8()
        let target = try form.required("target")
        let view = InspectionView(form)
        if let uri = RequestURI(url: target[...]) {
            var view = view
            view.grant = try grant(token, for: uri, client: view.client, in: visit)
            return .now(page(view, for: visit))
        }
        let text = token
        return .later(
            .task {
                var view = view
                await inspectMediaToken(text, for: Self.target(target), in: visit, view: &view)
                return page(view, for: visit)
            }
        )
    }

    // MARK: Media tokens

    private func inspectMediaToken(
        _ token: String,
        for target: PlaybackRequest.Target,
        in visit: Visit,
        view: inout InspectionView
    ) async {
        let gate = Self.silent(visit.snapshot.gate)
        let name = view.host.isEmpty ? nil : HostName(view.host[...])?.text
        guard case .entry(let entry) = gate.catalogue.find(target, host: name) else {
            view.fault = "No entry of the catalogue covers the target: nothing opens it."
            return
        }
        guard case .resource(let resource, let requestor) = entry.protection else {
            view.openEntry = entry.key.text
            return
        }
        let verdict = gate.verifier.verify(token.utf8.span, for: resource, requestor: requestor, at: visit.time)
        var reason: RefusalReason?
        if case .refused(let refused) = verdict { reason = refused.reason }
        var probe = PlaybackRequest(target, token: token)
        probe.host = name
        probe.method = .head
        let canTell = reason == nil && entry.methods.contains(.head)
        let decision = canTell ? await gate.decide(probe, at: visit.time) : nil
        let content = try? UnverifiedToken(reading: token)
        view.token = TokenView(
            entry: entry.key.text,
            checks: Self.steps(reason) + Self.steps(decision),
            tokenContent: content.map {
                .init(isAuthentic: reason?.isOfContent ?? true, facts: Self.facts($0.content))
            }
        )
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
    private static func steps(_ decision: Decision?) -> [PageCheck] {
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

    private static func row(_ check: String, result: Result, details: String) -> PageCheck {
        let kind = result == .skipped ? "skipped" : result.rawValue
        return PageCheck(name: check, kind: kind, result: result.rawValue, details: details)
    }

    /// The steps of the verification in their order. Those before the failed one have passed, and those after it were
    /// not performed.
    private static func steps(_ reason: RefusalReason?) -> [PageCheck] {
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

    private static func facts(_ token: MediaToken) -> [PageFact] {
        [
            .init("Requestor", text: token.requestorID), .init("Resource", text: token.resourceID),
            .init("MVPD", text: token.mvpdID),
            .init("Proxy MVPD", text: token.proxyMVPDID ?? "none"), .init("Issued", text: token.timeIssued.iso8601),
            .init("Expires", text: token.expires.iso8601),
            .init("Fingerprint, for a revocation", text: token.fingerprint.hexadecimal),
        ]
    }

    // MARK: Grants

    private func grant(
        _ token: String,
        for uri: RequestURI,
        client: String,
        in visit: Visit
    ) throws(APIRefusal) -> GrantView {
        guard let grants = visit.snapshot.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        var facts = RequestFacts(uri: uri, method: "GET")
        if !client.isEmpty {
            guard let address = IPAddress(client[...]) else {
                throw APIRefusal(.invalidRequest, details: "the address of the player is none")
            }
            facts.clientAddress = address
        }
        let explained = grants.explain(token.utf8.span, for: facts, asOf: visit.time, at: visit.time)
        let (kind, verdict) =
            switch explained.verdict {
            case .refused(let refusal):
                ("failed", "Refused: \(refusal.code.rawValue)\(refusal.claimName.map { " (\($0))" } ?? "")")
            case .allowed: ("passed", "Accepted. Catalogue and revocations are not looked at.")
            }
        let checks = explained.claims.map { claim in
            let kind =
                switch claim.outcome {
                case .pass: "passed"
                case .fail: "failed"
                case .notEvaluated, .ignored: "skipped"
                }
            return PageCheck(
                name: claim.name,
                kind: kind,
                result: claim.outcome.rawValue,
                details: claim.value + (claim.refusal.map { " (\($0.code.rawValue))" } ?? "")
            )
        }
        return GrantView(verdictKind: kind, verdict: verdict, key: explained.key?.id?.description, checks: checks)
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
