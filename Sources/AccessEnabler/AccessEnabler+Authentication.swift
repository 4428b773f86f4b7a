// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// A login, from the picker to the answer.
struct LoginFlow {
    let number: UInt64
    /// The application's own words for it.
    let data: [String: String]
    /// Whether the viewer logs in although somebody is authenticated.
    var isForced = false
    var stage = Stage.picking
    /// Who waits for the answer.
    var waiters: [UInt64: CheckedContinuation<AuthenticationStatus, Never>] = [:]

    enum Stage {
        /// The viewer chooses a provider.
        case picking
        /// The service is asked. With a number: choosing anew makes what comes back of no account.
        case asking(UInt64)
        /// The viewer logs in; somebody will say when that is done.
        case navigating(MVPD, code: String, ConfiguredRequestor, ServiceProvider)
    }

    /// What goes on beside the application, and ends with the login.
    var task: Task<Void, Never>?
}

extension AccessEnabler {
    /// Whether the viewer is authenticated, as far as is known here: the documented `checkAuthentication`. Asks nobody.
    ///
    /// - Returns: What ``EntitlementDelegate/setAuthenticationStatus(_:errorCode:)`` says too, in typed form.
    @discardableResult
    public func checkAuthentication() async -> AuthenticationStatus {
        guard let requestor = await configured() else { return tell(notConfigured) }
        guard let viewer = knownViewer(requestor) else {
            callbacks.status(.notAuthenticated)
            return tell(.notAuthenticated(.userNotAuthenticated, nil))
        }
        return tell(.authenticated(viewer))
    }

    /// Authenticates the viewer: the documented `getAuthentication`, `getAuthentication:withData:` and those with a filter.
    ///
    /// Where the viewer is authenticated already, says so. Otherwise the delegate is told to show the picker, then a browser,
    /// and this returns when the viewer is through, or gives up. Who calls it while a login is under way waits for that one,
    /// as it was begun. A task that is cancelled gives up; the login ends where nobody else waits for it.
    ///
    /// - Parameters:
    ///   - force: Whether to authenticate also where the viewer is already; the service is told of a logout first.
    ///   - data: The application's own words for the service, as promotional temporary access needs them.
    ///   - filter: Which providers the platform's own picker shows.
    /// - Returns: What ``EntitlementDelegate/setAuthenticationStatus(_:errorCode:)`` says too, in typed form.
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
            let number = nextNumber()
            login = LoginFlow(number: number, data: data, isForced: force)
            let able = ProviderFilter.apply(filter, to: requestor.mvpds)
            if let platform, !able.all.isEmpty {
                login?.task = Task { await self.signOn(platform, able.all, featured: able.featured, requestor, number) }
            } else {
                showPicker(requestor)
            }
        }
        return await loginEnd()
    }

    /// Chooses the provider, and goes on to its login: the documented `setSelectedProvider:`.
    ///
    /// - Parameter id: The provider's id; nil where the viewer left the picker, which ends the login.
    public func setSelectedProvider(_ id: String?) async {
        guard let id else {
            // Also where a browser is closed in the middle of a logout.
            if login == nil, let logoutFlow { return endLogout(logoutFlow.number) }
            return endLogin(.notAuthenticated(.providerNotSelected, nil))
        }
        guard let requestor = await configured() else { return endLogin(notConfigured) }
        guard let mvpd = requestor.mvpd(id) else {
            endLogin(.notAuthenticated(.providerNotAvailable, nil))
            return
        }
        callbacks.tracking(.providerSelection(mvpd: mvpd.id, options.device))
        // Of its own: a browser's task that ends does not end the login.
        await Task { await self.beginLogin(mvpd, requestor) }.value
    }

    /// Goes on after the browser has come to the redirect URL, in a login or a logout: the documented `handleExternalURL:`.
    ///
    /// - Parameter url: Where the browser was sent.
    /// - Returns: Whether it is a redirect URL that something here waits for.
    @discardableResult
    public func handleExternalURL(_ url: String) async -> Bool {
        guard url.isAtOrBelow(options.redirectURL) else { return false }
        if let logoutFlow {
            endLogout(logoutFlow.number)
            return true
        }
        guard case .navigating(let mvpd, let code, let requestor, let service) = login?.stage else { return false }
        await Task { await self.finishLogin(mvpd, code: code, requestor, service) }.value
        return true
    }

    // MARK: The steps of a login

    func showPicker(_ requestor: ConfiguredRequestor) {
        let mvpds = requestor.mvpds
        callbacks.call { await $0.displayProviderDialog(mvpds) }
    }

    func beginLogin(_ mvpd: MVPD, _ requestor: ConfiguredRequestor) async {
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
            redirectURL: options.redirectURL,
            data: login?.data ?? [:]
        )
        let outcome: Result<LoginStep, ServiceFailure>
        do throws(ServiceFailure) {
            let interface = interface(service, requestor: requestor.id, identity: request.data.base64JSON)
            // By v2, who is known is not asked to log in.
            if login?.isForced ?? false { _ = try? await interface.logout(mvpd.id, redirectURL: options.redirectURL) }
            outcome = .success(try await interface.beginLogin(request))
        } catch { outcome = .failure(error) }
        guard isAsking(attempt) else { return }
        switch outcome {
        case .failure(let failure): fail(failure)
        case .success(.done): await finishLogin(mvpd, code: nil, requestor, service)
        case .success(.navigate(let url, let code, let expires)):
            login?.stage = .navigating(mvpd, code: code, requestor, service)
            switch options.login {
            case .browser:
                let useSVC = options.handleSVC
                callbacks.call { await $0.navigateToURL(url, useSVC: useSVC) }
            case .secondScreen(let interval):
                callbacks.status(.registrationCode, code)
                await poll(code: code, every: max(interval, .seconds(1)), until: expires)
            }
        }
    }

    func isAsking(_ attempt: UInt64) -> Bool {
        if case .asking(attempt) = login?.stage { return true }
        return false
    }

    /// Asks the service who is authenticated now.
    func finishLogin(
        _ mvpd: MVPD,
        code: String?,
        _ requestor: ConfiguredRequestor,
        _ service: ServiceProvider
    ) async {
        let attempt = nextNumber()
        login?.stage = .asking(attempt)
        let outcome: Result<KnownViewer?, ServiceFailure>
        do throws(ServiceFailure) {
            // By v1, a code is for the device that showed it to a viewer; a browser here is this device.
            let code = service.interface == .v1 && options.login == .browser ? nil : code
            let interface = interface(service, requestor: requestor.id, identity: login?.data.base64JSON)
            outcome = .success(try await interface.viewer(mvpd.id, code: code))
        } catch { outcome = .failure(error) }
        guard isAsking(attempt) else { return }
        switch outcome {
        case .failure(let failure): fail(failure)
        case .success(let viewer?) where clock() < viewer.expires:
            let isTemporary = mvpd.isTempPass && viewer.kind == .regular
            await succeed(isTemporary ? viewer.temporary : viewer, requestor, service, attempt)
        case .success:
            callbacks.status(.tokenNotOnSession)
            endLogin(.notAuthenticated(.genericAuthentication, nil))
        }
    }

    /// Asks every so often whether the viewer has logged in elsewhere. Between two questions nothing keeps the client.
    private func poll(code: String, every interval: Duration, until expires: Timestamp?) async {
        // As long as a code may live at most.
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

    /// - Returns: When to ask again; nil where there is nothing more to ask.
    private func askAgain(code: String, every interval: Duration, until end: Timestamp) async -> Duration? {
        guard case .navigating(let mvpd, code, let requestor, let service) = login?.stage else { return nil }
        guard clock() < end else {
            callbacks.status(.registrationFault, "nobody has logged in by the code in time")
            endLogin(.notAuthenticated(.genericAuthentication, nil))
            return nil
        }
        let interface = interface(service, requestor: requestor.id, identity: login?.data.base64JSON)
        let outcome: Result<KnownViewer?, ServiceFailure>
        do throws(ServiceFailure) { outcome = .success(try await interface.viewer(mvpd.id, code: code)) } catch {
            outcome = .failure(error)
        }
        guard case .navigating(_, code, _, _) = login?.stage else { return nil }
        switch outcome {
        case .success(let viewer?) where clock() < viewer.expires:
            let attempt = nextNumber()
            login?.stage = .asking(attempt)
            await succeed(viewer, requestor, service, attempt)
            return nil
        case .success: return interval
        case .failure(let failure) where failure.isRetried || failure.kind == .throttled:
            // What may pass, and being asked too often, is no reason to give up.
            return max(failure.retryAfter ?? interval, failure.kind == .throttled ? interval * 2 : interval)
        case .failure(let failure):
            fail(failure)
            return nil
        }
    }

    /// Ends a login with a viewer, who is kept before anybody is told.
    private func succeed(
        _ known: KnownViewer,
        _ requestor: ConfiguredRequestor,
        _ service: ServiceProvider,
        _ attempt: UInt64
    ) async {
        remember(known, requestor, service, isNew: true)
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

    /// Keeps who is authenticated.
    ///
    /// - Parameter isNew: Whether this is another login than the one that is known: then what was granted before is not of it.
    func remember(
        _ viewer: KnownViewer,
        _ requestor: ConfiguredRequestor,
        _ service: ServiceProvider,
        isNew: Bool
    ) {
        let identity = login.map(\.data.base64JSON) ?? identity(requestor, viewer.mvpd)
        if isNew { forgetViewer(requestor.id, viewer.mvpd) }
        records.requestors[requestor.id, default: .init()].provider = viewer.mvpd
        records.requestors[requestor.id]?.viewers[viewer.mvpd] = TokenRecords.Viewer(
            userID: viewer.userID,
            expires: viewer.expires.millisecondsSince1970,
            kind: viewer.kind.rawValue,
            service: service.url,
            identity: identity
        )
    }

    func fail(_ failure: ServiceFailure) {
        switch failure.kind {
        case .noAccess(isStatement: true): callbacks.status(.invalidSoftwareStatement, failure.status.message)
        case .noAccess: callbacks.status(.noAccessToken, failure.status.message)
        case .refused where failure.status.code.hasPrefix("temporary_access_"): callbacks.status(.tempPassExpired)
        default: callbacks.status(.authenticationFault, failure.status.message)
        }
        endLogin(.notAuthenticated(.genericAuthentication, failure.status))
    }

    // MARK: The end of a login

    /// Waits for the end of the login that is under way.
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
                if Task.isCancelled { giveUp(number, flow) }
            }
        } onCancel: {
            Task { await self.giveUp(number, flow) }
        }
    }

    private func given(up status: Status?) -> AuthenticationStatus { .notAuthenticated(.genericAuthentication, status) }

    /// Lets one go who does not want to wait any longer; the login ends with the last.
    private func giveUp(_ waiter: UInt64, _ flow: UInt64?) {
        guard login?.number == flow, let continuation = login?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: given(up: nil))
        if login?.waiters.isEmpty ?? false { endLogin(given(up: nil)) }
    }

    /// Ends a login, where there is one; tells the delegate once, and all who wait.
    func endLogin(_ status: AuthenticationStatus) {
        let (waiters, task) = (login?.waiters ?? [:], login?.task)
        login = nil
        task?.cancel()
        tell(status)
        for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(returning: status) }
    }

    /// Ends a login that makes no sense any more.
    func abandonLogin() { if login != nil { endLogin(given(up: nil)) } }

    // MARK: What is known

    var notConfigured: AuthenticationStatus {
        if case .failed(let status) = configuration { return .notAuthenticated(.genericAuthentication, status) }
        return .notAuthenticated(.genericAuthentication, Status(.requestorNotConfigured, by: .client))
    }

    /// The application's own words of the login with a provider.
    func identity(_ requestor: ConfiguredRequestor, _ mvpd: String) -> String? {
        records.requestors[requestor.id]?.viewers[mvpd]?.identity
    }

    /// Who is authenticated with the provider that is chosen, as far as is known here.
    func knownViewer(_ requestor: ConfiguredRequestor) -> AuthenticatedViewer? {
        guard let id = records.requestors[requestor.id]?.provider, let service = requestor.services[id],
            let viewer = records.viewer(requestor.id, id, at: clock()),
            // Of another service, it is another viewer.
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

    /// Tells the delegate, and analytics.
    @discardableResult
    func tell(_ status: AuthenticationStatus) -> AuthenticationStatus {
        callbacks.call { await $0.setAuthenticationStatus(status.status, errorCode: status.errorCode) }
        callbacks.tracking(.authentication(status.viewer?.tracked, options.device))
        return status
    }
}

extension AuthenticatedViewer {
    /// The viewer as analytics may know it.
    var tracked: TrackingEvent.Viewer {
        .init(mvpd: mvpd, hashedGUID: userID.isEmpty ? "" : MD5.hexadecimal(userID), isCached: isCached)
    }
}

extension String {
    /// Whether this URL is `other`, or that with more behind it that is no part of its last name.
    func isAtOrBelow(_ other: String) -> Bool {
        guard utf8.starts(with: other.utf8) else { return false }
        guard let next = utf8.dropFirst(other.utf8.count).first else { return true }
        return other.hasSuffix("/") || [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(next)
    }
}
