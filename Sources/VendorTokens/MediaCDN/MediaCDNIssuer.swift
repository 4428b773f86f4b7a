// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import RequestTargets

/// The parameters of a profile for tokens of Google Media CDN.
public struct MediaCDNRules: Hashable, Sendable {
    /// The name of parameter and cookie.
    public var name = "edge-cache-token"
    /// True to accept HMAC with SHA-1.
    public var isWeak = false
    /// The way in which a token names a folder.
    public var folder = Folder.globs
    /// The globs beside the folder's own, with ``Folder/globs``.
    public var globs: [String] = []
    /// True to include the start (`Starts`).
    public var hasStart = false
    /// The payload (`Data`); `nil` for none.
    public var data: String?
    /// The header fields that requests must have, with their values.
    public var headers: [Header] = []

    /// Creates the default rules.
    public init() {}

    /// A way in which a token names a folder.
    public enum Folder: String, Hashable, Sendable, CaseIterable {
        /// `PathGlobs`: paths of any host.
        case globs
        /// `URLPrefix`: URLs, with scheme and host.
        case prefix
    }

    /// A header field.
    public struct Header: Hashable, Sendable {
        /// The name.
        public let name: String
        /// The value, which is signed and not in the token.
        public let value: String

        /// Creates a header field.
        public init(_ name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Checks the settings that do not depend on the request.
    package func check() throws(SigningError) {
        if let data {
            guard !data.isEmpty else { throw SigningError(.value, value: "data") }
            try SigningText.demand(data, named: "data", allowing: Self.isValue)
        }
        for glob in globs {
            guard glob.utf8.first == UInt8(ascii: "/") else { throw SigningError(.value, value: "globs") }
            try SigningText.demand(glob, named: "globs") { Self.isValue($0) && $0 != UInt8(ascii: ",") }
        }
        for header in headers {
            guard !header.name.isEmpty, !header.value.isEmpty else { throw SigningError(.value, value: "headers") }
            try SigningText.demand(header.name, named: "headers", allowing: SigningText.isName)
            try SigningText.demand(header.value, named: "headers") {
                SigningText.isPrintable($0) && !"~,".utf8.contains($0)
            }
        }
    }

    /// True for a character of a field: no delimiter, and only characters of query parameters.
    static func isValue(_ byte: UInt8) -> Bool { SigningText.isQuery(byte) && byte != UInt8(ascii: "~") }
}

/// An issuer of tokens of Google Media CDN: `PathGlobs=…~Expires=…~Signature=…`.
///
/// With dual-token authentication this is the short token of the manifest's URL; the edge itself issues the long one.
public struct MediaCDNIssuer: VendorIssuer {
    /// The parameters.
    public let rules: MediaCDNRules
    private let key: Key

    private enum Key {
        case signature(SignatureMaker)
        case mac(HMACKey, isShort: Bool)
    }

    /// Creates an issuer with a key for Ed25519.
    ///
    /// - Throws: ``SigningError``.
    public init(_ key: SigningPrivateKey, rules: MediaCDNRules = MediaCDNRules()) throws(SigningError) {
        try rules.check()
        self.key = .signature(try key.maker(.ed25519))
        self.rules = rules
    }

    /// Creates an issuer with a shared key, which Media CDN has in URL-safe Base64.
    ///
    /// - Throws: ``SigningError``.
    public init(
        _ secret: SigningSecret,
        algorithm: Algorithm = .sha256,
        rules: MediaCDNRules = MediaCDNRules()
    ) throws(SigningError) {
        try rules.check()
        guard rules.isWeak || algorithm == .sha256 else { throw SigningError(.weak, value: "algorithm") }
        key = .mac(try secret.key(algorithm == .sha256 ? .sha256 : .sha1), isShort: secret.isShort)
        self.rules = rules
    }

    /// An algorithm of shared keys, within HMAC.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// SHA-256.
        case sha256
        /// SHA-1, which is weak.
        case sha1
    }

    public var format: VendorFormat { .mediaCDN }
    public var carriers: Set<SignedDelivery.Carrier> { [.query, .cookie] }
    public var warnings: [SigningWarning] {
        guard case .mac(let key, let isShort) = key else { return [] }
        return (isShort ? [.shortSecret] : []) + (key.function == .sha256 ? [] : [.weakAlgorithm])
    }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        let fields = try fields(signing)
        let signed = fields.map(\.signed).joined(separator: "~")
        var written = fields.map { $0.written ?? $0.signed }
        switch key {
        case .signature(let maker):
            written.append("Signature=\(Base64.encodeURLSafe(try maker.signature(of: signed)))")
        case .mac(let key, _): written.append("hmac=\(try key.code(of: signed).hexadecimal)")
        }
        var delivery = SignedDelivery(format: format, token: written.joined(separator: "~"), expires: signing.expires)
        try delivery.carry(as: rules.name, in: carriers, signing)
        return delivery
    }

    /// A field as it is signed, and its form in the token if that differs.
    private typealias Field = (signed: String, written: String?)

    private func fields(_ signing: Signing) throws(SigningError) -> [Field] {
        var fields = [try scope(signing)]
        func add(_ name: String, value: String) { fields.append(("\(name)=\(value)", nil)) }
        if rules.hasStart { add("Starts", value: String(signing.issued)) }
        add("Expires", value: String(signing.expires))
        if let session = try signing.session(MediaCDNRules.isValue) { add("SessionID", value: session) }
        if let data = rules.data { add("Data", value: data) }
        if !rules.headers.isEmpty {
            let signed = rules.headers.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
            fields.append(("Headers=\(signed)", "Headers=" + rules.headers.map(\.name).joined(separator: ",")))
        }
        if let client = signing.request.client {
            add("IPRanges", value: Base64.encodeURLSafe(Array(client.description.utf8)))
        }
        return fields
    }

    private func scope(_ signing: Signing) throws(SigningError) -> Field {
        let path = signing.path
        guard path.isFolder || !rules.globs.isEmpty else {
            try SigningText.demand(path.raw, named: "path") { $0 != UInt8(ascii: "~") }
            return ("FullPath=\(path.raw)", "FullPath")
        }
        switch rules.folder {
        case .prefix:
            guard rules.globs.isEmpty else { throw SigningError(.value, value: "globs") }
            let url = try signing.demandOrigin() + path.raw
            return ("URLPrefix=\(Base64.encodeURLSafe(Array(url.utf8)))", nil)
        case .globs:
            try SigningText.demand(path.raw, named: "path") { !"~,*".utf8.contains($0) }
            let globs = [path.raw + (path.isFolder ? "*" : "")] + rules.globs
            return ("PathGlobs=\(globs.joined(separator: ","))", nil)
        }
    }
}
