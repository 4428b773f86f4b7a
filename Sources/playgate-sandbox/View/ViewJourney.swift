// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import Encodings
internal import Entitlements
internal import ViewerTools

/// The steps from configuration to playback. A failed step ends the journey, except for the logout.
struct ViewJourney {
    let report: ViewReport
    let delegate: ViewDelegate
    let requestor: String
    let service: ServiceProvider
    let statement: String
    let storage: any TokenStorage
    let options: AccessEnablerOptions
    let printsToken: Bool

    /// The outcome of a journey.
    enum Outcome {
        case done, refused, failed
    }

    /// A software statement that the sandbox accepts: without a valid signature, and without data of a real application.
    static let standInStatement = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJwbGF5Z2F0ZSB2aWV3In0.c3RhbmQtaW4"

    func run(
        shown: [String],
        resource: String?,
        gate: (PlaybackClient, media: String?)?,
        logsOut: Bool
    ) async -> Outcome {
        let enabler = AccessEnabler(
            softwareStatement: statement,
            options: options,
            storage: storage,
            delegate: delegate
        )
        delegate.use(enabler)
        var outcome = await begin(enabler)
        if outcome == .done { outcome = await play(enabler, shown, resource, gate) }
        if logsOut { await logOut(enabler) }
        return outcome
    }

    /// Configures the requestor and logs in: flows B and C of the cookbook.
    private func begin(_ enabler: AccessEnabler) async -> Outcome {
        let configured = await enabler.setRequestor(requestor, serviceProviders: [service])
        guard configured.status == .success else {
            report.step("configuration", .failed, requestor, configured.failures.first)
            return .failed
        }
        report.step(
            "configuration",
            .done,
            "\(requestor) at \(service.url)",
            facts: [("providers", .array(configured.mvpds.map { .string($0.id) }))]
        )
        let known = await enabler.checkAuthentication()
        let status = known.viewer == nil ? await enabler.getAuthentication() : known
        if let choice = delegate.choice { report.step("provider", .done, choice) }
        guard case .authenticated(let viewer) = status else {
            var said: Status?
            if case .notAuthenticated(_, let known) = status { said = known }
            report.step("login", .failed, delegate.fault ?? status.errorCode.rawValue, said)
            return .failed
        }
        report.step(
            "login",
            .done,
            "with \(viewer.mvpd)\(viewer.isCached ? ", from an earlier login" : ""), until \(viewer.expires.iso8601)",
            facts: [("mvpd", .string(viewer.mvpd)), ("cached", .bool(viewer.isCached))]
        )
        return .done
    }

    /// Runs preauthorization, authorization and the gate: flows F and G.
    private func play(
        _ enabler: AccessEnabler,
        _ shown: [String],
        _ resource: String?,
        _ gate: (PlaybackClient, media: String?)?
    ) async -> Outcome {
        guard await showLocks(enabler, shown) else { return .failed }
        guard let resource else { return .done }
        let token: AuthorizedToken
        switch await enabler.checkAuthorization(resource) {
        case .token(let granted):
            report.step("authorization", .done, resource)
            report.step(
                "media token",
                .done,
                "until \(granted.expires.iso8601)",
                facts: printsToken ? [("token", .string(granted.serializedToken))] : []
            )
            if printsToken { report.token(granted.serializedToken) }
            token = granted
        case .failed(let failure):
            let isRefusal = failure.errorCode == .userNotAuthorized
            let words = failure.errorDescription.isEmpty ? failure.errorCode.rawValue : failure.errorDescription
            report.step("authorization", isRefusal ? .refused : .failed, words, failure.status)
            return isRefusal ? .refused : .failed
        }
        guard let (client, media) = gate else { return .done }
        return await show(token, media ?? resource, client)
    }

    /// Reports which resources the viewer may see; returns false if the service does not answer.
    private func showLocks(_ enabler: AccessEnabler, _ resources: [String]) async -> Bool {
        guard !resources.isEmpty else { return true }
        let answer = await enabler.preauthorize(PreauthorizeRequest(resources: resources)).value
        if let status = answer.status {
            report.step("preauthorization", .failed, "no decisions", status)
            return false
        }
        for decision in answer.decisions {
            report.step(
                "preauthorization",
                decision.isAuthorized ? .unlocked : .locked,
                decision.id,
                decision.error,
                facts: [("resource", .string(decision.id)), ("authorized", .bool(decision.isAuthorized))]
            )
        }
        return true
    }

    private func show(_ token: AuthorizedToken, _ media: String, _ gate: PlaybackClient) async -> Outcome {
        do throws(FormBrowser.Fault) {
            let answer = try await gate.play(media, token: token.serializedToken)
            report.step(
                "gate",
                answer.isAllowed ? .done : .refused,
                "\(media): \(answer.code)",
                answer.isAllowed
                    ? nil
                    : Status(
                        status: answer.status,
                        code: answer.code,
                        message: answer.message,
                        trace: answer.trace,
                        action: answer.action.map(StatusAction.init)
                    )
            )
            return answer.isAllowed ? .done : .refused
        } catch {
            report.step("gate", .failed, error.description)
            return .failed
        }
    }

    /// Logs out: flow H.
    private func logOut(_ enabler: AccessEnabler) async {
        switch await enabler.logout() {
        case .complete: report.step("logout", .done, "logged out")
        case .signOutOfPlatform: report.step("logout", .done, "sign out in the settings of the device too")
        case .onlyHere(let status): report.step("logout", .failed, "logged out here, but not at the service", status)
        }
    }
}
