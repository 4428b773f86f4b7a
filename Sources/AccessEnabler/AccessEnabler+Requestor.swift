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
        let isRepeated: Bool
        if case .ready(let requestor) = configuration { isRepeated = requestor.id == id } else { isRepeated = false }
        if !isRepeated { abandonLogin() }
        let number = nextNumber()
        latestRequestor = number
        configuration = .underway
        await loadRecords()
        let answers = await ask(serviceProviders, requestor: id)
        let (requestor, failures) = Self.merge(answers, requestor: id)
        for failure in failures { report(failure) }
        guard latestRequestor == number else {
            return complete(nil, [Status(.requestorNotConfigured, by: .client, message: "the requestor was set anew")])
        }
        guard let requestor else {
            let status =
                failures.first?.status ?? Status(.requestorNotConfigured, by: .client, message: "no service was named")
            if let status { configuration = .failed(status) }
            return complete(nil, failures.map(\.status))
        }
        if isRepeated { await synchronise(requestor) }
        guard latestRequestor == number else {
            return complete(nil, [Status(.requestorNotConfigured, by: .client, message: "the requestor was set anew")])
        }
        configuration = .ready(requestor)
        return complete(requestor, failures.map(\.status))
    }

    private func complete(_ requestor: ConfiguredRequestor?, _ failures: [Status?]) -> RequestorStatus {
        let status: AccessEnablerStatus = requestor == nil ? .error : .success
        callbacks.call { await $0.setRequestorComplete(status) }
        if !configuration.isAwaited { wakeAll() }
        return RequestorStatus(
            status: status,
            mvpds: requestor?.mvpds ?? [],
            failures: failures.compactMap { $0 }
        )
    }

    /// What a service says, and which.
    typealias Answer = (ServiceProvider, Result<ServiceConfiguration, ServiceFailure>)

    /// Asks all services at once. The answers are in the order in which they came.
    private func ask(_ providers: [ServiceProvider], requestor id: String) async -> [Answer] {
        await withTaskGroup(of: Answer.self) { group in
            for provider in providers {
                let interface = interface(provider, requestor: id)
                group.addTask {
                    do throws(ServiceFailure) {
                        let configuration = try await interface.configuration()
                        guard configuration.id.utf8.elementsEqual(id.utf8) else {
                            throw .unreadable("the configuration is another requestor's", httpStatus: 200)
                        }
                        return (provider, .success(configuration))
                    } catch { return (provider, .failure(error)) }
                }
            }
            var answers: [Answer] = []
            for await answer in group { answers.append(answer) }
            return answers
        }
    }

    /// The providers of all services; the answers are in the order in which they came.
    static func merge(
        _ answers: [Answer],
        requestor id: String
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
            }
        }
        guard isAnswered else { return (nil, failures) }
        return (ConfiguredRequestor(id: id, mvpds: mvpds, services: services, domains: domains), failures)
    }

    /// Learns of what happened elsewhere: a login by which the viewer is authenticated here too, or a logout.
    private func synchronise(_ requestor: ConfiguredRequestor) async {
        let chosen = records.requestors[requestor.id]?.provider.flatMap { requestor.mvpd($0)?.id }
        let services = chosen.flatMap { requestor.services[$0] }.map { [$0] } ?? Array(Set(requestor.services.values))
        for service in services {
            do throws(ServiceFailure) {
                let words = chosen.flatMap { identity(requestor, $0) }
                let interface = interface(service, requestor: requestor.id, identity: words)
                let found = try await interface.viewer(chosen, code: nil)
                if let found, requestor.services[found.mvpd] == service, clock() < found.expires {
                    remember(found, requestor, service)
                } else if found == nil, let chosen {
                    records.forgetViewer(requestor.id, chosen)
                    preauthorizations.removeAll()
                }
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
