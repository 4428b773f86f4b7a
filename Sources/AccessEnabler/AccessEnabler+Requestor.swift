// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

extension AccessEnabler {
    /// Sets the requestor of the application and gets its configuration: the documented `setRequestor:` and
    /// `setRequestor:serviceProviders:`.
    ///
    /// All services are queried concurrently. Each provider belongs to the service that named it first, and all its requests
    /// go to that service. A repeated call with the same requestor, for example when an application comes to the foreground,
    /// also synchronises logins and logouts from elsewhere. The last call wins.
    ///
    /// - Parameters:
    ///   - id: The requestor's id: the audience of every token.
    ///   - serviceProviders: The services, at least one.
    /// - Returns: The result. The callbacks are ``AccessEnablerDelegate/setRequestorComplete(_:)``, and
    ///   ``AccessEnablerDelegate/status(_:)`` for each service that failed.
    @discardableResult
    public func setRequestor(
        _ id: String,
        serviceProviders: [ServiceProvider] = [.production]
    ) async -> RequestorStatus {
        let number = nextNumber()
        latestRequestor = number
        // A superseded call is reported before the call that supersedes it.
        if isRequestorPending { callbacks.call { await $0.setRequestorComplete(.error) } }
        isRequestorPending = true
        let isRepeated = requestorID == id
        if !isRepeated {
            requestorID = id
            abandonLogin()
            beginViewer()
            configuration = .underway
        } else if case .failed = configuration {
            configuration = .underway
        }
        await loadRecords()
        let answers = await ask(serviceProviders, requestor: id)
        guard latestRequestor == number else { return Self.overtaken }
        let kept = records.requestors[id]?.viewers.mapValues(\.service) ?? [:]
        let (requestor, failures) = Self.merge(answers, requestor: id, kept: kept)
        for failure in failures { report(failure) }
        guard let requestor else {
            let status = failures.first?.status ?? Self.overtaken.failures[0]
            // An earlier configuration of this requestor stays active.
            if !configuration.isReady { configuration = .failed(status) }
            return complete(with: nil, failures: failures.map(\.status))
        }
        if isRepeated { await synchronise(requestor) }
        guard latestRequestor == number else { return Self.overtaken }
        configuration = .ready(requestor)
        return complete(with: requestor, failures: failures.map(\.status))
    }

    /// The status of a call that is superseded by another one, or that names no service.
    private static let overtaken = RequestorStatus(
        status: .error,
        mvpds: [],
        failures: [
            Status(.requestorNotConfigured, by: .client, message: "a later call set it, or no service was given")
        ]
        .compactMap(\.self)
    )

    private func complete(with requestor: ConfiguredRequestor?, failures: [Status]) -> RequestorStatus {
        let status: AccessEnablerStatus = requestor == nil ? .error : .success
        isRequestorPending = false
        callbacks.call { await $0.setRequestorComplete(status) }
        if !configuration.isAwaited { wakeAll() }
        return RequestorStatus(status: status, mvpds: requestor?.mvpds ?? [], failures: failures)
    }

    /// The response of a service, with the service.
    typealias Answer = (ServiceProvider, Result<ServiceConfiguration, ServiceFailure>)

    /// Queries all services concurrently. The answers are in the order of arrival. After the first success, the other
    /// services have the time ``grace``.
    private func ask(_ providers: [ServiceProvider], requestor id: String) async -> [Answer] {
        await withTaskGroup(of: Answer?.self) { group in
            for provider in providers {
                let interface = interface(provider, requestor: id)
                group.addTask { (provider, await Self.configuration(interface, requestor: id)) }
            }
            var answers: [Answer] = []
            var isSettled = false
            while answers.count < providers.count, let answer = await group.next() {
                guard let answer else { break }
                answers.append(answer)
                if case .success = answer.1, !isSettled {
                    isSettled = true
                    group.addTask {
                        try? await Task.sleep(for: Self.grace)
                        return nil
                    }
                }
            }
            group.cancelAll()
            let missing = providers.filter { provider in !answers.contains { $0.0 == provider } }
            return answers + missing.map { ($0, .failure(.unreachable("the service did not answer in time"))) }
        }
    }

    /// The time that the other services have after the first success.
    private static let grace = Duration.seconds(2)

    private static func configuration(
        _ interface: any EntitlementInterface,
        requestor id: String
    ) async -> Result<ServiceConfiguration, ServiceFailure> {
        await result { () throws(ServiceFailure) in
            let configuration = try await interface.configuration()
            guard configuration.id.utf8.elementsEqual(id.utf8) else {
                throw .unreadable("the configuration is for another requestor", httpStatus: 200)
            }
            return configuration
        }
    }

    /// Merges the providers of all services. The answers are in the order of arrival.
    ///
    /// - Parameter kept: The URLs of the services that have authenticated a viewer, keyed by provider id. Those providers
    ///   stay bound to them, in any order of arrival.
    static func merge(
        _ answers: [Answer],
        requestor id: String,
        kept: [String: String] = [:]
    ) -> (ConfiguredRequestor?, failures: [ServiceFailure]) {
        var (mvpds, services): ([MVPD], [String: ServiceProvider]) = ([], [:])
        var domains: [ServiceProvider: String] = [:]
        var failures: [ServiceFailure] = []
        var isAnswered = false
        for (provider, answer) in answers {
            switch answer {
            case .failure(let failure): failures.append(failure)
            case .success(let configuration):
                isAnswered = true
                domains[provider] = configuration.domains.first?.name
                for mvpd in configuration.mvpds where services[mvpd.id] == nil {
                    services[mvpd.id] = provider
                    mvpds.append(mvpd)
                }
                for mvpd in configuration.mvpds where kept[mvpd.id] == provider.url { services[mvpd.id] = provider }
            }
        }
        guard isAnswered else { return (nil, failures) }
        return (ConfiguredRequestor(id: id, mvpds: mvpds, services: services, domains: domains), failures)
    }

    /// Synchronises with the service: a login elsewhere that authenticates the viewer here too, or a logout. The result is
    /// discarded if a login or a logout happens here in the meantime.
    private func synchronise(_ requestor: ConfiguredRequestor) async {
        let number = viewerNumber
        let chosen = records.requestors[requestor.id]?.provider.flatMap { requestor.mvpd($0)?.id }
        let services = chosen.flatMap { requestor.services[$0] }.map { [$0] } ?? Array(Set(requestor.services.values))
        for service in services {
            do throws(ServiceFailure) {
                let interface = interface(service, requestor: requestor.id)
                let found = try await interface.viewer(chosen, code: nil)
                guard viewerNumber == number, login == nil, logoutFlow == nil else { return }
                if let found, requestor.services[found.mvpd] == service, clock() < found.expires {
                    let isNew = knownViewer(requestor)?.userID != found.userID
                    remember(found, for: requestor, service: service, isNew: isNew)
                    break
                }
                if found == nil, let chosen { forgetViewer(of: requestor.id, mvpd: chosen) }
            } catch {}  // If the service cannot be queried, the records stay.
        }
        await saveRecords()
    }

    /// Reports the reason why a service gave no configuration.
    private func report(_ failure: ServiceFailure) {
        let id: AdvancedStatus.DocumentedID =
            switch (failure.kind, failure.httpStatus) {
            case (.noAccess(isStatement: true), _): .invalidSoftwareStatement
            case (.noAccess, _): .noAccessToken
            case (.throttled, _): .throttled
            case (.unreachable, _), (.cancelled, _), (_, 404): .unreachable
            case (_, 403): .notAllowed
            case (_, 410): .gone
            case (_, 400...499): .invalidRequestor
            default: .configurationFault
            }
        callbacks.status(id, message: failure.status.message)
    }
}
