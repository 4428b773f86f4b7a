// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
public import Keys
public import Platform

/// An issuer of the tokens for one licence server.
///
/// The claims of ``LicenceTokenForm/jws`` are a JSON object with blanks: `{asset}`, `{keys}` (a list of UUIDs), `{session}`,
/// `{viewer}`, `{id}` (a random UUID), `{keyID}`, `{issued}` and `{expires}` (seconds since 1970), `{issuedTime}` and
/// `{expiresTime}` (ISO 8601). A text that is only a blank becomes its value. An object with the only member `$text` becomes a
/// text with the JSON of that member.
public final class LicenceTokenIssuer: Sendable {
    /// The rules.
    public let rules: LicenceTokenRules
    private let maker: Maker
    private let keyID: String?
    private let template: ClaimsTemplate?

    /// The maker of a text from claims.
    private enum Maker: Sendable {
        /// A key, and the encoded header.
        case jws(TokenKey, header: String)
        case doveRunner(DoveRunnerKeys)
    }

    /// The blanks of a template.
    static let blanks: Set<String> = [
        "asset", "keys", "session", "viewer", "id", "keyID", "issued", "expires", "issuedTime", "expiresTime",
    ]

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - rules: The rules.
    ///   - key: The key, for one of the form's algorithms, with its id if the form needs one.
    /// - Throws: ``LicenceTokenError/Code/rules`` or ``LicenceTokenError/Code/key``.
    public init(_ rules: LicenceTokenRules, key: TokenKey) throws(LicenceTokenError) {
        let form = rules.form
        guard form.algorithms.contains(key.algorithm), key.operations.contains(.sign) else {
            let names = form.algorithms.map(\.rawValue).joined(separator: ", ")
            throw LicenceTokenError(.key, reason: "\(form.rawValue) needs a key that signs by \(names)")
        }
        let id = key.id?.text
        if form.needsKeyID, id == nil {
            throw LicenceTokenError(.rules, reason: "\(form.rawValue) needs the id of the key")
        }
        if let fault = Self.fault(of: rules) { throw LicenceTokenError(.rules, reason: fault) }
        template = try rules.claims.map { (bytes) throws(LicenceTokenError) in
            try ClaimsTemplate(bytes, naming: Self.blanks)
        }
        if let template, let fault = Self.fault(of: rules, template) { throw LicenceTokenError(.rules, reason: fault) }
        var members: [JSON.Member] = [("alg", .string(key.algorithm.rawValue))]
        // Axinom and drm.cloud find the key by a claim, or have only one.
        if let id, form != .axinom, form != .drmCloud { members.append(("kid", .string(id))) }
        if let type = rules.type { members.append(("typ", .string(type))) }
        let header = Base64.encodeURLSafe([UInt8](JSON.object(members).line.utf8))
        (self.rules, maker, keyID) = (rules, .jws(key, header: header), id)
    }

    /// Creates an issuer of the tokens of ``LicenceTokenForm/doveRunner``.
    ///
    /// - Throws: ``LicenceTokenError/Code/rules``.
    public init(_ rules: LicenceTokenRules, keys: DoveRunnerKeys) throws(LicenceTokenError) {
        guard rules.form == .doveRunner else {
            throw LicenceTokenError(.key, reason: "\(rules.form.rawValue) has no access key")
        }
        if let fault = Self.fault(of: rules) { throw LicenceTokenError(.rules, reason: fault) }
        (self.rules, maker, keyID, template) = (rules, .doveRunner(keys), nil, nil)
    }

    /// Returns the first rule that the form cannot say, or lacks; `nil` if there is none.
    private static func fault(of rules: LicenceTokenRules) -> String? {
        let (form, policy) = (rules.form, rules.policy)
        let (name, can) = (form.rawValue, form.abilities)
        guard .seconds(5)...form.longestLife ~= rules.life else { return "\(name): the life must be from 5s to 24h" }
        if policy.isPersistent, !can.persistence { return "\(name) cannot say that licences may be stored" }
        if policy.duration != nil, !can.duration { return "\(name) cannot say how long a licence is good" }
        if policy.outputProtection != nil, !can.outputs { return "\(name) cannot say which outputs must be protected" }
        if policy.largestPicture != nil, !can.picture { return "\(name) cannot say how large a picture may be" }
        if let largest = policy.largestPicture, largest.definition == nil {
            return "\(largest.rawValue) is no size of a picture: SD, HD, UHD1 or UHD2"
        }
        for (setting, isRequired) in form.settings where isRequired && (rules.settings[setting] ?? "").isEmpty {
            return "\(name) needs the setting \(setting)"
        }
        for setting in rules.settings.keys.sorted() where !form.settings.contains(where: { $0.name == setting }) {
            let known = form.settings.map(\.name).joined(separator: ", ")
            return "\(name) has no setting \(setting)" + (known.isEmpty ? "" : "; known: \(known)")
        }
        if form.needsClaims != (rules.claims != nil) {
            return form.needsClaims ? "\(name) needs claims" : "\(name) has claims of its own"
        }
        if let system = rules.settings["drm"], !LicenceTokenGrounds.doveRunnerSystems.contains(system) {
            return "drm must be one of \(LicenceTokenGrounds.doveRunnerSystems.joined(separator: ", "))"
        }
        if let list = rules.settings["crt"], !["object", "list"].contains(list) {
            return "crt must be object or list"
        }
        return nil
    }

    /// Returns the first blank that the rules need and the claims lack; `nil` if there is none.
    private static func fault(of rules: LicenceTokenRules, _ template: ClaimsTemplate) -> String? {
        if rules.form == .jws, template.blanks.isDisjoint(with: ["expires", "expiresTime"]) {
            return "the claims say no end: they need {expires} or {expiresTime}"
        }
        if rules.policy.largestPicture != nil, !template.blanks.contains("keys") {
            return "largestPicture leaves keys out, and the claims have no {keys}"
        }
        return nil
    }

    /// Checks that tokens can be issued for an asset.
    ///
    /// - Throws: ``LicenceTokenError/Code/content``.
    public func check(asset: String, keys: ContentKeys) throws(LicenceTokenError) {
        _ = try licensedKeys(of: asset, among: keys)
    }

    /// Returns the keys that tokens are for.
    private func licensedKeys(of asset: String, among keys: ContentKeys) throws(LicenceTokenError) -> [ContentKeyID] {
        guard !asset.isEmpty, asset.utf8.count <= 1024 else {
            throw LicenceTokenError(.content, reason: "the asset must have from 1 to 1024 bytes")
        }
        let ids = try keys.ids(upTo: rules.policy.largestPicture, naming: rules.tracks)
        // DoveRunner's server knows the tracks of its keys.
        let isNarrowed = rules.policy.largestPicture != nil && rules.form != .doveRunner
        if ids.isEmpty, rules.form.needsContentKeys || isNarrowed {
            throw LicenceTokenError(.content, reason: "\(rules.form.rawValue) needs the ids of content keys")
        }
        return ids
    }

    /// Issues a token.
    ///
    /// - Parameters:
    ///   - order: The playback and its content.
    ///   - now: The time of the issue.
    /// - Throws: ``LicenceTokenError`` if the content is not what the form needs, the session has ended, or OpenSSL fails.
    public func issue(_ order: LicenceOrder, at now: Timestamp) throws(LicenceTokenError) -> LicenceToken {
        let keys = try licensedKeys(of: order.asset, among: order.keys)
        let seconds = now.millisecondsSince1970 / 1000
        let end = min(seconds + rules.life.components.seconds, order.sessionEnd.millisecondsSince1970 / 1000)
        guard end > seconds else { throw LicenceTokenError(.unavailable, reason: "the session has ended") }
        guard let random = try? RandomBytes.make(16) else {
            throw LicenceTokenError(.unavailable, reason: "OpenSSL has no random bytes")
        }
        let grounds = LicenceTokenGrounds(
            rules: rules,
            keyID: keyID ?? "",
            order: order,
            keys: keys,
            id: ContentKeyID.random(random).description,
            issued: seconds,
            expires: end
        )
        return LicenceToken(
            name: rules.name,
            form: rules.form,
            text: try text(on: grounds, at: now),
            expires: rules.form == .doveRunner ? nil : Timestamp(secondsSince1970: end),
            carrier: rules.carrier
        )
    }

    private func text(on grounds: LicenceTokenGrounds, at now: Timestamp) throws(LicenceTokenError) -> String {
        switch maker {
        case .doveRunner(let keys):
            guard let text = grounds.doveRunner(by: keys) else {
                throw LicenceTokenError(.unavailable, reason: "OpenSSL cannot encrypt the policy")
            }
            return text
        case .jws(let key, let header):
            guard key.isValid(at: now) else {
                throw LicenceTokenError(.unavailable, reason: "the key is not valid now")
            }
            let message = "\(header).\(Base64.encodeURLSafe([UInt8](claims(on: grounds).line.utf8)))"
            do throws(KeySetError) { return try key.signedJWS(message) } catch {
                throw LicenceTokenError(.unavailable, reason: error.reason)
            }
        }
    }

    private func claims(on grounds: LicenceTokenGrounds) -> JSON {
        let own = template?.filled(with: grounds.values) ?? .object([])
        return switch rules.form {
        case .jws, .doveRunner: own
        case .castLabs: grounds.castLabs
        case .axinom: grounds.axinom
        case .nagra: grounds.nagra(rights: own)
        case .drmCloud: grounds.drmCloud
        case .mux: grounds.mux
        }
    }
}

/// The values from which the claims of a token are made.
struct LicenceTokenGrounds {
    let rules: LicenceTokenRules
    let keyID: String
    let order: LicenceOrder
    let keys: [ContentKeyID]
    /// A random UUID.
    let id: String
    /// Seconds since 1970.
    let issued, expires: Int64

    var issuedTime: String { Timestamp(secondsSince1970: issued).iso8601 }
    var expiresTime: String { Timestamp(secondsSince1970: expires).iso8601 }

    /// The values of a template's blanks.
    var values: ClaimsTemplate.Values {
        [
            "asset": .string(order.asset), "keys": .strings(keys.map(\.description)), "session": .string(order.session),
            "viewer": .optional(order.viewer), "id": .string(id), "keyID": .string(keyID), "issued": .number(issued),
            "expires": .number(expires), "issuedTime": .string(issuedTime), "expiresTime": .string(expiresTime),
        ]
    }
}

extension ContentKeyID {
    /// Returns a UUID of version 4 (RFC 9562) of random bytes.
    fileprivate static func random(_ bytes: [UInt8]) -> Self {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Self(bytes)
    }
}
