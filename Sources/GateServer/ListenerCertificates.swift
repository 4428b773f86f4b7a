// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateConfiguration
internal import HTTPServer
internal import Synchronization

/// The TLS of the listeners, whose certificates change with a reload. Open connections retain their first certificate.
final class ListenerCertificates: Sendable {
    private let held = Mutex<[Held]>([])

    private struct Held {
        let name: String
        let application: String
        let tls: ServerTLS
    }

    /// The certificates of a configuration, not in use yet.
    struct Replacement {
        fileprivate let pairs: [(present: ServerTLS, next: ServerTLS)]

        /// Uses them for connections from now on.
        func adopt() { for pair in pairs { pair.present.replace(with: pair.next) } }
    }

    /// Returns the settings of a listener, and remembers its TLS.
    func settings(
        of listener: GateConfiguration.Listener,
        _ name: String,
        speaking application: String = "http/1.1"
    ) throws(ConfigurationError) -> ListenerSettings {
        let settings = try listener.settings(speaking: application)
        if let tls = settings.tls {
            held.withLock { $0.append(Held(name: name, application: application, tls: tls)) }
        }
        return settings
    }

    /// Reads the certificates of another configuration for these listeners.
    ///
    /// - Throws: ``ConfigurationError`` at the location of the file that cannot be used.
    func replacement(_ configuration: GateConfiguration) throws(ConfigurationError) -> Replacement {
        var pairs: [(ServerTLS, ServerTLS)] = []
        for held in held.withLock(\.self) {
            // A listener that is left out, or has no TLS any more, goes on as it is until a restart.
            let next = try configuration.listener(held.name)?.serverTLS(speaking: held.application)
            if let next { pairs.append((held.tls, next)) }
        }
        return Replacement(pairs: pairs)
    }
}
