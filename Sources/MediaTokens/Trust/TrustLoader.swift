// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Platform

/// A loader of trusted keys, one source at a time.
package struct TrustLoader {
    private let anchors: [Certificate]
    private let minimumKeySize: MinimumRSAKeySize
    private let now: Timestamp

    /// Reads the anchors. See ``TrustStore/init(_:anchors:minimumKeySize:at:)``.
    ///
    /// - Throws: ``TrustError`` that names the faulty anchor.
    package init(anchors: [TrustSource], minimumKeySize: MinimumRSAKeySize, at now: Timestamp) throws(TrustError) {
        self.anchors = try anchors.flatMapTyped { (anchor) throws(TrustError) in try Self.anchors(anchor) }
        self.minimumKeySize = minimumKeySize
        self.now = now
    }

    /// Reads the certificates of an anchor source.
    private static func anchors(_ source: TrustSource) throws(TrustError) -> [Certificate] {
        try source.blocks().mapTyped { (block) throws(TrustError) in
            guard block.isCertificate else {
                throw TrustError(
                    .unsupportedKey,
                    source: source.label,
                    reason: "an anchor must be a certificate, not \(block.label)"
                )
            }
            return try certificate(in: block, from: source)
        }
    }

    /// Reads the keys of a source.
    ///
    /// - Throws: ``TrustError`` that names the source.
    package func keys(_ source: TrustSource) throws(TrustError) -> [LoadedKey] {
        if case .only(let ids) = source.requestors, ids.isEmpty {
            throw TrustError(
                .emptyScope,
                source: source.label,
                reason: "the requestor scope is empty: name a requestor, or omit the scope"
            )
        }
        let blocks = try source.blocks()
        let chain =
            anchors.isEmpty
            ? []
            : try blocks.filter(\.isCertificate).mapTyped { (block) throws(TrustError) in
                try Self.certificate(in: block, from: source)
            }
        var found: [LoadedKey] = []
        for block in blocks {
            let name = found.isEmpty ? source.name : "\(source.name)#\(found.count + 1)"
            if let key = try key(block, of: source, name: name, chain: chain) { found.append(key) }
        }
        guard !found.isEmpty else {
            throw TrustError(
                .noKey,
                source: source.label,
                reason: "it has only certificate authorities and no signing key"
            )
        }
        return found
    }

    /// Reads the key in a block. Returns `nil` for a certificate authority that is only a link to an anchor.
    private func key(
        _ block: PEM.Block,
        of source: TrustSource,
        name: String,
        chain: [Certificate]
    ) throws(TrustError) -> LoadedKey? {
        func loadedKey(
            form: TrustedKey.Form,
            numbers key: Numbers,
            validity: ClosedRange<Timestamp>?
        ) throws(TrustError) -> LoadedKey {
            let trusted = TrustedKey(
                name: name,
                source: source.label,
                form: form,
                tokens: source.tokens,
                bits: key.bits,
                requestors: source.requestors,
                validity: validity
            )
            return LoadedKey(key: trusted, der: key.der)
        }
        if block.isCertificate {
            let certificate = try Self.certificate(in: block, from: source)
            if !anchors.isEmpty, certificate.isAuthority { return nil }
            let key = try self.key(of: certificate, from: source)
            return try loadedKey(
                form: .certificate,
                numbers: key,
                validity: try validity(of: certificate, chain: chain, from: source)
            )
        }
        let key = try publicKey(in: block, from: source)
        guard anchors.isEmpty else {
            throw TrustError(
                .untrustedChain,
                source: source.label,
                reason: "a public key has no certificate chain to an anchor"
            )
        }
        return try loadedKey(form: .publicKey, numbers: key, validity: source.validity)
    }

    /// The size of a key, and its DER form, which identifies it.
    private typealias Numbers = (bits: Int, der: [UInt8])

    private func key(of certificate: Certificate, from source: TrustSource) throws(TrustError) -> Numbers {
        guard source.tokens == .signedElement else {
            return try JWSKeyReader.numbers(from: source.label) { () throws(KeyMaterialFault) in
                try certificate.anyPublicKey()
            }
        }
        return try source.naming { () throws(KeyFault) in
            try certificate.publicKey(minimumBits: minimumKeySize.bits)
        }
    }

    private func publicKey(in block: PEM.Block, from source: TrustSource) throws(TrustError) -> Numbers {
        switch block.label {
        case "PUBLIC KEY" where source.tokens == .jws:
            return try JWSKeyReader.numbers(from: source.label) { () throws(KeyMaterialFault) in
                try PublicKey(subjectPublicKeyInfo: block.der)
            }
        case "PUBLIC KEY":
            return try source.naming { () throws(KeyFault) in
                try PublicKeyReader.key(subjectPublicKeyInfo: block.der, minimumBits: minimumKeySize.bits)
            }
        case "RSA PUBLIC KEY" where source.tokens == .signedElement:
            return try source.naming { () throws(KeyFault) in
                try PublicKeyReader.key(pkcs1: block.der, minimumBits: minimumKeySize.bits)
            }
        case let label where label.hasSuffix("PRIVATE KEY"):
            throw TrustError(
                .privateKeyPresent,
                source: source.label,
                reason: "it has a private key; remove it and use only certificates or public keys"
            )
        default:
            throw TrustError(
                .unsupportedKey,
                source: source.label,
                reason: "the PEM block \(block.label.printable(limit: 40)) is neither a certificate nor a public key"
            )
        }
    }

    private static func certificate(in block: PEM.Block, from source: TrustSource) throws(TrustError) -> Certificate {
        guard let certificate = Certificate(der: block.der) else {
            throw TrustError(
                .malformedPEM,
                source: source.label,
                reason: "a certificate cannot be read: \(OpenSSLError.drained().text)"
            )
        }
        return certificate
    }

    /// Returns the period in which the certificate, its chain and the source are valid.
    ///
    /// A key outside of it is loaded, because it must not block the others, and each verification checks the time.
    private func validity(
        of certificate: Certificate,
        chain: [Certificate],
        from source: TrustSource
    ) throws(TrustError) -> ClosedRange<Timestamp> {
        guard let own = certificate.validity else {
            throw TrustError(.malformedPEM, source: source.label, reason: "the certificate's validity cannot be read")
        }
        var periods = [own]
        if let given = source.validity { periods.append(given) }
        if !anchors.isEmpty {
            do throws(CertificateChainFault) {
                periods.append(
                    try certificate.chainValidity(anchors: anchors, intermediates: chain, at: now) ?? TrustedKey.never
                )
            } catch {
                throw TrustError(
                    .untrustedChain,
                    source: source.label,
                    reason: "no certificate chain to an anchor: \(error.text)"
                )
            }
        }
        var common = own
        for period in periods {
            guard period.overlaps(common) else { return TrustedKey.never }
            common = common.clamped(to: period)
        }
        return common
    }
}

/// A trusted key that is read and checked, but not in a store yet.
package struct LoadedKey: Sendable {
    /// The facts about the key.
    package let key: TrustedKey
    /// The DER of its `SubjectPublicKeyInfo`.
    package let der: [UInt8]

    init(key: TrustedKey, der: [UInt8]) {
        self.key = key
        self.der = der
    }

    /// Creates a key of a policy. It is judged by ``TrustStore``.
    package init(
        name: String,
        source: String,
        form: TrustedKey.Form,
        tokens: MediaTokenForm,
        bits: Int,
        requestors: RequestorScope,
        validity: ClosedRange<Timestamp>?,
        der: [UInt8]
    ) {
        key = TrustedKey(
            name: name,
            source: source,
            form: form,
            tokens: tokens,
            bits: bits,
            requestors: requestors,
            validity: validity
        )
        self.der = der
    }
}

extension TrustSource {
    /// Calls `body` and converts its faults to errors of this source.
    fileprivate func naming(
        _ body: () throws(KeyFault) -> RSAPublicKey
    ) throws(TrustError) -> (bits: Int, der: [UInt8]) {
        do throws(KeyFault) {
            let key = try body()
            return (key.bits, key.der)
        } catch { throw TrustError(error, source: label) }
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
    func flatMapTyped<Result, Failure: Error>(
        _ transform: (Element) throws(Failure) -> [Result]
    ) throws(Failure) -> [Result] {
        var results: [Result] = []
        for element in self { results += try transform(element) }
        return results
    }
}
