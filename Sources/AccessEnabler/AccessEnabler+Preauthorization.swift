// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
internal import Platform

extension AccessEnabler {
    /// Returns the resources that the viewer may see, for lock icons: the documented `preauthorize:didCompleteWith:`.
    ///
    /// **Never a reason to play**; only a media token is. It does not wait for a configuration: without one it fails with
    /// `StatusCode.requestorNotConfigured`, or with the status of the configuration that failed.
    ///
    /// - Parameter request: The resources, at most as many as the service accepts in one request (usually 5).
    /// - Returns: The decisions in the order of the request, or the reason why there are none. The reason is a response
    ///   from the service, or a failure in the client.
    public func preauthorize(_ request: PreauthorizeRequest) async -> AccessEnablerResult<PreauthorizeResponse> {
        guard case .ready(let requestor) = configuration else { return unconfigured }
        guard let viewer = knownViewer(requestor), let service = requestor.services[viewer.mvpd] else {
            let chosen = records.requestors[requestor.id]?.provider
            let isKnown = chosen.flatMap { records.requestors[requestor.id]?.viewers[$0] } != nil
            return Self.failure(isKnown ? .authenticationSessionExpired : .authenticationSessionMissing)
        }
        let usesCache = !request.disabledFeatures.contains(.localCache)
        let known = usesCache ? preauthorizations.decisions(for: request.resources, at: clock()) : [:]
        var decisions = known
        let unknown = request.resources.filter { known[ResourceName($0)] == nil }.uniqued
        if !unknown.isEmpty {
            let number = viewerNumber
            do throws(ServiceFailure) {
                let found = try await ask(
                    PreauthorizeQuery(
                        mvpd: viewer.mvpd,
                        resources: unknown,
                        usesRemoteCache: !request.disabledFeatures.contains(.remoteCache)
                    ),
                    at: service,
                    for: requestor
                )
                // A response for a viewer who has left in the meantime is neither returned nor cached.
                guard number == viewerNumber else {
                    return Self.failure(.authenticationSessionMissing, message: Self.left)
                }
                for decision in found { decisions[ResourceName(decision.id)] = decision }
                let end = clock().advanced(byMilliseconds: options.preauthorizationLife.wholeMilliseconds)
                preauthorizations.remember(found, until: min(end, viewer.expires))
            } catch {
                guard number == viewerNumber else {
                    return Self.failure(.authenticationSessionMissing, message: Self.left)
                }
                return await failure(after: error, of: viewer, requestor: requestor)
            }
        }
        return .response(
            PreauthorizeResponse(decisions: request.resources.compactMap { decisions[ResourceName($0)] })
        )
    }

    /// Returns those of the resources that the viewer may see: the documented `checkPreauthorizedResources:` and
    /// `checkPreauthorizedResources:cache:`.
    ///
    /// - Parameters:
    ///   - resources: The resources, at most as many as the service accepts in one request.
    ///   - cache: True if cached decisions may be returned.
    /// - Returns: The list that ``AccessEnablerDelegate/preauthorizedResources(_:)`` also receives. It is empty if there is no
    ///   answer; ``AccessEnablerDelegate/status(_:)`` then reports the reason: `P100`, `N000`, `R401` or `500`.
    @discardableResult
    public func checkPreauthorizedResources(_ resources: [String], cache: Bool = true) async -> [String] {
        _ = await configured()
        let request = PreauthorizeRequest(resources: resources, disabling: cache ? [] : [.localCache])
        let answer = await preauthorize(request).value
        switch answer.status?.knownCode {
        case nil where answer.status == nil: break
        case .tooManyResources: break  // Reported already.
        case .authenticationSessionMissing, .authenticationSessionExpired: callbacks.status(.notAuthenticated)
        case .accessTokenUnavailable: callbacks.status(.noAccessToken, message: answer.status?.message)
        default: callbacks.status(.serverError, message: answer.status?.message)
        }
        let allowed = answer.decisions.filter(\.isAuthorized).map(\.id)
        callbacks.call { await $0.preauthorizedResources(allowed) }
        return allowed
    }

    // MARK: Requests

    /// Sends the request, and retries it if there is no response. Of a response, only the resources whose decision has
    /// the action `retry` or `retry-after` are sent again.
    private func ask(
        _ query: PreauthorizeQuery,
        at service: ServiceProvider,
        for requestor: ConfiguredRequestor
    ) async throws(ServiceFailure) -> [PreauthorizeResponse.Decision] {
        let interface = interface(service, requestor: requestor.id, retries: false)
        var decided: [PreauthorizeResponse.Decision] = []
        var open = query.resources
        var attempts = Attempts(settings)
        while true {
            let query = PreauthorizeQuery(
                mvpd: query.mvpd,
                resources: open,
                usesRemoteCache: query.usesRemoteCache
            )
            let answer: PreauthorizeResponse
            do throws(ServiceFailure) { answer = try await interface.preauthorize(query).asDocumented } catch {
                guard error.isRetried, try await attempts.next(after: error.retryAfter) else { throw error }
                continue
            }
            if let status = answer.status { throw ServiceFailure(status, httpStatus: 200) }
            let requested = Set(open.map { ResourceName($0) })
            guard answer.decisions.count == requested.count,
                Set(answer.decisions.map { ResourceName($0.id) }) == requested
            else {
                throw .unreadable("the response does not have exactly one decision for each resource", httpStatus: 200)
            }
            let again = answer.decisions.filter { $0.error?.action == .retry || $0.error?.action == .retryAfter }
            guard !again.isEmpty, try await attempts.next() else { return decided + answer.decisions }
            let names = Set(again.map { ResourceName($0.id) })
            decided += answer.decisions.filter { !names.contains(ResourceName($0.id)) }
            open = again.map(\.id)
        }
    }

    private func failure(
        after failure: ServiceFailure,
        of viewer: AuthenticatedViewer,
        requestor: ConfiguredRequestor
    ) async -> AccessEnablerResult<PreauthorizeResponse> {
        if failure.status.knownCode == .tooManyResources || failure.kind == .throttled {
            callbacks.status(.tooManyResources, message: failure.status.message)
        }
        if failure.needsAuthentication {
            forgetViewer(of: requestor.id, mvpd: viewer.mvpd)
            await saveRecords()
        }
        let answer = PreauthorizeResponse(decisions: [], status: failure.status)
        return failure.status.status == 0 ? .failure(answer) : .response(answer)
    }

    /// The answer without a configuration: it was not requested, it is not complete, or it failed.
    private var unconfigured: AccessEnablerResult<PreauthorizeResponse> {
        guard case .failed(let status) = configuration else {
            let isUnderway = if case .underway = configuration { true } else { false }
            return Self.failure(
                .requestorNotConfigured,
                message: isUnderway ? "setRequestor is not complete" : "no requestor was set"
            )
        }
        // A status with the HTTP status 0 is the client's own.
        let answer = PreauthorizeResponse(decisions: [], status: status)
        return status.status == 0 ? .failure(answer) : .response(answer)
    }

    private static let left = "the viewer logged out during the request"

    private static func failure(
        _ code: StatusCode,
        message: String? = nil
    ) -> AccessEnablerResult<PreauthorizeResponse> {
        .failure(PreauthorizeResponse(decisions: [], status: Status(code, by: .client, message: message)))
    }
}

/// A resource, compared by its bytes: `String` equality treats different spellings of a character as equal.
struct ResourceName: Hashable {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }
}

extension [String] {
    /// The distinct elements, in their order.
    fileprivate var uniqued: [String] {
        var seen: Set<ResourceName> = []
        return filter { seen.insert(ResourceName($0)).inserted }
    }
}

extension Duration {
    /// The duration in milliseconds, from 0 to one day.
    fileprivate var wholeMilliseconds: Int64 {
        min(max(self, .zero), .seconds(86_400)).milliseconds
    }
}

/// The recent decisions about one viewer.
struct PreauthorizationCache {
    /// The maximum number of cached decisions. If it would be exceeded, the cache is emptied first.
    static let capacity = 1024

    private var entries: [ResourceName: (decision: PreauthorizeResponse.Decision, end: Timestamp)] = [:]
    func decisions(for resources: [String], at now: Timestamp) -> [ResourceName: PreauthorizeResponse.Decision] {
        var found: [ResourceName: PreauthorizeResponse.Decision] = [:]
        for resource in resources {
            let name = ResourceName(resource)
            if let entry = entries[name], now < entry.end { found[name] = entry.decision }
        }
        return found
    }

    /// Caches decisions, except those that failed and may be retried.
    mutating func remember(_ decisions: [PreauthorizeResponse.Decision], until end: Timestamp) {
        if entries.count + decisions.count > Self.capacity { entries = [:] }
        for decision in decisions where decision.isAuthorized || decision.error?.action ?? .noAction == .noAction {
            entries[ResourceName(decision.id)] = (decision, end)
        }
    }

    mutating func removeAll() { entries = [:] }
}

extension PreauthorizeResponse {
    /// The response with the code that the documents of `preauthorize` have for a denial by the provider, on any interface.
    fileprivate var asDocumented: PreauthorizeResponse {
        var response = self
        for index in response.decisions.indices
        where response.decisions[index].error?.knownCode == .preauthorizationDeniedByMVPD {
            response.decisions[index].error?.code = StatusCode.authorizationDeniedByMVPD.rawValue
        }
        return response
    }
}
