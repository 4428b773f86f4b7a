// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// A logout that waits for a browser.
struct LogoutFlow {
    let number: UInt64
    let continuation: CheckedContinuation<Void, Never>
}

extension AccessEnabler {
    /// Logs the viewer out, here first and then at the service and the provider: the documented `logout`.
    ///
    /// Where a browser must go to the provider for it, the delegate is told (``EntitlementDelegate/navigateToURL(_:useSVC:)``)
    /// and this returns when ``handleExternalURL(_:)`` was called, or its task is cancelled. Nobody is authenticated here
    /// from the start on, whatever becomes of the rest.
    ///
    /// - Returns: What ``EntitlementDelegate/logoutComplete(_:)`` says too.
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
                // A login that has begun meanwhile has the browser.
                if let url, options.login == .browser, number == viewerNumber, login == nil { await visit(url) }
            } catch { failure = error.status }
        }
        let platforms = [Profile.Kind.appleSSO, .platformSSO].map(\.rawValue)
        let isSignedOn = await platform?.currentProvider() != nil
        let isOfPlatform = isSignedOn || known.values.contains { platforms.contains($0.kind) }
        if isOfPlatform {
            callbacks.status(.vsa203, "sign out in the settings of the device, or the viewer is authenticated again")
        }
        return tell(failure.map { .onlyHere($0) } ?? (isOfPlatform ? .signOutOfPlatform : .complete))
    }

    /// Has the application open a browser, and waits until it is back.
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

    /// Ends a logout that waits for a browser, for something else begins.
    func abandonLogout() { if let logoutFlow { endLogout(logoutFlow.number) } }

    private func tell(_ status: LogoutStatus) -> LogoutStatus {
        callbacks.call { await $0.logoutComplete(status) }
        return status
    }
}
