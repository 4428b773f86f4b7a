// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import RequestTargets

/// The parameters of a profile for Amazon CloudFront.
public struct CloudFrontRules: Hashable, Sendable {
    /// The id of the public key in CloudFront.
    public var keyPairID: String
    /// The digest of the signature. The service uses SHA-1 if a URL names none.
    public var digest = Digest.sha256
    /// True to accept SHA-1.
    public var isWeak = false
    /// True for a custom policy where a canned one would do.
    public var isCustom = false
    /// True to include the start (`DateGreaterThan`).
    public var hasStart = false

    /// Creates rules for a key.
    public init(keyPairID: String) { self.keyPairID = keyPairID }

    /// A digest of signatures.
    public enum Digest: String, Hashable, Sendable, CaseIterable {
        /// SHA-256.
        case sha256
        /// SHA-1, which is weak.
        case sha1
    }
}

/// An issuer of signed URLs and signed cookies of Amazon CloudFront: RSA with 2048 bits, or ECDSA with P-256.
///
/// A single file without further conditions has a canned policy, which is not transmitted; a folder has a custom one.
public struct CloudFrontIssuer: VendorIssuer {
    /// The parameters.
    public let rules: CloudFrontRules
    private let maker: SignatureMaker

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ key: SigningPrivateKey, rules: CloudFrontRules) throws(SigningError) {
        guard rules.isWeak || rules.digest != .sha1 else { throw SigningError(.weak, value: "digest") }
        guard !rules.keyPairID.isEmpty, rules.keyPairID.utf8.count <= 128 else {
            throw SigningError(.missing, value: "key-pair-id")
        }
        try SigningText.demand(rules.keyPairID, named: "key-pair-id", allowing: SigningText.isName)
        switch (key.key.publicKey.type, rules.digest) {
        case (.rsa(bits: 2048), .sha256): maker = try key.maker(.rs256)
        case (.rsa(bits: 2048), .sha1): maker = try key.maker(.rs1)
        case (.ellipticCurve(.p256), .sha256): maker = try key.maker(.es256)
        default: throw SigningError(.key)
        }
        self.rules = rules
    }

    public var format: VendorFormat { .cloudFront }
    public var carriers: Set<SignedDelivery.Carrier> { [.query, .cookie] }
    public var warnings: [SigningWarning] { rules.digest == .sha1 ? [.weakAlgorithm] : [] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        let isCustom = rules.isCustom || rules.hasStart || request.client != nil || signing.path.isFolder
        let policy = try policy(signing)
        let signature = Self.encoded(try sign(policy))
        var pairs = [isCustom ? ("Policy", Self.encoded(Array(policy.utf8))) : ("Expires", String(signing.expires))]
        pairs += [("Signature", signature), ("Key-Pair-Id", rules.keyPairID)]
        if rules.digest == .sha256 { pairs.append(("Hash-Algorithm", "SHA256")) }
        guard pairs.reduce(0, { $0 + $1.0.utf8.count + $1.1.utf8.count + 2 }) <= SigningText.maximumSize else {
            throw SigningError(.size)
        }
        var delivery = SignedDelivery(format: format, token: signature, expires: signing.expires)
        delivery.query = pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        delivery.cookies = pairs.map {
            SignedDelivery.Cookie(name: "CloudFront-\($0.0)", value: $0.1, path: signing.cookiePath)
        }
        delivery.makeURL(signing)
        return delivery
    }

    /// Returns the policy, in the members' order and without blanks, as the service rebuilds a canned one.
    package func policy(_ signing: Signing) throws(SigningError) -> String {
        // A star of the path's own would open other paths.
        try SigningText.demand(signing.path.raw, named: "path") { $0 != UInt8(ascii: "*") }
        try SigningText.demand(signing.request.query, named: "query") {
            $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?")
        }
        var resource = try signing.demandOrigin() + signing.path.raw
        if signing.path.isFolder {
            resource += "*"
        } else if !signing.request.query.isEmpty {
            resource += "?" + signing.request.query
        }
        var condition: [JSON.Member] = [("DateLessThan", ["AWS:EpochTime": .number(signing.expires)])]
        if let client = signing.request.client {
            guard client.address.isIPv4 else { throw SigningError(.value, value: "client") }
            condition.append(("IpAddress", ["AWS:SourceIp": .string(client.description)]))
        }
        if rules.hasStart { condition.append(("DateGreaterThan", ["AWS:EpochTime": .number(signing.issued)])) }
        return JSON.object([
            ("Statement", [["Resource": .string(resource), "Condition": .object(condition)]])
        ]).line
    }

    private func sign(_ policy: String) throws(SigningError) -> [UInt8] {
        let signature = try maker.signature(of: policy)
        guard maker.scheme == .es256 else { return signature }
        guard let der = ECDSASignature.der(signature) else { throw SigningError(.key) }
        return der
    }

    /// Returns Base64 with the service's three characters instead of `+`, `=` and `/`.
    package static func encoded(_ bytes: [UInt8]) -> String {
        String(
            decoding: Base64.encode(bytes).utf8.map { character in
                switch character {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "="): UInt8(ascii: "_")
                case UInt8(ascii: "/"): UInt8(ascii: "~")
                default: character
                }
            },
            as: UTF8.self
        )
    }
}
