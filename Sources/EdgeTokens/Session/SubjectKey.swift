// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The secret by which the gates of one installation name sessions and subjects. It has no other use.
///
/// The same media token and playback id give the same session at every gate, so that no session needs to be stored.
public struct SubjectKey: Sendable {
    private let key: HMACKey
    /// The secret, for policies of edges. Never for logs.
    package let secret: [UInt8]

    /// The smallest secret, in bytes.
    public static let minimumSize = 32

    /// Creates a key.
    ///
    /// - Parameter secret: At least ``minimumSize`` random bytes.
    /// - Throws: ``SubjectKeyError``.
    public init(_ secret: [UInt8]) throws(SubjectKeyError) {
        guard secret.count >= Self.minimumSize else { throw .tooShort }
        do { key = try HMACKey(secret, function: .sha256) } catch { throw .unusable }
        self.secret = secret
    }

    /// Returns the id of the playback that a media token starts; `nil` if OpenSSL fails.
    ///
    /// - Parameters:
    ///   - fingerprint: The SHA-256 of the signed bytes of the media token.
    ///   - playbackID: The identifier of the playback start, if the player gave one.
    public func sessionID(fingerprint: SHA256Digest, playbackID: String?) -> SessionID? {
        let message =
            [UInt8]("playback".utf8) + [0] + fingerprint.bytes + SHA256.digest([UInt8]((playbackID ?? "").utf8))
        return code(of: message).flatMap { SessionID($0.span.extracting(first: 16)) }
    }

    /// Returns the tag of a subject that can be revoked; `nil` if OpenSSL fails.
    ///
    /// - Parameter storeKey: The key of the subject in revocation stores, 32 bytes.
    public func tag(storeKey: [UInt8]) -> SubjectTag? {
        code(of: storeKey).flatMap { SubjectTag($0.span.extracting(first: 16)) }
    }

    /// Returns the tag of a grant's requestor and resource; `nil` if OpenSSL fails.
    ///
    /// - Parameters:
    ///   - requestor: The requestor whose media tokens start the playback.
    ///   - resource: The resource of the playback, in its canonical form.
    public func protectionTag(requestor: String, resource: String) -> ProtectionTag? {
        let message = [UInt8]("protection".utf8) + [0] + requestor.utf8 + [0] + resource.utf8
        return code(of: message).flatMap { ProtectionTag($0.span.extracting(first: 16)) }
    }

    /// True if both keys make the same tags.
    package func isSame(as other: SubjectKey) -> Bool { key === other.key || secret == other.secret }

    private func code(of message: [UInt8]) -> [UInt8]? { key.code(of: MessagePieces(message.span)) }
}

/// The reason why a subject key is refused.
@nonexhaustive
public enum SubjectKeyError: String, Error, Sendable, CaseIterable {
    /// The secret has fewer than 32 bytes.
    case tooShort = "subject_key_too_short"
    /// OpenSSL failed.
    case unusable = "subject_key_unusable"
}
