// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import MediaResources
internal import Platform

/// An immutable set of trusted keys. A change of keys needs a new store.
///
/// A token does not name the key that signed it, and several keys are trusted at a time during a key rotation. A store
/// keeps the prepared OpenSSL contexts of its keys, so create it once and share it.
public final class TrustStore: Sendable {
    /// The trusted keys, in the order of their sources.
    public let keys: [TrustedKey]

    let groups: [KeyGroup]
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
    ///   - now: The time at which all keys and certificates must be valid.
    /// - Throws: ``TrustError`` with any of its codes.
    public init(
        _ sources: [TrustSource],
        anchors: [TrustSource] = [],
        minimumKeySize: MinimumRSAKeySize = .standard,
        at now: Timestamp
    ) throws(TrustError) {
        let loader = TrustLoader(
            anchors: try anchors.flatMapTyped { (anchor) throws(TrustError) in try TrustLoader.anchors(anchor) },
            minimumKeySize: minimumKeySize,
            now: now
        )
        let loaded = try sources.flatMapTyped { (source) throws(TrustError) in try loader.keys(source) }
        guard !loaded.isEmpty else {
            throw TrustError(.noKey, sources.first?.label ?? "", "no trusted keys were given")
        }
        var order: [[UInt8]] = []
        var grants: [[UInt8]: [TrustedKey]] = [:]
        for (key, der) in loaded {
            if grants[der] == nil { order.append(der) }
            grants[der, default: []].append(key)
        }
        guard order.count <= Self.maximumKeys else {
            throw TrustError(
                .tooManyKeys,
                "",
                "\(order.count) different keys, more than \(Self.maximumKeys); remove those not in use"
            )
        }
        var groups: [KeyGroup] = []
        for der in order {
            do throws(KeyFault) {
                let key = try PublicKeyReader.key(subjectPublicKeyInfo: der, minimumBits: minimumKeySize.bits)
                groups.append(KeyGroup(key: key, grants: grants[der] ?? []))
            } catch {
                throw TrustError(error, grants[der]?.first?.source ?? "")
            }
        }
        let (keys, count) = (loaded.map(\.0), groups.count)
        self.keys = keys
        self.groups = groups
        self.contexts = (0..<slots.count).map { _ in VerificationContext(keyCount: count) }
    }

    /// Loads trusted keys from files, for every requestor.
    ///
    /// - Parameters:
    ///   - paths: PEM files with certificates or public keys.
    ///   - now: The time at which all keys and certificates must be valid.
    /// - Throws: ``TrustError`` with any of its codes.
    public convenience init(files paths: [String], at now: Timestamp) throws(TrustError) {
        try self.init(paths.map { .file($0) }, at: now)
    }
}

/// A loader of trust sources.
private struct TrustLoader {
    let anchors: [Certificate]
    let minimumKeySize: MinimumRSAKeySize
    let now: Timestamp

    /// Reads the certificates of an anchor source.
    static func anchors(_ source: TrustSource) throws(TrustError) -> [Certificate] {
        try source.blocks().mapTyped { (block) throws(TrustError) in
            guard block.isCertificate else {
                throw TrustError(.unsupportedKey, source.label, "an anchor must be a certificate, not \(block.label)")
            }
            return try certificate(block, source)
        }
    }

    /// Reads the keys of a source, each with its public key in DER.
    func keys(_ source: TrustSource) throws(TrustError) -> [(TrustedKey, [UInt8])] {
        if case .only(let ids) = source.requestors, ids.isEmpty {
            throw TrustError(
                .emptyScope,
                source.label,
                "the requestor scope is empty: name a requestor, or omit the scope"
            )
        }
        let blocks = try source.blocks()
        let chain =
            anchors.isEmpty
            ? []
            : try blocks.filter(\.isCertificate).mapTyped { (block) throws(TrustError) in
                try Self.certificate(block, source)
            }
        var found: [(TrustedKey, [UInt8])] = []
        for block in blocks {
            let name = found.isEmpty ? source.name : "\(source.name)#\(found.count + 1)"
            if let key = try key(block, of: source, name: name, chain: chain) { found.append(key) }
        }
        guard !found.isEmpty else {
            throw TrustError(.noKey, source.label, "it has only certificate authorities and no signing key")
        }
        return found
    }

    /// Reads the key in a block. Returns `nil` for a certificate authority that is only a link to an anchor.
    private func key(
        _ block: PEM.Block,
        of source: TrustSource,
        name: String,
        chain: [Certificate]
    ) throws(TrustError) -> (TrustedKey, [UInt8])? {
        func trusted(
            _ form: TrustedKey.Form,
            _ key: borrowing RSAPublicKey,
            _ validity: ClosedRange<Timestamp>?
        ) throws(TrustError) -> (TrustedKey, [UInt8]) {
            try checkValidity(validity, source)
            let trusted = TrustedKey(
                name: name,
                source: source.label,
                form: form,
                bits: key.bits,
                requestors: source.requestors,
                validity: validity
            )
            return (trusted, key.der)
        }
        if block.isCertificate {
            let certificate = try Self.certificate(block, source)
            if !anchors.isEmpty {
                if certificate.isAuthority { return nil }
                try checkChain(certificate, chain, source)
            }
            let key = try source.naming { () throws(KeyFault) in
                try certificate.publicKey(minimumBits: minimumKeySize.bits)
            }
            return try trusted(.certificate, key, try intersection(certificate, source))
        }
        let key = try publicKey(block, source)
        guard anchors.isEmpty else {
            throw TrustError(.untrustedChain, source.label, "a public key has no certificate chain to an anchor")
        }
        return try trusted(.publicKey, key, source.validity)
    }

    private func publicKey(_ block: PEM.Block, _ source: TrustSource) throws(TrustError) -> RSAPublicKey {
        switch block.label {
        case "PUBLIC KEY":
            return try source.naming { () throws(KeyFault) in
                try PublicKeyReader.key(subjectPublicKeyInfo: block.der, minimumBits: minimumKeySize.bits)
            }
        case "RSA PUBLIC KEY":
            return try source.naming { () throws(KeyFault) in
                try PublicKeyReader.key(pkcs1: block.der, minimumBits: minimumKeySize.bits)
            }
        case let label where label.hasSuffix("PRIVATE KEY"):
            throw TrustError(
                .privateKeyPresent,
                source.label,
                "it has a private key; remove it and use only certificates or public keys"
            )
        default:
            throw TrustError(
                .unsupportedKey,
                source.label,
                "the PEM block \(block.label.printable(limit: 40)) is neither a certificate nor a public key"
            )
        }
    }

    private static func certificate(_ block: PEM.Block, _ source: TrustSource) throws(TrustError) -> Certificate {
        guard let certificate = Certificate(der: block.der) else {
            throw TrustError(
                .malformedPEM,
                source.label,
                "a certificate cannot be read: \(OpenSSLError.drained().text)"
            )
        }
        return certificate
    }

    private func checkChain(
        _ certificate: Certificate,
        _ chain: [Certificate],
        _ source: TrustSource
    ) throws(TrustError) {
        // Expiry has its own code, so it is checked before OpenSSL checks the chain.
        try checkValidity(certificate.validity, source)
        if let why = certificate.refusalOfChain(anchors: anchors, intermediates: chain, at: now) {
            throw TrustError(.untrustedChain, source.label, "no certificate chain to an anchor: \(why)")
        }
    }

    /// Returns the period in which both the certificate and the source are valid.
    private func intersection(
        _ certificate: Certificate,
        _ source: TrustSource
    ) throws(TrustError) -> ClosedRange<Timestamp> {
        guard let own = certificate.validity else {
            throw TrustError(.malformedPEM, source.label, "the certificate's validity cannot be read")
        }
        guard let given = source.validity else { return own }
        guard own.overlaps(given) else {
            throw TrustError(.noLongerValid, source.label, "certificate and key have no common validity period")
        }
        return own.clamped(to: given)
    }

    private func checkValidity(_ validity: ClosedRange<Timestamp>?, _ source: TrustSource) throws(TrustError) {
        guard let validity else { return }
        if now < validity.lowerBound {
            throw TrustError(.notYetValid, source.label, "not valid before \(validity.lowerBound)")
        }
        if now > validity.upperBound {
            throw TrustError(.noLongerValid, source.label, "not valid after \(validity.upperBound)")
        }
    }
}

extension TrustSource {
    /// Calls `body` and converts its faults to errors of this source.
    fileprivate func naming(
        _ body: () throws(KeyFault) -> RSAPublicKey
    ) throws(TrustError) -> RSAPublicKey {
        do throws(KeyFault) { return try body() } catch { throw TrustError(error, label) }
    }
}

extension PEM.Block {
    var isCertificate: Bool { label == "CERTIFICATE" || label == "X509 CERTIFICATE" }
}

extension Array {
    /// Variant of `map` that throws the closure's own error type.
    fileprivate func mapTyped<Result, Failure: Error>(
        _ transform: (Element) throws(Failure) -> Result
    ) throws(Failure) -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try transform(element)) }
        return results
    }

    /// Variant of `flatMap` that throws the closure's own error type.
    fileprivate func flatMapTyped<Result, Failure: Error>(
        _ transform: (Element) throws(Failure) -> [Result]
    ) throws(Failure) -> [Result] {
        var results: [Result] = []
        for element in self { results += try transform(element) }
        return results
    }
}
