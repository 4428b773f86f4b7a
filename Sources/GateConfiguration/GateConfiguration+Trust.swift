// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings
internal import MediaResources
internal import MediaTokens
package import Platform
internal import PlaybackGate

extension GateConfiguration.Trust {
    /// Reads `trust`.
    ///
    /// - Parameter hasStarts: True if identity providers start playbacks, so that no media token needs to.
    package init(_ section: ConfigurationSection, hasStarts: Bool) {
        keys = section.list("keys", read: Key.init)
        if keys.isEmpty, !hasStarts, !section.isFaulty {
            section.note(
                at: "keys",
                message: "keys is missing: name at least one file with a certificate or public key"
            )
        }
        anchors = (section.strings("anchors") ?? []).map {
            Located(value: section.resolve($0), location: section.location("anchors"))
        }
        let matchOptions = MediaResource.MatchOptions(section)
        (minimumKeySize, verification) = section.advanced { part in
            (part.choice("minimumKeySize", default: KeySize.standard).minimum, .init(part, matching: matchOptions))
        }
    }

    private enum KeySize: String, CaseIterable {
        case standard = "rsa2048"
        case three = "rsa3072"
        case four = "rsa4096"
        case legacy = "legacy-rsa1024"

        var minimum: MinimumRSAKeySize {
            switch self {
            case .standard: .standard
            case .three: .atLeast(3072)
            case .four: .atLeast(4096)
            case .legacy: .legacy1024
            }
        }
    }
}

extension GateConfiguration.Trust.Key {
    package init(_ section: ConfigurationSection) {
        file = Located(value: section.requiredPath("file"), location: section.location("file"))
        name = section.optionalString("name")
        tokens = section.choice("tokens", default: MediaTokenForm.signedElement)
        requestors = section.strings("requestors")
        if requestors?.isEmpty ?? false {
            section.note(at: "requestors", message: "must not be empty; omit it for all requestors")
        }
        let earliest = Timestamp(millisecondsSince1970: .min)
        let start = section.parsed("notBefore", default: earliest, parse: Timestamp.parse)
        let end = section.parsed("notAfter", default: Timestamp(millisecondsSince1970: .max), parse: Timestamp.parse)
        if start > end {
            section.note(at: "notAfter", message: "is before notBefore")
        } else if section.has("notBefore") || section.has("notAfter") {
            validity = start...end
        }
    }
}

extension Timestamp {
    /// Parses a time of a configuration file.
    package static func parse(_ text: String) throws(ParseFault) -> Timestamp {
        guard let time = Timestamp(iso8601: text) else {
            throw ParseFault("must be a time in ISO 8601 with a zone, such as 2031-01-02T10:04:05Z")
        }
        return time
    }
}

extension GateConfiguration.Verification {
    fileprivate init(_ section: ConfigurationSection, matching matchOptions: MediaResource.MatchOptions) {
        earlyLeeway = section.duration("earlyLeeway", in: .zero ... .seconds(120), default: .seconds(60))
        lateLeeway = section.duration("lateLeeway", in: .zero ... .seconds(120), default: .zero)
        maximumTimeToLive = section.duration(
            "maximumTimeToLive",
            in: .milliseconds(1) ... .seconds(86_400),
            default: .seconds(900)
        )
        self.matchOptions = matchOptions
    }
}

extension MediaResource.MatchOptions {
    private enum Name: String, CaseIterable {
        case channelCoversAssets, ignoreRating, schemeAliases, ignoreCase, collapseWhitespace, strictNamespace
    }

    /// Reads `match`: the names of the permitted differences.
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        let names = section.choices("match", of: Name.self) ?? []
        channelCoversAssets = names.contains(.channelCoversAssets)
        ignoreRating = names.contains(.ignoreRating)
        schemeAliases = names.contains(.schemeAliases)
        ignoreCase = names.contains(.ignoreCase)
        collapseWhitespace = names.contains(.collapseWhitespace)
        videoNamespaceAlias = !names.contains(.strictNamespace)
    }
}

extension PlaybackPolicy {
    package init(_ section: ConfigurationSection) {
        let requestors = section.strings("requestors")
        let (allowed, denied) = section.section("mvpds") { ($0.strings("allow"), $0.strings("deny") ?? []) }
        let ratings = section.texts("maximumRatings").map { Rating(scheme: $0.key, value: $0.value) }
        for rating in ratings where !rating.isAtMost(rating) {
            section.note(
                at: "maximumRatings",
                message:
                    "\(rating.scheme) \(rating.value): unknown rating; known: urn:v-chip (TV-Y to TV-MA) and urn:mpaa (G to NC-17)"
            )
        }
        self.init(
            requestors: requestors,
            allowedMVPDs: allowed,
            deniedMVPDs: denied,
            maximumRatings: ratings,
            allowsUnrated: section.bool("allowUnrated", default: false)
        )
    }
}
