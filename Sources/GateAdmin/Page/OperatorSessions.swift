// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import GateAPI
package import GateConfiguration
package import Platform
internal import Synchronization

/// The browsers that have signed in to the operator page with a key.
///
/// A browser has a random name in a cookie, and the gate only its SHA-256. A session ends with its sign-out, after eight hours, with
/// the process, or when its key leaves the configuration.
package final class OperatorSessions: Sendable {
    private struct Session {
        let credential: Caller.Credential
        let end: Timestamp
    }

    private let sessions = Mutex<[[UInt8]: Session]>([:])

    /// The life of a session.
    package static let life = Duration.seconds(8 * 3600)
    /// The most sessions. One more ends the one that began first.
    package static let limit = 64

    /// Begins a session, and returns its name.
    package func begin(_ credential: Caller.Credential, at now: Timestamp) -> String {
        let name = APIKey().text
        let end = now.advanced(byMilliseconds: Self.life.milliseconds)
        sessions.withLock { sessions in
            sessions = sessions.filter { $0.value.end > now }
            if sessions.count >= Self.limit, let oldest = sessions.min(by: { $0.value.end < $1.value.end }) {
                sessions[oldest.key] = nil
            }
            sessions[SHA256.digest(name)] = Session(credential: credential, end: end)
        }
        return name
    }

    /// Returns the credential that a session began with; `nil` if there is no such session.
    package func credential(of name: String, at now: Timestamp) -> Caller.Credential? {
        guard let session = sessions.withLock({ $0[SHA256.digest(name)] }), session.end > now else { return nil }
        return session.credential
    }

    /// Ends a session.
    package func end(_ name: String) {
        sessions.withLock { sessions in sessions[SHA256.digest(name)] = nil }
    }
}
