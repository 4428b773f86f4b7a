// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// A login, from the provider picker to the result.
struct LoginFlow {
    let number: UInt64
    /// The application's data for the service.
    let data: [String: String]
    /// True if the viewer logs in although a viewer is authenticated.
    var isForced = false
    var stage = Stage.picking
    /// The callers that wait for the result.
    var waiters: [UInt64: CheckedContinuation<AuthenticationStatus, Never>] = [:]

    enum Stage {
        /// The viewer chooses a provider.
        case picking
        /// A request is in flight. The number identifies it: a new choice of provider invalidates its response.
        case asking(UInt64)
        /// The viewer logs in, until the application or the poll reports the end.
        case navigating(MVPD, code: String, ConfiguredRequestor, ServiceProvider)
    }

    /// The background work of the login. It is cancelled when the login ends.
    var task: Task<Void, Never>?
}

extension AccessEnabler {
    /// Reports if the viewer is authenticated, from the client's own records: the documented `checkAuthentication`. It sends
    /// no request for the viewer.
    ///
    /// - Returns: The status of ``AccessEnablerDelegate/setAuthenticationStatus(_:errorCode:)``, in typed form.
    @discardableResult
    public func checkAuthentication() async -> AuthenticationStatus {
        guard let requestor = await configured() else { return tell(notConfigured) }
        guard let viewer = knownViewer(requestor) else {
            callbacks.status(.notAuthenticated)
            return tell(.notAuthenticated(.userNotAuthenticated, nil))
        }
        return tell(.authenticated(viewer))
    }

    /// Authenticates the viewer: the documented `getAuthentication`, `getAuthentication:withData:`, also with a filter.
    ///
    /// If the viewer is authenticated already, it returns at once. Otherwise it calls the delegate to show the picker
    /// and then a browser, and returns when the viewer completes the login or gives up. A call during a login waits for
    /// that login; its own parameters are ignored. Cancellation of the task gives up; the login ends if no other caller
    /// waits for it.
    ///
    /// - Parameters:
    ///   - force: True to authenticate even if the viewer is authenticated; the service is sent a logout first.
    ///   - data: The application's data for this login, which promotional temporary access requires: `generic_data` at the
    ///     service. It is not stored, and not sent with later requests.
    ///   - filter: The providers that the platform's own picker shows.
    /// - Returns: The status of ``AccessEnablerDelegate/setAuthenticationStatus(_:errorCode:)``, in typed form.
    @discardableResult
    public func getAuthentication(
        force: Bool = false,
        data: [String: String] = [:],
        filter: ProviderFilter? = nil
    ) async -> AuthenticationStatus {
        guard let requestor = await configured() else { return tell(notConfigured) }
        if !force, let viewer = knownViewer(requestor) { return tell(.authenticated(viewer)) }
        if login == nil {
            abandonLogout()
            let able = ProviderFilter.apply(filter, to: requestor.mvpds)
            let usesPlatform = platform != nil && !able.all.isEmpty
            guard usesPlatform || callbacks.delegate != nil else { return tell(Self.noDelegate) }
            let number = nextNumber()
            login = LoginFlow(number: number, data: data, isForced: force)
            if let platform, usesPlatform {
                login?.task = Task {
                    await self.signOn(
                        with: platform,
                        mvpds: able.all,
                        featured: able.featured,
                        for: requestor,
                        number: number
                    )
                }
            } else {
                showPicker(requestor)
            }
        }
        return await loginEnd()
    }

    /// Selects the provider and continues with its login: the documented `setSelectedProvider:`.
    ///
    /// - Parameter id: The provider's id; `nil` if the viewer left the picker, which ends the login.
    public func setSelectedProvider(_ id: String?) async {
        guard let id else {
            // `nil` also means that the browser failed or was closed during a logout.
            if login == nil, logoutFlow != nil { return abandonLogout() }
            return endLogin(.notAuthenticated(.providerNotSelected, nil))
        }
        guard let requestor = await configured() else { return endLogin(notConfigured) }
        guard let mvpd = requestor.mvpd(id) else {
            endLogin(.notAuthenticated(.providerNotAvailable, nil))
            return
        }
        callbacks.tracking(.providerSelection(mvpd: mvpd.id, options.device))
        // A separate task: cancelling the browser's task must not cancel the login.
        await Task { await self.beginLogin(at: mvpd, for: requestor) }.value
    }

    /// Continues a login or a logout after the browser has reached the redirect URL: the documented `handleExternalURL:`.
    ///
    /// - Parameter url: The URL to which the browser was redirected.
    /// - Returns: True if it is a redirect URL for which a login or a logout waits.
    @discardableResult
    public func handleExternalURL(_ url: String) async -> Bool {
        guard options.isRedirect(url) else { return false }
        if let logoutFlow {
            endLogout(logoutFlow.number, hasReturned: true)
            return true
        }
        guard case .navigating(let mvpd, let code, let requestor, let service) = login?.stage else { return false }
        await Task { await self.finishLogin(at: mvpd, code: code, for: requestor, service: service) }.value
        return true
    }

    // MARK: The steps of a login

    /// The status of a login that cannot be presented to the viewer.
    private static let noDelegate = AuthenticationStatus.notAuthenticated(
        .genericAuthentication,
        ServiceFailure.ofThisClient(
            "delegate_missing",
            message: "set a delegate: it shows the picker, the browser or the code"
        )
    )

    func showPicker(_ requestor: ConfiguredRequestor) {
        guard callbacks.delegate != nil else { return endLogin(Self.noDelegate) }
        let mvpds = requestor.mvpds
        callbacks.call { await $0.displayProviderDialog(mvpds) }
    }

    func beginLogin(at mvpd: MVPD, for requestor: ConfiguredRequestor) async {
        guard let service = requestor.services[mvpd.id] else {
            return endLogin(.notAuthenticated(.providerNotAvailable, nil))
        }
        abandonLogout()
        let attempt = nextNumber()
        if login == nil { login = LoginFlow(number: attempt, data: [:]) }
        login?.stage = .asking(attempt)
        let request = LoginRequest(
            mvpd: mvpd,
            domain: requestor.domains[service] ?? "",
            redirectURL: options.redirectURL(for: mvpd),
            data: login?.data ?? [:]
        )
        let interface = interface(
            service,
            requestor: requestor.id,
            data: data(for: mvpd),
            redirectURL: request.redirectURL
        )
        // REST API v2 does not start a login for a viewer whom it knows, so a forced login logs out first.
        if login?.isForced ?? false { _ = try? await interface.logout(mvpd.id, redirectURL: request.redirectURL) }
        let outcome = await result { () throws(ServiceFailure) in try await interface.beginLogin(request) }
        guard isAsking(attempt) else { return }
        switch outcome {
        case .failure(let failure): fail(failure)
        case .success(.done): await finishLogin(at: mvpd, code: nil, for: requestor, service: service)
        case .success(.navigate(let url, let code, let expires)):
            guard callbacks.delegate != nil else { return endLogin(Self.noDelegate) }
            login?.stage = .navigating(mvpd, code: code, requestor, service)
            switch options.login {
            case .browser: openBrowser(at: url, for: mvpd)
            case .secondScreen(let interval):
                callbacks.status(.registrationCode, message: code)
                await poll(code: code, every: max(interval, .seconds(1)), until: expires)
            }
        }
    }

    /// Asks the application to open a browser: the system's, if the provider needs it and the application handles it.
    func openBrowser(at url: String, for mvpd: MVPD?) {
        let useSVC = options.handleSVC && mvpd?.requiresSVC ?? false
        callbacks.call { await $0.navigateToURL(url, useSVC: useSVC) }
    }

    /// The application's data of the current login, for temporary access only.
    private func data(for mvpd: MVPD) -> [String: String] { mvpd.isTempPass ? login?.data ?? [:] : [:] }

    func isAsking(_ attempt: UInt64) -> Bool {
        if case .asking(attempt) = login?.stage { return true }
        return false
    }

    /// Asks the service for the viewer who is authenticated now.
    func finishLogin(
        at mvpd: MVPD,
        code: String?,
        for requestor: ConfiguredRequestor,
        service: ServiceProvider
    ) async {
        let attempt = nextNumber()
        login?.stage = .asking(attempt)
        // In v1, a code belongs to the device that showed it to a viewer. A browser login is on this device.
        let code = service.interface == .v1 && options.login == .browser ? nil : code
        let interface = interface(service, requestor: requestor.id, data: data(for: mvpd))
        let outcome = await result { () throws(ServiceFailure) in try await interface.viewer(mvpd.id, code: code) }
        guard isAsking(attempt) else { return }
        switch outcome {
        case .failure(let failure): fail(failure)
        case .success(let viewer?) where clock() < viewer.expires:
            let isTemporary = mvpd.isTempPass && viewer.kind == .regular
            await succeed(
                with: isTemporary ? viewer.temporary : viewer,
                for: requestor,
                service: service,
                attempt: attempt
            )
        case .success:
            callbacks.status(.tokenNotOnSession)
            endLogin(.notAuthenticated(.genericAuthentication, nil))
        }
    }

    /// Polls the service until the viewer has logged in elsewhere. Between polls, the task does not retain the client.
    private func poll(code: String, every interval: Duration, until expires: Timestamp?) async {
        // The limit is the expiry of the code: 30 minutes if unknown, at most 10 hours.
        let end = min(
            expires ?? clock().advanced(byMilliseconds: 1_800_000),
            clock().advanced(byMilliseconds: 36_000_000)
        )
        login?.task = Task { [weak self, sleep = settings.sleep] in
            var next: Duration? = interval
            while let delay = next {
                do { try await sleep(delay) } catch { return }
                next = await self?.askAgain(code: code, every: interval, until: end)
            }
        }
    }

    /// Asks the service once if the viewer has logged in.
    ///
    /// - Returns: The time until the next poll; `nil` if polling ends.
    private func askAgain(code: String, every interval: Duration, until end: Timestamp) async -> Duration? {
        guard case .navigating(let mvpd, code, let requestor, let service) = login?.stage else { return nil }
        guard clock() < end else {
            callbacks.status(
                .registrationFault,
                message: "the registration code expired before a login; start the login again"
            )
            endLogin(.notAuthenticated(.genericAuthentication, nil))
            return nil
        }
        // The next poll is the retry.
        let interface = interface(service, requestor: requestor.id, data: data(for: mvpd), retries: false)
        let outcome = await result { () throws(ServiceFailure) in try await interface.viewer(mvpd.id, code: code) }
        guard case .navigating(_, code, _, _) = login?.stage else { return nil }
        switch outcome {
        case .success(let viewer?) where clock() < viewer.expires:
            let attempt = nextNumber()
            login?.stage = .asking(attempt)
            await succeed(with: viewer, for: requestor, service: service, attempt: attempt)
            return nil
        case .success: return interval
        case .failure(let failure) where failure.isRetried || failure.kind == .throttled:
            // A temporary fault or throttling does not end the login.
            return max(failure.retryAfter ?? interval, failure.kind == .throttled ? interval * 2 : interval)
        case .failure(let failure):
            fail(failure)
            return nil
        }
    }

    /// Ends a login successfully. The viewer is saved before the delegate is called.
    private func succeed(
        with known: KnownViewer,
        for requestor: ConfiguredRequestor,
        service: ServiceProvider,
        attempt: UInt64
    ) async {
        remember(known, for: requestor, service: service, isNew: true)
        await saveRecords()
        guard isAsking(attempt) else { return }
        if known.kind == .temporary { callbacks.status(.authenticatedByTempPass) }
        if known.kind == .degraded { callbacks.status(.authenticationDegraded) }
        let viewer = AuthenticatedViewer(
            mvpd: known.mvpd,
            userID: known.userID,
            expires: known.expires,
            kind: known.kind,
            isCached: false
        )
        endLogin(.authenticated(viewer))
    }

    /// Records the authenticated viewer.
    ///
    /// - Parameter isNew: True if this is not the recorded login; the grants of the recorded login are removed.
    func remember(
        _ viewer: KnownViewer,
        for requestor: ConfiguredRequestor,
        service: ServiceProvider,
        isNew: Bool
    ) {
        if isNew { forgetViewer(of: requestor.id, mvpd: viewer.mvpd) }
        records.requestors[requestor.id, default: .init()].provider = viewer.mvpd
        records.requestors[requestor.id]?.viewers[viewer.mvpd] = TokenRecords.Viewer(
            userID: viewer.userID,
            expires: viewer.expires.millisecondsSince1970,
            kind: viewer.kind.rawValue,
            service: service.url
        )
    }

    func fail(_ failure: ServiceFailure) {
        switch failure.kind {
        case .noAccess(isStatement: true): callbacks.status(.invalidSoftwareStatement, message: failure.status.message)
        case .noAccess: callbacks.status(.noAccessToken, message: failure.status.message)
        case .refused where failure.status.code.hasPrefix("temporary_access_"): callbacks.status(.tempPassExpired)
        default: callbacks.status(.authenticationFault, message: failure.status.message)
        }
        endLogin(.notAuthenticated(.genericAuthentication, failure.status))
    }

    // MARK: The end of a login

    /// Waits for the end of the current login.
    private func loginEnd() async -> AuthenticationStatus {
        let number = nextNumber()
        let flow = login?.number
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if login != nil {
                    login?.waiters[number] = continuation
                } else {
                    continuation.resume(returning: given(up: nil))
                }
                if Task.isCancelled { giveUp(number, of: flow) }
            }
        } onCancel: {
            Task { await self.giveUp(number, of: flow) }
        }
    }

    private func given(up status: Status?) -> AuthenticationStatus { .notAuthenticated(.genericAuthentication, status) }

    /// Removes one waiter. The login ends with its last waiter.
    private func giveUp(_ waiter: UInt64, of flow: UInt64?) {
        guard login?.number == flow, let continuation = login?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: given(up: nil))
        if login?.waiters.isEmpty ?? false { endLogin(given(up: nil)) }
    }

    /// Ends the current login, if any. Calls the delegate once and resumes all waiters.
    func endLogin(_ status: AuthenticationStatus) {
        let (waiters, task) = (login?.waiters ?? [:], login?.task)
        login = nil
        task?.cancel()
        tell(status)
        for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(returning: status) }
    }

    /// Ends a login that is obsolete.
    func abandonLogin() { if login != nil { endLogin(given(up: nil)) } }

    // MARK: The known viewer

    var notConfigured: AuthenticationStatus {
        if case .failed(let status) = configuration { return .notAuthenticated(.genericAuthentication, status) }
        return .notAuthenticated(.genericAuthentication, Status(.requestorNotConfigured, by: .client))
    }

    /// Returns the viewer who is authenticated with the selected provider, from the client's own records.
    func knownViewer(_ requestor: ConfiguredRequestor) -> AuthenticatedViewer? {
        guard let id = records.requestors[requestor.id]?.provider, let service = requestor.services[id],
            let viewer = records.viewer(of: requestor.id, mvpd: id, at: clock()),
            // A viewer of another service is another viewer.
            viewer.service == service.url
        else { return nil }
        return AuthenticatedViewer(
            mvpd: id,
            userID: viewer.userID,
            expires: Timestamp(millisecondsSince1970: viewer.expires),
            kind: Profile.Kind(rawValue: viewer.kind),
            isCached: true
        )
    }

    /// Reports the status to the delegate and to analytics.
    @discardableResult
    func tell(_ status: AuthenticationStatus) -> AuthenticationStatus {
        callbacks.call { await $0.setAuthenticationStatus(status.status, errorCode: status.errorCode) }
        callbacks.tracking(.authentication(status.viewer?.tracked, options.device))
        return status
    }
}

extension AuthenticatedViewer {
    /// The viewer in the form for analytics.
    var tracked: TrackingEvent.Viewer {
        .init(mvpd: mvpd, hashedGUID: userID.isEmpty ? "" : MD5.hexadecimal(userID), isCached: isCached)
    }
}

extension String {
    /// True if this URL equals `other`, or extends it at a `/`, `?` or `#`.
    package func isAtOrBelow(_ other: String) -> Bool {
        guard utf8.starts(with: other.utf8) else { return false }
        guard let next = utf8.dropFirst(other.utf8.count).first else { return true }
        return other.hasSuffix("/") || [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(next)
    }
}
