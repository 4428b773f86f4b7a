// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

extension AccessEnabler {
    /// Performs a login with the platform's single sign-on, starting with its picker. If the viewer declines it or it fails,
    /// the login continues with the application's own picker.
    func signOn(
        with platform: any PlatformSignOn,
        mvpds: [MVPD],
        featured: [MVPD],
        for requestor: ConfiguredRequestor,
        number: UInt64
    ) async {
        guard login?.number == number else { return }
        callbacks.call { await $0.presentTvProviderDialog() }
        let outcome = await platform.present(mvpds, featured: featured)
        callbacks.call { await $0.dismissTvProviderDialog() }
        guard login?.number == number, case .picking = login?.stage else { return }
        switch outcome {
        case .cancelled:
            callbacks.status(.pickerCancelled)
            endLogin(.notAuthenticated(.providerNotSelected, nil))
        case .otherProvider: goOn(after: .otherProvider, for: requestor)
        case .notPermitted: goOn(after: .vsa404, for: requestor)
        case .unavailable: goOn(after: .vsa503, for: requestor)
        case .unsupported(let id):
            guard let mvpd = requestor.mvpd(id) else { return goOn(after: .providerUnsupported, for: requestor) }
            callbacks.status(.providerUnsupported)
            await beginLogin(at: mvpd, for: requestor)
        case .signedOn(let id):
            guard let mvpd = requestor.mvpd(id), let service = requestor.services[id] else {
                return goOn(after: .providerUnsupported, for: requestor)
            }
            await exchange(assertionOf: mvpd, on: platform, for: requestor, at: service)
        }
    }

    /// Reports the reason and continues with the application's own picker.
    private func goOn(after status: AdvancedStatus.DocumentedID, for requestor: ConfiguredRequestor) {
        callbacks.status(status)
        login?.stage = .picking
        showPicker(requestor)
    }

    /// Exchanges the assertion of the platform's provider for an authentication at the service.
    private func exchange(
        assertionOf mvpd: MVPD,
        on platform: any PlatformSignOn,
        for requestor: ConfiguredRequestor,
        at service: ServiceProvider
    ) async {
        let attempt = nextNumber()
        login?.stage = .asking(attempt)
        let interface = interface(service, requestor: requestor.id)
        do throws(ServiceFailure) {
            let request = try await interface.platformRequest(mvpd.id)
            let assertion = await platform.assertion(mvpd, request: request)
            guard isAsking(attempt) else { return }
            guard let assertion else { return goOn(after: .vsa503, for: requestor) }
            try await interface.exchange(assertion, mvpd: mvpd.id)
        } catch {
            if isAsking(attempt) { fail(error) }
            return
        }
        guard isAsking(attempt) else { return }
        await finishLogin(at: mvpd, code: nil, for: requestor, service: service)
    }
}
