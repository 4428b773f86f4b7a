// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

extension AccessEnabler {
    /// Performs a login with the platform's single sign-on, starting with its picker. If the viewer declines it or it fails,
    /// the login continues with the application's own picker.
    func signOn(
        _ platform: any PlatformSignOn,
        _ mvpds: [MVPD],
        featured: [MVPD],
        _ requestor: ConfiguredRequestor,
        _ number: UInt64
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
        case .otherProvider: goOn(.otherProvider, requestor)
        case .notPermitted: goOn(.vsa404, requestor)
        case .unavailable: goOn(.vsa503, requestor)
        case .unsupported(let id):
            guard let mvpd = requestor.mvpd(id) else { return goOn(.providerUnsupported, requestor) }
            callbacks.status(.providerUnsupported)
            await beginLogin(mvpd, requestor)
        case .signedOn(let id):
            guard let mvpd = requestor.mvpd(id), let service = requestor.services[id] else {
                return goOn(.providerUnsupported, requestor)
            }
            await exchange(mvpd, platform, requestor, service)
        }
    }

    /// Reports the reason and continues with the application's own picker.
    private func goOn(_ status: AdvancedStatus.DocumentedID, _ requestor: ConfiguredRequestor) {
        callbacks.status(status)
        login?.stage = .picking
        showPicker(requestor)
    }

    /// Exchanges the assertion of the platform's provider for an authentication at the service.
    private func exchange(
        _ mvpd: MVPD,
        _ platform: any PlatformSignOn,
        _ requestor: ConfiguredRequestor,
        _ service: ServiceProvider
    ) async {
        let attempt = nextNumber()
        login?.stage = .asking(attempt)
        let interface = interface(service, requestor: requestor.id)
        do throws(ServiceFailure) {
            let request = try await interface.platformRequest(mvpd.id)
            let assertion = await platform.assertion(mvpd, request: request)
            guard isAsking(attempt) else { return }
            guard let assertion else { return goOn(.vsa503, requestor) }
            try await interface.exchange(assertion, mvpd: mvpd.id)
        } catch {
            if isAsking(attempt) { fail(error) }
            return
        }
        guard isAsking(attempt) else { return }
        await finishLogin(mvpd, code: nil, requestor, service)
    }
}
