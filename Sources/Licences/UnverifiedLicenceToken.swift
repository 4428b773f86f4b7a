// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Keys
public import Platform

/// A token for a licence server, read without verification: only its server can verify it.
public struct UnverifiedLicenceToken: Sendable {
    /// The form that the claims have.
    public let form: LicenceTokenForm
    /// The algorithm in the header.
    public let algorithm: String?
    /// The id of the key: in the header, or the claim that the vendor has for it.
    public let keyID: String?
    /// The end of its life; `nil` if it says none.
    public let expires: Timestamp?
    /// The claims with their paths, in order. Texts with JSON are read: `crt.assetId`.
    public let claims: [(name: String, value: String)]

    /// Reads a token; `nil` for a text that is none of a vendor's forms.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64 << 10, let first = Self.object(parts[0]) else { return nil }
        // DoveRunner's token is no JSON Web Token, and its policy is encrypted.
        let isWeb = parts.count == 3
        guard isWeb || parts.count == 1, let payload = isWeb ? Self.object(parts[1]) : first,
            let form = isWeb ? Self.form(of: payload) : Self.formOfObject(payload)
        else { return nil }
        self.form = form
        algorithm = isWeb ? first.text("alg") : nil
        keyID =
            isWeb ? first.text("kid") ?? payload.text("com_key_id") ?? payload.text("kid") : payload.text("site_id")
        expires =
            payload.number("exp").map { Timestamp(secondsSince1970: $0) }
            ?? payload.text("expiration_date").flatMap { Timestamp(iso8601: $0) }
        var claims: [(name: String, value: String)] = []
        Self.list(.object(payload), at: "", into: &claims)
        self.claims = claims
    }

    private static func formOfObject(_ members: [JSON.Member]) -> LicenceTokenForm? {
        members.text("drm_type") != nil && members.has("policy") ? .doveRunner : nil
    }

    private static func object(_ part: Substring) -> [JSON.Member]? {
        guard let bytes = Base64.decode(Array(part.utf8)), case .object(let members)? = read(bytes) else { return nil }
        return members
    }

    private static func read(_ bytes: [UInt8]) -> JSON? {
        try? JSONReader.read(bytes.span, limits: JSONLimits(depth: 16, members: 64, elements: 1024))
    }

    private static func form(of payload: [JSON.Member]) -> LicenceTokenForm? {
        if payload.text("crt") != nil, payload.text("optData") != nil { return .castLabs }
        if payload.text("com_key_id") != nil, payload.has("message") { return .axinom }
        if payload.text("typ") == "ContentAuthZ" { return .nagra }
        if payload.text("aud") == "d", payload.text("sub") != nil { return .mux }
        if case .array? = payload.value("kid"), payload.has("exp") { return .drmCloud }
        return nil
    }

    /// Lists the leaves of a value. A text that is a JSON object or list is one too.
    private static func list(_ value: JSON, at path: String, into claims: inout [(name: String, value: String)]) {
        switch value {
        case .object(let members) where !members.isEmpty:
            for (name, value) in members { list(value, at: path.isEmpty ? name : "\(path).\(name)", into: &claims) }
        case .array(let values) where !values.isEmpty:
            for (index, value) in values.enumerated() { list(value, at: "\(path)[\(index)]", into: &claims) }
        case .string(let text) where text.hasPrefix("{") || text.hasPrefix("["):
            if let inner = read(Array(text.utf8)) {
                list(inner, at: path, into: &claims)
            } else {
                claims.append((path, value.line))
            }
        default: claims.append((path, value.line))
        }
    }
}

extension [JSON.Member] {
    fileprivate func value(_ name: String) -> JSON? { first { $0.name == name }?.value }
    fileprivate func has(_ name: String) -> Bool { value(name) != nil }
    fileprivate func text(_ name: String) -> String? { if case .string(let text)? = value(name) { text } else { nil } }
    fileprivate func number(_ name: String) -> Int64? {
        if case .number(let number)? = value(name) { number } else { nil }
    }
}
