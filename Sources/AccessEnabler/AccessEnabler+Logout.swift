// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// A logout that waits for a browser.
struct LogoutFlow {
    let number: UInt64
    let continuation: CheckedContinuation<Bool, Never>
}

extension AccessEnabler {
    /// Logs the viewer out, first in the client and then at the service and the provider: the documented `logout`.
    ///
    /// If the logout at the provider needs a browser, the delegate is called to open it
    /// (``AccessEnablerDelegate/navigateToURL(_:useSVC:)``). This function then returns when `handleExternalURL` is
    /// called. The browser does not return if no provider is selected (`nil`), another login or logout starts, or the
    /// task is cancelled. The status reports this. The client has no viewer from the start of the call, even if a later
    /// step fails.
    ///
    /// - Returns: The status that ``AccessEnablerDelegate/logoutComplete(_:)`` also receives.
    @discardableResult
    public func logout() async -> LogoutStatus {
        let requestor = await configured()
        guard let id = requestor?.id ?? requestorID else { return tell(.complete) }
        await loadRecords()
        abandonLogin()
        abandonLogout()
        let known = records.requestors[id]?.viewers ?? [:]
        records.requestors[id] = nil
        beginViewer()
        let number = viewerNumber
        await saveRecords()
        var failure: Status?
        for (mvpd, viewer) in known.sorted(by: { $0.key < $1.key }) {
            failure =
                await logOut(at: mvpd, of: viewer.service, requestor: requestor, id: id, number: number) ?? failure
        }
        let platforms = [Profile.Kind.appleSSO, .platformSSO].map(\.rawValue)
        let isSignedOn = await platform?.currentProvider() != nil
        let isOfPlatform = isSignedOn || known.values.contains { platforms.contains($0.kind) }
        if isOfPlatform {
            callbacks.status(
                .vsa203,
                message: "sign out in the device settings too; otherwise the viewer is logged in again"
            )
        }
        return tell(failure.map { .onlyHere($0) } ?? (isOfPlatform ? .signOutOfPlatform : .complete))
    }

    /// Logs the viewer out at one provider.
    ///
    /// - Returns: The reason why the state there is unknown; `nil` if the viewer is logged out.
    private func logOut(
        at mvpd: String,
        of url: String,
        requestor: ConfiguredRequestor?,
        id: String,
        number: UInt64
    ) async -> Status? {
        guard let requestor, let service = requestor.services[mvpd], service.url == url else {
            return Status(.requestorNotConfigured, by: .client, message: "the service of \(mvpd) is not configured")
        }
        do throws(ServiceFailure) {
            let end = options.redirectURL(for: requestor.mvpd(mvpd))
            let target = try await interface(service, requestor: id, redirectURL: end).logout(mvpd, redirectURL: end)
            guard let target, options.login == .browser else { return nil }
            // A login that has started in the meantime uses the browser.
            guard number == viewerNumber, login == nil else { return Self.unfinished }
            return await visit(target, for: requestor.mvpd(mvpd)) ? nil : Self.unfinished
        } catch { return error.status }
    }

    private static let unfinished = ServiceFailure.ofThisClient(
        "logout_unfinished",
        message: "the browser did not return from the provider's logout"
    )

    /// Asks the application to open a browser, and waits for its end.
    ///
    /// - Returns: True if the browser returned to the redirect URL.
    private func visit(_ url: String, for mvpd: MVPD?) async -> Bool {
        guard !Task.isCancelled, callbacks.delegate != nil else { return false }
        let number = nextNumber()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                abandonLogout()
                logoutFlow = LogoutFlow(number: number, continuation: continuation)
                guard !Task.isCancelled else { return endLogout(number, hasReturned: false) }
                openBrowser(at: url, for: mvpd)
            }
        } onCancel: {
            Task { await self.endLogout(number, hasReturned: false) }
        }
    }

    func endLogout(_ number: UInt64, hasReturned: Bool) {
        guard let flow = logoutFlow, flow.number == number else { return }
        logoutFlow = nil
        flow.continuation.resume(returning: hasReturned)
    }

    /// Ends a logout that waits for a browser, because the browser fails or another operation starts.
    func abandonLogout() { if let logoutFlow { endLogout(logoutFlow.number, hasReturned: false) } }

    /// Reports the end to the delegate: documented with the status 0, which means success here.
    private func tell(_ status: LogoutStatus) -> LogoutStatus {
        callbacks.call { await $0.setAuthenticationStatus(.error, errorCode: .userNotAuthenticated) }
        callbacks.call { await $0.logoutComplete(status) }
        return status
    }
}
