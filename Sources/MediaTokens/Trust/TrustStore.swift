// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform

/// An immutable set of trusted keys. A change of keys needs a new store.
///
/// A token does not name the key that signed it, and several keys are trusted at a time during a key rotation. A store
/// holds the prepared OpenSSL contexts of its keys, so create it once and share it.
public final class TrustStore: Sendable {
    /// The trusted keys, in the order of their sources.
    public var keys: [TrustedKey] { loaded.map(\.key) }
    /// The trusted keys with their public keys.
    package let loaded: [LoadedKey]

    /// The keys of signed elements.
    let groups: [KeyGroup]
    /// The keys of JWS.
    let jwsGroups: [JWSKeyGroup]
    let slots = SlotPool()
    let contexts: [VerificationContext]

    /// The largest number of different public keys in a store.
    public static let maximumKeys = 8

    /// Loads trusted keys from sources.
    ///
    /// - Parameters:
    ///   - sources: Certificates and public keys, with 1 to ``maximumKeys`` different keys.
    ///   - anchors: Certificates to which every trusted certificate must chain. Without anchors, the certificates in
    ///     `sources` are trusted as they are. With anchors, a certificate authority in `sources` is a link of a chain
    ///     and not a signing key, and a bare public key is refused.
    ///   - minimumKeySize: The smallest RSA modulus that is accepted.
    ///   - now: The present. A key outside its validity is loaded and not used: see ``TrustedKey/obstacle(at:)``.
    /// - Throws: ``TrustError`` with any of its codes.
    public convenience init(
        _ sources: [TrustSource],
        anchors: [TrustSource] = [],
        minimumKeySize: MinimumRSAKeySize = .standard,
        at now: Timestamp
    ) throws(TrustError) {
        let loader = try TrustLoader(anchors: anchors, minimumKeySize: minimumKeySize, at: now)
        let keys = try sources.flatMapTyped { (source) throws(TrustError) in try loader.keys(source) }
        try self.init(keys, minimumKeySize: minimumKeySize)
    }

    /// The store without any key, by which no media token is trusted.
    package static let empty = TrustStore()

    private init() {
        (loaded, groups, jwsGroups) = ([], [], [])
        contexts = (0..<slots.count).map { _ in VerificationContext(keyCount: 0) }
    }

    /// Creates a store of keys that are loaded already.
    ///
    /// - Throws: ``TrustError`` if there is no key, or there are more than ``maximumKeys``.
    package init(_ loaded: [LoadedKey], minimumKeySize: MinimumRSAKeySize) throws(TrustError) {
        guard !loaded.isEmpty else { throw TrustError(.noKey, source: "", reason: "no trusted keys were given") }
        var order: [[UInt8]] = []
        var grants: [[UInt8]: [TrustedKey]] = [:]
        for loaded in loaded {
            if grants[loaded.der] == nil { order.append(loaded.der) }
            grants[loaded.der, default: []].append(loaded.key)
        }
        guard order.count <= Self.maximumKeys else {
            throw TrustError(
                .tooManyKeys,
                source: "",
                reason: "\(order.count) different keys, more than \(Self.maximumKeys); remove those not in use"
            )
        }
        var groups: [KeyGroup] = []
        var jwsGroups: [JWSKeyGroup] = []
        for der in order {
            let grants = grants[der] ?? []
            let source = grants.first?.source ?? ""
            if grants.first?.tokens == .jws {
                let key = try JWSKeyReader.key(from: source) { () throws(KeyMaterialFault) in
                    try PublicKey(subjectPublicKeyInfo: der)
                }
                jwsGroups.append(JWSKeyGroup(verifier: key, grants: grants))
                continue
            }
            do throws(KeyFault) {
                let key = try PublicKeyReader.key(subjectPublicKeyInfo: der, minimumBits: minimumKeySize.bits)
                groups.append(KeyGroup(key: key, grants: grants))
            } catch {
                throw TrustError(error, source: source)
            }
        }
        let count = groups.count
        self.loaded = loaded
        self.groups = groups
        self.jwsGroups = jwsGroups
        self.contexts = (0..<slots.count).map { _ in VerificationContext(keyCount: count) }
    }

    /// Loads trusted keys from files, for every requestor.
    ///
    /// - Parameters:
    ///   - paths: PEM files with certificates or public keys.
    ///   - now: The present. A key outside its validity is loaded and not used: see ``TrustedKey/obstacle(at:)``.
    /// - Throws: ``TrustError`` with any of its codes.
    public convenience init(files paths: [String], at now: Timestamp) throws(TrustError) {
        try self.init(paths.map { .file($0) }, at: now)
    }
}
