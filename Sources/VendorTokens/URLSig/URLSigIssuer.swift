// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import RequestTargets

/// The parameters of a profile for Traffic Server's `url_sig`. It is for existing installations: its algorithms are
/// weak.
public struct URLSigRules: Hashable, Sendable {
    /// The number of the key in the plugin's file, 0 to 15.
    public var keyNumber = 0
    /// The algorithm.
    public var algorithm = Algorithm.sha1
    /// True to accept the algorithms. Without it nothing is issued.
    public var isWeak = false
    /// The position of the signature.
    public var location = Location.query

    /// Creates the default rules.
    public init() {}

    /// An algorithm of the plugin, within HMAC. The raw value is its number in URLs.
    public enum Algorithm: Int, Hashable, Sendable, CaseIterable {
        /// SHA-1.
        case sha1 = 1
        /// MD5.
        case md5 = 2
    }

    /// A position of a signature in URLs.
    public enum Location: Hashable, Sendable {
        /// The end of the query.
        case query
        /// A segment before the last one: `/live/tnt/SIGNATURE/a.m3u8`. All files of the folder itself are opened.
        case segment
        /// A parameter of the folder, with the name of the plugin's `sig_anchor`: `/live/tnt;NAME=SIGNATURE/v1/a.m4s`.
        case anchor(String)
    }
}

/// An issuer of URLs for Traffic Server's `url_sig`: `?E=…&A=…&K=…&P=…&S=…`. The plugin compares the raw path.
///
/// The parts of host and path that are signed are those up to the folder, or all of a file's.
public struct URLSigIssuer: VendorIssuer {
    /// The parameters.
    public let rules: URLSigRules
    private let key: HMACKey
    private let isShort: Bool

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: URLSigRules = URLSigRules()) throws(SigningError) {
        guard rules.isWeak else { throw SigningError(.weak, value: "algorithm") }
        guard 0...15 ~= rules.keyNumber else { throw SigningError(.value, value: "key") }
        if case .anchor(let name) = rules.location {
            guard !name.isEmpty else { throw SigningError(.value, value: "anchor") }
            try SigningText.demand(name, named: "anchor", allowing: \.isASCIIAlphanumeric)
        }
        key = try secret.key(rules.algorithm == .sha1 ? .sha1 : .md5)
        isShort = secret.isShort
        self.rules = rules
    }

    public var format: VendorFormat { .urlSig }
    public var carriers: Set<SignedDelivery.Carrier> { rules.location == .query ? [.query] : [.segment] }
    public var warnings: [SigningWarning] { (isShort ? [.shortSecret] : []) + [.weakAlgorithm] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        guard let host = request.host else { throw SigningError(.missing, value: "host") }
        let own = request.query
        // The plugin finds its parameters anywhere in the query, and cuts it at the first that begins like one.
        for name in ["A", "C", "E", "K", "P", "S"] {
            let isTaken = own.hasBytes(of: "\(name)=") || own.split(separator: "&").contains { $0.hasPrefix(name) }
            guard !isTaken else { throw SigningError(.value, value: "query") }
        }
        let signed = host + signing.path.raw
        var delivery: SignedDelivery
        if rules.location == .query {
            let before = own.isEmpty || signing.path.isFolder ? "" : own + "&"
            let text = try parameters(for: signing, parts: parts(signed), delimiter: "&")
            let code = try key.code(of: "\(Self.trimmed(signed))?\(before)\(text)").hexadecimal
            delivery = SignedDelivery(format: format, token: text + code, expires: signing.expires)
            delivery.query = delivery.token
        } else {
            guard signing.path.isFolder, signing.path.raw != "/" else { throw SigningError(.scope, value: "path") }
            let text = ";" + (try parameters(for: signing, parts: "1", delimiter: ";"))
            let code = try key.code(of: Self.trimmed(signed) + text).hexadecimal
            delivery = SignedDelivery(
                format: format,
                token: Base64.encodeURLSafe(Array((text + code).utf8)),
                expires: signing.expires
            )
            delivery.path = path(for: signing, with: delivery.token)
        }
        delivery.makeURL(signing)
        return delivery
    }

    private func path(for signing: Signing, with token: String) -> String {
        guard case .anchor(let name) = rules.location else { return "\(signing.path.raw)\(token)/" }
        return "\(Self.trimmed(signing.path.raw));\(name)=\(token)/"
    }

    /// Returns the parameters up to the signature's name.
    private func parameters(
        for signing: Signing,
        parts: String,
        delimiter: String
    ) throws(SigningError) -> String {
        var pairs: [String] = []
        if let address = try signing.address() { pairs.append("C=\(address.text)") }
        pairs += ["E=\(signing.expires)", "A=\(rules.algorithm.rawValue)", "K=\(rules.keyNumber)", "P=\(parts)", "S="]
        return pairs.joined(separator: delimiter)
    }

    /// Returns a digit for each signed part; for a folder, a last digit stands for all parts below it.
    private func parts(_ signed: String) -> String {
        guard signed.utf8.last == UInt8(ascii: "/") else { return "1" }
        return String(repeating: "1", count: signed.utf8.count { $0 == UInt8(ascii: "/") }) + "0"
    }

    private static func trimmed(_ path: String) -> String {
        path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }
}
