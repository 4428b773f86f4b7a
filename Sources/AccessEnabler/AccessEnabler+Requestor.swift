// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

extension AccessEnabler {
    /// Says which programmer the application is of, and gets the configuration: the documented `setRequestor:`, and
    /// `setRequestor:serviceProviders:`.
    ///
    /// All services are asked at once. Each provider belongs to the service that named it first, and all that concerns it
    /// is asked there. Called again with the same requestor, as when an application comes to the foreground, it also learns
    /// of logins and logouts elsewhere. The last call counts.
    ///
    /// - Parameters:
    ///   - id: The requestor's id: the audience of every token.
    ///   - serviceProviders: The services, at least one.
    /// - Returns: What became of it; the callback is ``EntitlementDelegate/setRequestorComplete(_:)``, and
    ///   ``EntitlementDelegate/status(_:)`` for each service that failed.
    @discardableResult
    public func setRequestor(
        _ id: String,
        serviceProviders: [ServiceProvider] = [.production]
    ) async -> RequestorStatus {
        let number = nextNumber()
        latestRequestor = number
        // A call that is overtaken is answered before the one that has overtaken it.
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
            // What is known of this requestor from before is better than nothing.
            if !configuration.isReady { configuration = .failed(status) }
            return complete(nil, failures.map(\.status))
        }
        if isRepeated { await synchronise(requestor) }
        guard latestRequestor == number else { return Self.overtaken }
        configuration = .ready(requestor)
        return complete(requestor, failures.map(\.status))
    }

    /// What a call is told that another one has overtaken, or that named no service.
    private static let overtaken = RequestorStatus(
        status: .error,
        mvpds: [],
        failures: [
            Status(
                status: 0,
                code: StatusCode.requestorNotConfigured.rawValue,
                message: "the requestor was set anew meanwhile, or no service was named",
                action: .retry
            )
        ]
    )

    private func complete(_ requestor: ConfiguredRequestor?, _ failures: [Status]) -> RequestorStatus {
        let status: AccessEnablerStatus = requestor == nil ? .error : .success
        isRequestorPending = false
        callbacks.call { await $0.setRequestorComplete(status) }
        if !configuration.isAwaited { wakeAll() }
        return RequestorStatus(status: status, mvpds: requestor?.mvpds ?? [], failures: failures)
    }

    /// What a service says, and which.
    typealias Answer = (ServiceProvider, Result<ServiceConfiguration, ServiceFailure>)

    /// Asks all services at once. The answers are in the order in which they came; when one service has answered, the others
    /// have a little while, and no longer.
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
            return answers + missing.map { ($0, .failure(.unreachable("the service is slower than the others"))) }
        }
    }

    /// How long services have that are slower than the first.
    private static let grace = Duration.seconds(2)

    private static func configuration(
        _ interface: any EntitlementInterface,
        requestor id: String
    ) async -> Result<ServiceConfiguration, ServiceFailure> {
        do throws(ServiceFailure) {
            let configuration = try await interface.configuration()
            guard configuration.id.utf8.elementsEqual(id.utf8) else {
                throw .unreadable("the configuration is another requestor's", httpStatus: 200)
            }
            return .success(configuration)
        } catch { return .failure(error) }
    }

    /// The providers of all services; the answers are in the order in which they came.
    ///
    /// - Parameter kept: The URLs of the services that have authenticated a viewer, by providers: those providers stay with
    ///   them, whoever is first.
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

    /// Learns of what happened elsewhere: a login by which the viewer is authenticated here too, or a logout. What happens
    /// here meanwhile counts more.
    private func synchronise(_ requestor: ConfiguredRequestor) async {
        let number = viewerNumber
        let chosen = records.requestors[requestor.id]?.provider.flatMap { requestor.mvpd($0)?.id }
        let services = chosen.flatMap { requestor.services[$0] }.map { [$0] } ?? Array(Set(requestor.services.values))
        for service in services {
            do throws(ServiceFailure) {
                let words = chosen.flatMap { identity(requestor, $0) }
                let interface = interface(service, requestor: requestor.id, identity: words)
                let found = try await interface.viewer(chosen, code: nil)
                guard viewerNumber == number, login == nil, logoutFlow == nil else { return }
                if let found, requestor.services[found.mvpd] == service, clock() < found.expires {
                    let isNew = knownViewer(requestor)?.userID != found.userID
                    remember(found, requestor, service, isNew: isNew)
                    break
                }
                if found == nil, let chosen { forgetViewer(requestor.id, chosen) }
            } catch {}  // What is known stays, where nobody can be asked.
        }
        await saveRecords()
    }

    /// Tells why a service gave no configuration.
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
        callbacks.status(id, failure.status.message)
    }
}
