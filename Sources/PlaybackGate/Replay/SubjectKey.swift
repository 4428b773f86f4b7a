// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens

/// The secret that makes the tags of revocable subjects. All gates of an installation share it, and use it for nothing but the
/// tags and the identities of playback sessions.
public struct SubjectKey: Sendable {
    /// The minimum size of the secret, in bytes.
    public static let minimumSize = 32

    private let key: HMACKey

    /// Creates a key.
    ///
    /// - Parameter secret: At least ``minimumSize`` bytes.
    /// - Throws: ``SubjectKeyError`` if the secret is too short.
    public init(secret: [UInt8]) throws(SubjectKeyError) {
        guard secret.count >= Self.minimumSize else { throw .tooShort(bytes: secret.count) }
        do throws(OpenSSLError) { key = try HMACKey(secret, .sha256) } catch { throw .unusable("\(error)") }
    }

    /// Returns the tag of a subject: the first 16 bytes of the HMAC-SHA-256 of its store key. Returns `nil` if OpenSSL has no
    /// memory.
    public func tag(of storeKey: SHA256Digest) -> SubjectTag? {
        let message = storeKey.bytes
        return key.code(of: MessagePieces(message.span)).flatMap { SubjectTag(bytes: $0.prefix(16)) }
    }
}

/// An error in a key for tags.
public enum SubjectKeyError: Error, Hashable, Sendable {
    /// The secret has fewer bytes than a key needs.
    case tooShort(bytes: Int)
    /// OpenSSL cannot use the secret; the reason is for people.
    case unusable(String)
}

extension SubjectKeyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooShort(let bytes): "must have at least \(SubjectKey.minimumSize) bytes, and has \(bytes)"
        case .unusable(let reason): reason
        }
    }
}
