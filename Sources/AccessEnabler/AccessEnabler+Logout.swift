// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// A logout that waits for a browser.
struct LogoutFlow {
    let number: UInt64
    let continuation: CheckedContinuation<Void, Never>
}

extension AccessEnabler {
    /// Logs the viewer out, first in the client and then at the service and the provider: the documented `logout`.
    ///
    /// If the logout at the provider needs a browser, the delegate is asked to open it
    /// (``EntitlementDelegate/navigateToURL(_:useSVC:)``), and this function returns when ``handleExternalURL(_:)`` is
    /// called or its task is cancelled. The client has no viewer from the start of the call, even if a later step fails.
    ///
    /// - Returns: The status that ``EntitlementDelegate/logoutComplete(_:)`` also receives.
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
            guard let requestor, let service = requestor.services[mvpd], service.url == viewer.service else {
                failure = Status(
                    .requestorNotConfigured,
                    by: .client,
                    message: "the service of \(mvpd) is not configured"
                )
                continue
            }
            do throws(ServiceFailure) {
                let interface = interface(service, requestor: id, identity: viewer.identity)
                let url = try await interface.logout(mvpd, redirectURL: options.redirectURL)
                // A login that has started in the meantime uses the browser.
                if let url, options.login == .browser, number == viewerNumber, login == nil { await visit(url) }
            } catch { failure = error.status }
        }
        let platforms = [Profile.Kind.appleSSO, .platformSSO].map(\.rawValue)
        let isSignedOn = await platform?.currentProvider() != nil
        let isOfPlatform = isSignedOn || known.values.contains { platforms.contains($0.kind) }
        if isOfPlatform {
            callbacks.status(.vsa203, "sign out in the device settings too; otherwise the viewer is logged in again")
        }
        return tell(failure.map { .onlyHere($0) } ?? (isOfPlatform ? .signOutOfPlatform : .complete))
    }

    /// Asks the application to open a browser, and waits until the browser returns.
    private func visit(_ url: String) async {
        guard !Task.isCancelled else { return }
        let number = nextNumber()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                abandonLogout()
                logoutFlow = LogoutFlow(number: number, continuation: continuation)
                guard !Task.isCancelled else { return endLogout(number) }
                let useSVC = options.handleSVC
                callbacks.call { await $0.navigateToURL(url, useSVC: useSVC) }
            }
        } onCancel: {
            Task { await self.endLogout(number) }
        }
    }

    func endLogout(_ number: UInt64) {
        guard let flow = logoutFlow, flow.number == number else { return }
        logoutFlow = nil
        flow.continuation.resume()
    }

    /// Ends a logout that waits for a browser, because another operation starts.
    func abandonLogout() { if let logoutFlow { endLogout(logoutFlow.number) } }

    private func tell(_ status: LogoutStatus) -> LogoutStatus {
        callbacks.call { await $0.logoutComplete(status) }
        return status
    }
}
