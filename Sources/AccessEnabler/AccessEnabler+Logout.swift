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
        guard let requestor = await configured() else { return tell(.complete) }
        abandonLogin()
        abandonLogout()
        let chosen = records.requestors[requestor.id]?.provider
        let kind = chosen.flatMap { records.requestors[requestor.id]?.viewers[$0]?.kind }
        records.requestors[requestor.id] = nil
        preauthorizations.removeAll()
        await saveRecords()
        var status = LogoutStatus.complete
        if let chosen, let service = requestor.services[chosen] {
            do throws(ServiceFailure) {
                let interface = interface(service, requestor: requestor.id)
                let url = try await interface.logout(chosen, redirectURL: options.redirectURL)
                if let url, options.login == .browser { await visit(url) }
            } catch { status = .onlyHere(error.status) }
        }
        let platforms = [Profile.Kind.appleSSO, .platformSSO].map(\.rawValue)
        let isSignedOn = await platform?.currentProvider() != nil
        if isSignedOn || kind.map(platforms.contains) ?? false {
            callbacks.status(.vsa203, "sign out in the settings of the device, or the viewer is authenticated again")
            status = .signOutOfPlatform
        }
        return tell(status)
    }

    /// Has the application open a browser, and waits until it is back.
    private func visit(_ url: String) async {
        let number = nextNumber()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                abandonLogout()
                logoutFlow = LogoutFlow(number: number, continuation: continuation)
                if Task.isCancelled { endLogout(number) }
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
