// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
package import Logging
internal import PlaybackGate
package import ReplayStores

/// Logs each revocation and each lift, with the caller and the subject.
package struct RevocationJournal: Sendable {
    package let logger: Logger
    /// The hash of session GUIDs, as in the lines of decisions.
    package let sessions: SessionHash

    /// Creates a value of its members.
    package init(logger: Logger, sessions: SessionHash) {
        self.logger = logger
        self.sessions = sessions
    }

    /// Logs a revocation that was recorded.
    ///
    /// - Parameter caller: The name of the caller; `nil` if the API is open.
    package func noteRevoked(_ revocation: Revocation, by caller: String?) {
        var facts = metadata(
            kind: revocation.kind.rawValue,
            subject: subject(revocation),
            id: revocation.storeKey.hexadecimal,
            caller: caller
        )
        facts["until"] = "\(revocation.expires.iso8601)"
        logger.notice("revoked", metadata: facts)
    }

    /// Logs a revocation that was lifted.
    ///
    /// - Parameters:
    ///   - revocation: The revocation; `nil` if it was named by its id.
    ///   - id: The id: the subject's key in stores, in hexadecimal.
    package func noteLifted(_ revocation: Revocation?, id: String, by caller: String?) {
        let facts = metadata(kind: revocation?.kind.rawValue, subject: revocation.map(subject), id: id, caller: caller)
        logger.notice("revocation lifted", metadata: facts)
    }

    private func metadata(kind: String?, subject: String?, id: String, caller: String?) -> Logger.Metadata {
        var facts: Logger.Metadata = ["id": "\(id)", "caller": "\(caller ?? "everyone")"]
        if let kind { facts["kind"] = "\(kind)" }
        if let subject { facts["subject"] = "\(subject)" }
        return facts
    }

    /// The subject as logs have it.
    private func subject(_ revocation: Revocation) -> String {
        switch revocation.subject {
        case .token(let fingerprint): fingerprint.bytes.hexadecimal
        case .session(let guid, _): sessions.text(guid)
        case .mvpd(let id, _): id.printable(limit: 200)
        case .playback(let session), .sharedPlayback(let session): session.hexadecimal
        }
    }
}
