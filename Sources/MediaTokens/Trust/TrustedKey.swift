// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform

/// A key whose signatures are trusted, with the scope and the period of that trust.
public struct TrustedKey: Hashable, Sendable {
    /// The form in which a key was loaded.
    public enum Form: String, Sendable {
        /// A certificate, with its own validity.
        case certificate
        /// A bare public key.
        case publicKey
    }

    /// The name of the key in answers and logs.
    public let name: String
    /// The file or name that the key was loaded from.
    public let source: String
    /// The form of the key: a certificate or a bare public key.
    public let form: Form
    /// The form of the media tokens that the key may sign.
    public let tokens: MediaTokenForm
    /// The size in bits: of the modulus of an RSA key, of a coordinate of another.
    public let bits: Int
    /// The requestors whose tokens the key may sign.
    public let requestors: RequestorScope
    /// The period in which the key may be used, both ends included; `nil` if unlimited.
    public let validity: ClosedRange<Timestamp>?

    /// True if the key may be used at `now`.
    public func isValid(at now: Timestamp) -> Bool { validity?.contains(now) ?? true }

    /// Returns the reason why the key may not be used at `now`, with the date, such as `is not valid after 2031-01-02T10:04:05Z`;
    /// `nil` if it may.
    public func obstacle(at now: Timestamp) -> String? {
        guard let validity, !validity.contains(now) else { return nil }
        if validity == Self.never { return "has no time at which certificate, chain and configuration are all valid" }
        return now < validity.lowerBound
            ? "is not valid before \(validity.lowerBound)" : "is not valid after \(validity.upperBound)"
    }

    /// The validity of a key that may never be used: the first instant that a policy can have.
    static let never = Timestamp(millisecondsSince1970: -(1 << 53))...Timestamp(millisecondsSince1970: -(1 << 53))
}

/// A public key with all its grants. One key may occur in two certificates, for example at a renewal.
final class KeyGroup: Sendable {
    let key: RSAPublicKey
    let grants: [Grant]

    init(key: consuming RSAPublicKey, grants: [TrustedKey]) {
        self.key = key
        self.grants = grants.map { Grant($0) }
    }
}

/// A public key of JWS with all its grants.
final class JWSKeyGroup: Sendable {
    let verifier: SignatureVerifier
    let grants: [Grant]

    init(verifier: SignatureVerifier, grants: [TrustedKey]) {
        self.verifier = verifier
        self.grants = grants.map { Grant($0) }
    }
}

/// The properties of a trusted key that a verification needs. A class, so that it is passed along without counting its parts.
final class Grant: Sendable {
    let name: String
    let requestors: RequestorScope
    private let start: Timestamp
    private let end: Timestamp

    init(_ key: TrustedKey) {
        name = key.name
        requestors = key.requestors
        start = key.validity?.lowerBound ?? Timestamp(millisecondsSince1970: .min)
        end = key.validity?.upperBound ?? Timestamp(millisecondsSince1970: .max)
    }

    func isValid(at now: Timestamp) -> Bool { start <= now && now <= end }

    /// True if the key may sign a token for this token's requestor.
    func maySign(_ token: MediaToken) -> Bool {
        guard case .only(let ids) = requestors else { return true }
        return ids.contains { token.fields.equals(.requestorID, expected: $0) }
    }
}
