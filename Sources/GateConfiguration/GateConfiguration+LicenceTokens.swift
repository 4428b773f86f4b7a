// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings
package import Keys
package import Licences
internal import PlaybackGate

// The section `licenceTokens`: tokens for licence servers, which a start at the API hands out; and the content of entries.

extension GateConfiguration {
    /// The tokens for one licence server.
    package struct LicenceTokens: Sendable {
        package var rules: LicenceTokenRules
        package var key: Key
        /// The files that keys were read from.
        package var keyFiles: [Secret.File]
        package var keyID: KeyID?
        package var algorithm: KeyAlgorithm
        /// The file with the claims.
        package var claims: Located<String>?
        package var location: ConfigurationLocation

        /// The key that signs.
        package enum Key: Sendable {
            case secret([UInt8])
            case pem(Secret)
            case doveRunner(DoveRunnerKeys)
        }
    }

    /// The content of an entry, for which a playback gets tokens for licence servers.
    package struct LicensedContent: Sendable {
        /// The names of the tokens.
        package var tokens: [String]
        package var asset: String
        package var keys: ContentKeys
        /// The CPIX document with more keys.
        package var cpix: Located<String>?
        package var location: ConfigurationLocation
    }
}

extension GateConfiguration.LicenceTokens {
    init(_ name: String, in section: ConfigurationSection) {
        location = section.location
        let form = section.choice("form", default: LicenceTokenForm.jws)
        rules = LicenceTokenRules(name, form: form)
        rules.life = section.duration("life", in: .seconds(5)...form.longestLife, default: rules.life)
        rules.carrier = Self.carrier(of: form, in: section)
        rules.policy.isPersistent = section.bool("persistent", default: false)
        let duration = section.duration("duration", in: .zero ... .seconds(365 * 86_400), default: .zero)
        if section.has("duration"), !section.isFaulty, duration.components.attoseconds != 0 || duration < .seconds(1) {
            section.note(at: "duration", message: "must be whole seconds, at least 1s")
        }
        rules.policy.duration = duration > .zero ? duration : nil
        rules.policy.outputProtection = section.choices("outputs", of: LicencePolicy.Output.self).map(Set.init)
        let pictures = TrackType.pictures.map(\.rawValue)
        let picture = section.choice("largestPicture", among: pictures, default: TrackType.uhd2.rawValue)
        if section.has("largestPicture") { rules.policy.largestPicture = TrackType(rawValue: picture) }
        for (text, value) in section.scalars("tracks") {
            guard let type = TrackType(text: value) else {
                let known = TrackType.allCases.map(\.rawValue).joined(separator: ", ")
                section.note(at: "tracks", message: "\(text): \(value) is none of \(known)")
                continue
            }
            rules.tracks[text] = type
        }
        rules.settings = Dictionary(section.scalars("settings").map { ($0.key, $0.value) }) { _, last in last }
        claims = section.optionalPath("claims").map { Located(value: $0, location: section.location("claims")) }
        let id = section.optionalString("key")
        keyID = id.flatMap { KeyID($0) }
        if id != nil, keyID == nil { section.note(at: "key", message: "a key id has 1 to 64 bytes") }
        algorithm = Self.algorithm(of: form, in: section)
        (key, keyFiles) = Self.key(of: form, in: section)
    }

    private static func carrier(of form: LicenceTokenForm, in section: ConfigurationSection) -> LicenceToken.Carrier {
        let (header, query) = (section.optionalString("header"), section.optionalString("query"))
        if header != nil, query != nil { section.note(at: "query", message: "must be absent beside header") }
        if let name = header ?? query, !name.isToken {
            section.note(
                at: header == nil ? "query" : "header",
                message: "must be the name of a header field or parameter"
            )
        }
        return header.map { .header($0) } ?? query.map { .query($0) } ?? form.carrier
    }

    private static func algorithm(of form: LicenceTokenForm, in section: ConfigurationSection) -> KeyAlgorithm {
        let names = LicenceTokenForm.jws.algorithms.map(\.rawValue)
        let usual = form.algorithms.first ?? .hs256
        let name = section.choice("algorithm", among: names, default: usual.rawValue)
        let algorithm = KeyAlgorithm(rawValue: name) ?? usual
        if section.has("algorithm"), !form.algorithms.contains(algorithm), !section.isFaulty {
            let known = form.algorithms.map(\.rawValue).joined(separator: ", ")
            section.note(at: "algorithm", message: "\(form.rawValue) has \(known.isEmpty ? "none to choose" : known)")
        }
        return algorithm
    }

    private static func key(of form: LicenceTokenForm, in section: ConfigurationSection) -> (Key, [Secret.File]) {
        let encoding = section.choice("encoding", default: form.secretEncoding)
        let secret = section.has("secret") ? section.secret("secret") : nil
        let pem = section.has("private") ? section.secret("private") : nil
        let site = section.has("siteKey") ? section.secret("siteKey") : nil
        guard form != .doveRunner else {
            let keys = DoveRunnerKeys(access: secret?.text ?? "", site: site?.text ?? "")
            if keys == nil, !section.isFaulty {
                let message = "doverunner needs secret, the access key, and siteKey of 32 characters, both of ASCII"
                section.note(at: section.has("siteKey") ? "siteKey" : "secret", message: message)
            }
            for key in ["private", "encoding", "key", "life"] where section.has(key) {
                section.note(at: key, message: "is not for doverunner: it has secret and siteKey")
            }
            return (keys.map { .doveRunner($0) } ?? .secret([]), [secret?.file, site?.file].compactMap(\.self))
        }
        if site != nil { section.note(at: "siteKey", message: "is for doverunner alone") }
        switch (secret, pem) {
        case (let secret?, nil):
            let text = secret.text
            let bytes =
                switch encoding {
                case .base64: Base64.decode([UInt8](text.utf8))
                case .hexadecimal: [UInt8](hexadecimalDigits: text.utf8)
                case .text: [UInt8](text.utf8)
                }
            if bytes == nil {
                section.note(
                    at: "secret",
                    message: "is no \(encoding == .base64 ? "Base64" : "text of hexadecimal digits")"
                )
            }
            return (.secret(bytes ?? []), [secret.file].compactMap(\.self))
        case (nil, let pem?):
            if section.has("encoding") { section.note(at: "encoding", message: "is for a secret alone") }
            return (.pem(pem), [pem.file].compactMap(\.self))
        default:
            if !section.isFaulty {
                section.note(at: "secret", message: "exactly one of secret and private is required")
            }
            return (.secret([]), [])
        }
    }
}

extension GateConfiguration.LicensedContent {
    /// Reads the content of an entry or a stream; `nil` if it has none.
    ///
    /// - Parameter known: The names of the section `licenceTokens`.
    static func read(_ section: ConfigurationSection, known: [String]) -> Self? {
        let tokens = section.strings("licenceTokens") ?? []
        let asset = section.optionalString("asset")
        var tracks: [(id: ContentKeyID, track: String)] = []
        for (track, ids) in section.lists("contentKeys") {
            for text in ids {
                guard let id = ContentKeyID(text) else {
                    section.note(at: "contentKeys", message: "\(track): \(text) is no UUID, nor 32 hexadecimal digits")
                    continue
                }
                tracks.append((id, track))
            }
        }
        let cpix = section.optionalPath("cpix").map { Located(value: $0, location: section.location("cpix")) }
        for name in tokens where !known.contains(name) {
            let all = known.joined(separator: ", ")
            section.note(
                at: "licenceTokens",
                message: known.isEmpty ? "requires the section licenceTokens" : "no tokens \(name); known: \(all)"
            )
        }
        guard section.has("licenceTokens") else {
            for key in ["asset", "contentKeys", "cpix"] where section.has(key) {
                section.note(at: key, message: "requires licenceTokens: the names of tokens for licence servers")
            }
            return nil
        }
        guard let asset else {
            if !section.isFaulty {
                section.note(
                    at: "licenceTokens",
                    message: "requires asset: the name of the content at the licence server"
                )
            }
            return nil
        }
        return Self(
            tokens: tokens,
            asset: asset,
            keys: ContentKeys(tracks),
            cpix: cpix,
            location: section.location("licenceTokens")
        )
    }
}
