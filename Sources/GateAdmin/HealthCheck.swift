// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import Encodings
package import GateAPI
internal import NIOCore

/// Asks the admin listener of a running gate for its readiness.
package struct HealthCheck: Sendable {
    private let client: ListenerClient

    /// The address of the admin listener, as in the configuration.
    package var address: String { client.address }

    /// Reads the address of the admin listener.
    ///
    /// - Parameter path: The path of the configuration file.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no usable address.
    package init(configurationFile path: String) throws(ConfigurationError) {
        client = try ListenerClient(configurationFile: path)
    }

    /// Returns the state of the gate.
    ///
    /// - Throws: `ListenerClient.Failure` if no admin listener answers.
    package func report() async throws(ListenerClient.Failure) -> HealthReport { try await client.health() }
}

/// The state of a running gate.
package struct HealthReport: Sendable {
    /// The faults, by the part that has them; none if the gate is ready.
    package let faults: [JSON.Member]
    /// The problems for which the last reload was rejected, each with its file and line; none if it was not.
    package let rejectedReload: [String]
}

extension ListenerClient {
    /// Requests the state of the gate.
    package func health() async throws(ListenerClient.Failure) -> HealthReport {
        let (status, body) = try await get("/readyz", upTo: 64 * 1024)
        let limits = JSONLimits(depth: 4, members: 64, elements: 64)
        guard status == 200 || status == 503,
            let answer = try? JSONReader.read(body.readableBytesUInt8Span, limits: limits),
            case .bool(let isReady)? = answer["ready"], isReady == (status == 200),
            case .object(let faults)? = answer["faults"], isReady == faults.isEmpty,
            case .array(let problems)? = answer["rejectedReload"]
        else {
            throw ListenerClient.Failure(reason: "the answer, with status \(status), is not that of an admin listener")
        }
        return HealthReport(faults: faults, rejectedReload: problems.compactMap(\.text))
    }
}
