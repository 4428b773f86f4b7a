// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import Encodings
internal import Entitlements
internal import ViewerTools

/// The inputs of a journey.
struct ViewPlan {
    let requestor: String
    let service: ServiceProvider
    /// The application's data for the service.
    var data: [String: String] = [:]
    /// The providers of the platform's picker.
    var filter: ProviderFilter?
    /// True to log in although a viewer is authenticated.
    var forcesLogin = false
    /// The resources to preauthorize.
    var preauthorized: [String] = []
    /// The names of the metadata to print.
    var metadata: [String] = []
    /// The resource to play; `nil` to play nothing, or the one that the gate's catalogue has for ``media``.
    var resource: String?
    /// The media in the gate's catalogue.
    var media: String?
    var gate: PlaybackClient?
    var printsToken = false
    var logsOut = false
}

/// The steps from configuration to playback. A failed step ends the journey, except for the logout.
struct ViewJourney {
    let plan: ViewPlan
    let report: ViewReport
    let delegate: ViewDelegate
    let enabler: AccessEnabler

    /// The outcome of a journey.
    enum Outcome: Int32 {
        /// Every step succeeded.
        case done = 0
        /// The service, the provider or the gate refused, or failed.
        case refused = 1
        /// There was nobody to ask.
        case unable = 2
    }

    /// The early end of a journey. The report has the reason.
    private struct Stop: Error { let outcome: Outcome }

    func run() async -> Outcome {
        do throws(Stop) { try await configure() } catch { return error.outcome }
        var outcome = Outcome.done
        do throws(Stop) { try await view() } catch { outcome = error.outcome }
        guard plan.logsOut, await !logOut(), outcome == .done else { return outcome }
        return .refused
    }

    /// Reports a failed step and ends the journey. The outcome is `unable` if there was no response.
    private func stop(
        at step: String,
        text: String,
        status: Status?,
        mark: ViewReport.Mark = .failed
    ) -> Stop {
        report.step(step, mark: mark, text: text, status: status)
        return Stop(outcome: status?.knownCode == .networkError ? .unable : .refused)
    }

    /// Configures the requestor: flow B.
    private func configure() async throws(Stop) {
        let configured = await enabler.setRequestor(plan.requestor, serviceProviders: [plan.service])
        guard configured.status == .success else {
            let status = configured.failures.first
            let isSilent = status?.knownCode == .networkError
            let remedy = " did not respond; start the sandbox with: playgate-sandbox serve"
            throw stop(at: "configuration", text: isSilent ? plan.service.url + remedy : plan.requestor, status: status)
        }
        report.step(
            "configuration",
            mark: .done,
            text: "\(plan.requestor) at \(plan.service.url)",
            members: [("providers", .array(configured.mvpds.map { .string($0.id) }))]
        )
    }

    /// Plays the media: flow G. Unprotected media needs no viewer.
    private func view() async throws(Stop) {
        let resource = try await protection()
        let isFree = resource == nil && plan.media != nil
        if !isFree || plan.forcesLogin || !plan.preauthorized.isEmpty || !plan.metadata.isEmpty {
            try await logIn(isForced: plan.forcesLogin)
        }
        try await showLocks()
        let token: AuthorizedToken? = if let resource { try await authorize(resource) } else { nil }
        for name in plan.metadata { await show(metadata: name, resource) }
        guard let gate = plan.gate, let media = plan.media ?? resource else { return }
        try await play(media, with: token, at: gate)
    }

    /// Returns the resource that a token must be for: that of the command line, or that of the gate's catalogue.
    private func protection() async throws(Stop) -> String? {
        guard plan.resource == nil, let gate = plan.gate, let media = plan.media else { return plan.resource }
        let (entry, answer) = try await ask { () async throws(FormBrowser.Fault) in try await gate.entry(media) }
        guard let entry else { throw refusal(at: "media", of: media, answer: answer) }
        guard entry.isProtected else {
            report.step("media", mark: .done, text: "\(media): unprotected", members: [("protected", .bool(false))])
            return nil
        }
        guard let resource = entry.resource else {
            throw stop(at: "media", text: "\(media): protected, and the gate names no resource", status: nil)
        }
        let facts: [JSON.Member] = [("protected", .bool(true)), ("resource", .string(resource))]
        report.step("media", mark: .done, text: "\(media): protected, \(resource)", members: facts)
        return resource
    }

    // MARK: The viewer

    /// Authenticates the viewer, if needed: flows C, D and E.
    private func logIn(isForced: Bool) async throws(Stop) {
        let known = isForced ? nil : await enabler.checkAuthentication().viewer
        let status: AuthenticationStatus =
            if let known {
                .authenticated(known)
            } else {
                await enabler.getAuthentication(force: isForced, data: plan.data, filter: plan.filter)
            }
        let fault = delegate.removeFault()
        switch status {
        case .notAuthenticated(let code, let status):
            throw stop(at: "login", text: fault ?? code.rawValue, status: status)
        case .authenticated(let viewer):
            let origin = viewer.isCached ? ", from an earlier login" : ""
            report.step(
                "login",
                mark: .done,
                text: "with \(viewer.mvpd)\(origin), until \(viewer.expires.iso8601)",
                members: [
                    ("mvpd", .string(viewer.mvpd)), ("kind", .string(viewer.kind.rawValue)),
                    ("cached", .bool(viewer.isCached)),
                ]
            )
        }
    }

    /// Returns the answer to a request. If the login has ended meanwhile, logs in again and repeats the request, once:
    /// flow F.
    private func viewed<Answer>(
        _ request: () async -> Answer,
        reason: (Answer) -> Status?
    ) async throws(Stop) -> Answer {
        let answer = await request()
        guard let status = reason(answer), status.action == .authentication else { return answer }
        report.step("login", mark: .missing, text: "has ended; log in again", status: status)
        // REST API v2 says so in its decisions too, and the client then still knows the viewer.
        try await logIn(isForced: true)
        return await request()
    }

    /// Reports which resources the viewer may see.
    private func showLocks() async throws(Stop) {
        guard !plan.preauthorized.isEmpty else { return }
        let request = PreauthorizeRequest(resources: plan.preauthorized)
        let answer = try await viewed({ await enabler.preauthorize(request).value }) { answer in
            answer.status ?? answer.decisions.lazy.compactMap(\.error).first { $0.action == .authentication }
        }
        if let status = answer.status { throw stop(at: "preauthorization", text: "no decisions", status: status) }
        for decision in answer.decisions {
            report.step(
                "preauthorization",
                mark: decision.isAuthorized ? .unlocked : .locked,
                text: decision.id,
                status: decision.error,
                members: [("resource", .string(decision.id)), ("authorized", .bool(decision.isAuthorized))]
            )
        }
    }

    /// Gets a media token: flow F.
    private func authorize(_ resource: String) async throws(Stop) -> AuthorizedToken {
        let answer = try await viewed({ await enabler.checkAuthorization(resource, data: plan.data) }) { answer in
            answer.failure?.status
        }
        switch answer {
        case .token(let token):
            report.step("authorization", mark: .done, text: resource)
            report.step(
                "media token",
                mark: .done,
                text: "until \(token.expires.iso8601)",
                members: plan.printsToken ? [("token", .string(token.serializedToken))] : []
            )
            if plan.printsToken { report.token(token.serializedToken) }
            return token
        case .failed(let failure):
            let text = failure.errorDescription.isEmpty ? failure.errorCode.rawValue : failure.errorDescription
            let mark: ViewReport.Mark = failure.errorCode == .userNotAuthorized ? .refused : .failed
            throw stop(at: "authorization", text: text, status: failure.status, mark: mark)
        }
    }

    /// Reports a value of the client or of the provider.
    private func show(metadata name: String, _ resource: String?) async {
        let request: MetadataRequest =
            switch name {
            case "authentication": .authentication
            case "authorization": .authorization(resource: resource ?? "")
            case "device": .deviceID
            default: .userMetadata(key: name)
            }
        let value = await enabler.getMetadata(request).value
        let json = value.map(JSON.init) ?? .null
        report.step(
            "metadata",
            mark: value == nil ? .missing : .done,
            text: "\(name): \(value == nil ? "no value" : json.line)",
            members: [("name", .string(name)), ("value", json)]
        )
    }

    /// Logs out: flows H and I; false if a part of it failed.
    private func logOut() async -> Bool {
        let status = await enabler.logout()
        let fault = delegate.removeFault()
        switch status {
        case .onlyHere(let status):
            report.step(
                "logout",
                mark: .failed,
                text: fault ?? "logged out here, but not at the service",
                status: status
            )
        case _ where fault != nil: report.step("logout", mark: .failed, text: fault ?? "")
        case .complete: report.step("logout", mark: .done, text: "logged out")
        case .signOutOfPlatform: report.step("logout", mark: .done, text: "sign out in the settings of the device too")
        }
        return status.isWhole && fault == nil
    }

    // MARK: The gate

    private func play(_ media: String, with token: AuthorizedToken?, at gate: PlaybackClient) async throws(Stop) {
        let answer = try await ask { () async throws(FormBrowser.Fault) in
            try await gate.play(media, token: token?.serializedToken)
        }
        guard answer.isAllowed else { throw refusal(at: "gate", of: media, answer: answer) }
        report.step("gate", mark: .done, text: "\(media): \(answer.code)", members: [("code", .string(answer.code))])
    }

    private func refusal(at step: String, of media: String, answer: PlaybackClient.Answer) -> Stop {
        let status = Status(
            status: answer.status,
            code: answer.code,
            message: answer.message,
            trace: answer.trace,
            action: answer.action.map(StatusAction.init)
        )
        return stop(at: step, text: "\(media): \(answer.code)", status: status, mark: .refused)
    }

    private func ask<Answer>(
        _ request: () async throws(FormBrowser.Fault) -> Answer
    ) async throws(Stop) -> Answer {
        do throws(FormBrowser.Fault) { return try await request() } catch {
            report.step("gate", mark: .failed, text: error.description)
            throw Stop(outcome: .unable)
        }
    }
}

extension LogoutStatus {
    /// True if the viewer is logged out of the service too.
    fileprivate var isWhole: Bool {
        if case .onlyHere = self { return false }
        return true
    }
}

extension JSON {
    /// Creates the JSON of a metadata value; members of maps are sorted by name.
    fileprivate init(_ value: MetadataValue) {
        switch value {
        case .text(let text): self = .string(text)
        case .number(let number): self = .number(number)
        case .truth(let truth): self = .bool(truth)
        case .null: self = .null
        case .list(let values): self = .array(values.map(JSON.init))
        case .map(let values): self = .object(values.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) })
        }
    }
}
