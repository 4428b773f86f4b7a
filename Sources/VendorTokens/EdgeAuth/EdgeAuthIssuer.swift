// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import RequestTargets

/// An issuer of Akamai EdgeAuth 2.0: `st=…~exp=…~acl=…~hmac=…`.
public struct EdgeAuthIssuer: VendorIssuer {
    /// The parameters.
    public let rules: EdgeAuthRules
    private let key: HMACKey
    private let isShort: Bool

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - secret: The key of the property, which the vendor displays in hexadecimal.
    ///   - rules: The parameters.
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: EdgeAuthRules = EdgeAuthRules()) throws(SigningError) {
        key = try rules.key(secret)
        isShort = secret.isShort
        self.rules = rules
    }

    public var format: VendorFormat { .edgeAuth }
    public let carriers: Set<SignedDelivery.Carrier> = [.query, .cookie, .segment]
    public var warnings: [SigningWarning] {
        (isShort ? [.shortSecret] : []) + (rules.algorithm == .sha256 ? [] : [.weakAlgorithm])
    }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        var delivery = SignedDelivery(format: format, token: try token(signing), expires: signing.expires)
        try delivery.carry(as: rules.name, in: carriers, signing)
        return delivery
    }

    /// Returns the token.
    package func token(_ signing: Signing) throws(SigningError) -> String {
        let path = signing.path
        let isURL = !path.isFolder && rules.signsURL && rules.patterns.isEmpty
        var text = ""
        text.reserveCapacity(256)
        func add(_ name: String, value: String) {
            if !text.isEmpty { text += "~" }
            text += name
            text += "="
            text += value
        }
        if let address = try signing.address() { add("ip", value: try rules.value(address.text, named: "client")) }
        if rules.hasStart { add("st", value: String(signing.issued)) }
        add("exp", value: String(signing.expires))
        if !isURL { add("acl", value: try accessList(path)) }
        if let session = try signing.session({ _ in true }) {
            add("id", value: try rules.value(session, named: "session"))
        }
        if let data = rules.data { add("data", value: try rules.value(data, named: "data")) }
        let url = isURL ? try rules.value(path.raw, named: "path") : nil
        let code = try key.code(of: rules.message(text, url: url)).hexadecimal
        return text + "~hmac=" + code
    }

    private func accessList(_ path: SigningPath) throws(SigningError) -> String {
        // A path with a wildcard of its own would open more than itself.
        try SigningText.demand(path.raw, named: "path") { EdgeAuthRules.isValue($0) && $0 != UInt8(ascii: "*") }
        return ([path.raw + (path.isFolder ? "*" : "")] + rules.patterns).joined(separator: "!")
    }
}
