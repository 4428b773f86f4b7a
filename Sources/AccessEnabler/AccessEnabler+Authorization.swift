// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

extension AccessEnabler {
    /// Gets a media token for a resource, for a viewer who is authenticated: the documented `checkAuthorization:` and
    /// `checkAuthorization:withData:`. Prefer it to ``getAuthorization(_:data:)``.
    ///
    /// - Parameters:
    ///   - resource: The identifier or Media RSS fragment that was agreed with the provider.
    ///   - data: The application's data for this request: `generic_data` at the service.
    /// - Returns: The result that ``AccessEnablerDelegate/setToken(_:forResource:)`` or
    ///   ``AccessEnablerDelegate/tokenRequestFailed(_:errorCode:errorDescription:)`` also receives.
    @discardableResult
    public func checkAuthorization(_ resource: String, data: [String: String] = [:]) async -> AuthorizationStatus {
        guard let requestor = await configured() else { return notConfigured(resource) }
        guard let viewer = knownViewer(requestor) else {
            callbacks.status(.notAuthenticated)
            return notAuthenticated(for: resource, status: tell(.notAuthenticated(.userNotAuthenticated, nil)))
        }
        return await authorize(resource, data: data, for: viewer, of: requestor)
    }

    /// Gets a media token for a resource, and authenticates the viewer first if needed: the documented `getAuthorization:`
    /// and `getAuthorization:withData:`. The parameters and the result are those of ``checkAuthorization(_:data:)``.
    @discardableResult
    public func getAuthorization(_ resource: String, data: [String: String] = [:]) async -> AuthorizationStatus {
        guard let requestor = await configured() else { return notConfigured(resource) }
        if let viewer = knownViewer(requestor) {
            return await authorize(resource, data: data, for: viewer, of: requestor)
        }
        let status = await getAuthentication(data: data)
        guard status.viewer != nil else { return notAuthenticated(for: resource, status: status) }
        // The requestor or the viewer may have changed during the login.
        guard let current = await configured(), current.id == requestor.id, let viewer = knownViewer(current) else {
            return notAuthenticated(for: resource, status: .notAuthenticated(.userNotAuthenticated, nil))
        }
        return await authorize(resource, data: data, for: viewer, of: current)
    }

    private func authorize(
        _ resource: String,
        data: [String: String],
        for viewer: AuthenticatedViewer,
        of requestor: ConfiguredRequestor
    ) async -> AuthorizationStatus {
        guard let service = requestor.services[viewer.mvpd] else { return notConfigured(resource) }
        let isTempPass = requestor.mvpd(viewer.mvpd)?.isTempPass ?? false
        let interface = interface(service, requestor: requestor.id, data: isTempPass ? data : [:])
        let request = AuthorizeRequest(
            mvpd: viewer.mvpd,
            resource: resource,
            data: data,
            isTemporary: viewer.kind == .temporary
        )
        let number = viewerNumber
        // If the interface issues tokens separately, a recorded grant saves the authorization request.
        let isKnown =
            interface.handsOutTokens
            && records.grant(of: requestor.id, mvpd: viewer.mvpd, for: resource, at: clock()) != nil
        do throws(ServiceFailure) {
            let token: AuthorizedToken
            do throws(ServiceFailure) {
                token = try await self.token(
                    for: request,
                    from: interface,
                    isAuthorized: isKnown,
                    requestor: requestor,
                    number: number
                )
            } catch {
                // The service may no longer have the authorization that is recorded here.
                guard isKnown, error.status.action == .authorization, number == viewerNumber else { throw error }
                records.forgetGrant(of: requestor.id, mvpd: viewer.mvpd, for: resource)
                token = try await self.token(
                    for: request,
                    from: interface,
                    isAuthorized: false,
                    requestor: requestor,
                    number: number
                )
            }
            guard let raw = token.raw else { throw .unreadable("the media token is not valid Base64", httpStatus: 200) }
            guard number == viewerNumber else { return gone(resource) }
            return tell(token, raw: raw, for: viewer, isCached: isKnown)
        } catch {
            guard number == viewerNumber else { return gone(resource) }
            return tell(
                await failure(after: error, for: resource, of: viewer, requestor: requestor),
                for: viewer,
                isCached: isKnown
            )
        }
    }

    /// Gets a new token, and requests an authorization first if there is none.
    private func token(
        for request: AuthorizeRequest,
        from interface: any EntitlementInterface,
        isAuthorized: Bool,
        requestor: ConfiguredRequestor,
        number: UInt64
    ) async throws(ServiceFailure) -> AuthorizedToken {
        if isAuthorized { return try await interface.mediaToken(request) }
        let authorized = try await interface.authorize(request)
        if number == viewerNumber {
            if authorized.source == .degradation {
                callbacks.status(.authorizationDegraded, resource: request.resource)
            }
            if authorized.source == .tempPass { callbacks.status(.authorizedByTempPass, resource: request.resource) }
            if let expires = authorized.expires {
                records.remember(
                    grantOf: requestor.id,
                    mvpd: request.mvpd,
                    for: request.resource,
                    until: expires,
                    at: clock()
                )
                await saveRecords()
            }
        }
        if let token = authorized.token { return token }
        return try await interface.mediaToken(request)
    }

    // MARK: Refusals

    /// Creates the failure for a viewer who has left in the meantime. The response of the service is discarded.
    private func gone(_ resource: String) -> AuthorizationStatus {
        notAuthenticated(for: resource, status: .notAuthenticated(.userNotAuthenticated, nil))
    }

    private func notConfigured(_ resource: String) -> AuthorizationStatus {
        let status: Status? =
            if case .failed(let status) = configuration { status } else { Status(.requestorNotConfigured, by: .client) }
        return tell(
            AuthorizationFailure(
                resource: resource,
                errorCode: .genericAuthorization,
                errorDescription: "",
                status: status
            )
        )
    }

    private func notAuthenticated(for resource: String, status: AuthenticationStatus) -> AuthorizationStatus {
        var known: Status?
        if case .notAuthenticated(_, let said) = status { known = said }
        return tell(
            AuthorizationFailure(
                resource: resource,
                errorCode: status.errorCode,
                errorDescription: "",
                status: known
            )
        )
    }

    private func failure(
        after failure: ServiceFailure,
        for resource: String,
        of viewer: AuthenticatedViewer,
        requestor: ConfiguredRequestor
    ) async -> AuthorizationFailure {
        // A fault does not affect the recorded grants.
        if failure.isDenial || failure.status.action == .authorization {
            records.forgetGrant(of: requestor.id, mvpd: viewer.mvpd, for: resource)
        }
        if failure.needsAuthentication { forgetViewer(of: requestor.id, mvpd: viewer.mvpd) }
        await saveRecords()
        callbacks.status(failure.authorizationStatusID, message: failure.status.message, resource: resource)
        return AuthorizationFailure(
            resource: resource,
            errorCode: failure.needsAuthentication
                ? .userNotAuthenticated : failure.isDenial ? .userNotAuthorized : .genericAuthorization,
            errorDescription: failure.description,
            status: failure.status
        )
    }

    // MARK: Reports to the delegate

    private func tell(
        _ token: AuthorizedToken,
        raw: String,
        for viewer: AuthenticatedViewer,
        isCached: Bool
    ) -> AuthorizationStatus {
        callbacks.call { await $0.setToken(raw, forResource: token.resource) }
        track(viewer, isCached: isCached, failure: nil)
        return .token(token)
    }

    private func tell(
        _ failure: AuthorizationFailure,
        for viewer: AuthenticatedViewer? = nil,
        isCached: Bool = false
    ) -> AuthorizationStatus {
        callbacks.call { delegate in
            await delegate.tokenRequestFailed(
                failure.resource,
                errorCode: failure.errorCode,
                errorDescription: failure.errorDescription
            )
        }
        track(viewer, isCached: isCached, failure: failure)
        return .failed(failure)
    }

    /// Reports to analytics. The flag says if the authorization was recorded here, independently of the login.
    private func track(_ viewer: AuthenticatedViewer?, isCached: Bool, failure: AuthorizationFailure?) {
        var tracked = viewer?.tracked ?? .init(mvpd: "", hashedGUID: "", isCached: false)
        tracked.isCached = isCached
        callbacks.tracking(
            .authorization(
                isSuccess: failure == nil,
                tracked,
                error: failure?.errorCode.rawValue ?? "",
                details: failure?.errorDescription ?? "",
                options.device
            )
        )
    }
}

extension ServiceFailure {
    /// True if the service, the provider or a rule denies the resource.
    fileprivate var isDenial: Bool {
        kind == .refused && (status.code.contains("_denied_by_") || status.status == 403 && status.action == .noAction)
    }

    /// The text for the viewer: the provider's, or a notice of a fault or of a rule, for which a provider has none. A denial without a
    /// text stays without one.
    fileprivate var description: String {
        if let details = status.details, !details.isEmpty { return details }
        let isPlainDenial = isDenial && status.knownCode != .authorizationDeniedByDegradationRule
        return isPlainDenial || needsAuthentication ? "" : status.message ?? ""
    }

    /// The documented id of the reason for which there is no token.
    fileprivate var authorizationStatusID: AdvancedStatus.DocumentedID {
        switch (kind, status.knownCode) {
        case (.throttled, _): .notAuthorized
        case (.noAccess(isStatement: true), _): .invalidSoftwareStatement
        case (.noAccess, _): .noAccessToken
        case (.unreachable, _), (.cancelled, _): .providerUnreachable
        case (.unreadable, _): .authorizationFault
        case (.refused, .authorizationDeniedByDegradationRule): .authorizationRefusedByRule
        case (.refused, .temporaryAccessDurationLimitExceeded), (.refused, .temporaryAccessResourcesLimitExceeded):
            .tempPassExpired
        case (.refused, .invalidParameterResources), (.refused, .missingResource),
            (.refused, .malformedAuthorizationRequest):
            .invalidResource
        case (.refused, .networkReceivedError), (.refused, .networkConnectionTimeout),
            (.refused, .maximumExecutionTimeExceeded):
            .providerUnreachable
        case (.refused, _): isDenial || needsAuthentication ? .notAuthorized : .authorizationFault
        }
    }
}
