// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeChecks
internal import Encodings
internal import HTTPServer
package import Manifests
package import PlaybackGate

extension GateConfiguration {
    /// The settings of the listener that rewrites manifests.
    package struct Manifest: Sendable {
        /// The listeners, one for each address; all other settings are common.
        package var listeners: [Listener]
        /// The origin that manifests are fetched from.
        package var origin: OriginAddress
        /// Other hosts to which the origin may redirect.
        var redirectHosts: [URIAuthority]
        /// The beginning of the paths of players' URLs, which a proxy in front removes.
        package var publicPath: PublicPath
        /// The way in which references carry a grant.
        package var mode: Mode
        /// The changes to manifests besides the grants in their references.
        package var options: ManifestRules.Options
        /// The hosts whose references carry a grant, besides the one that the player requested.
        package var hosts: [HostName]
        /// The profile of the grants among those of an entry; `nil` for the first.
        package var profile: String?
        /// The sources in which players may present tokens and grants.
        package var sources: TokenSources
        /// The peers whose `X-Forwarded-*` fields are the facts of a request.
        package var peers: TrustedPeers
        /// The rule by which the client's address is chosen from `X-Forwarded-For` of a trusted peer.
        package var forwardedFor: ForwardedFor
        /// The ends of the paths that are manifests, in lower case.
        package var suffixes: [String]
        /// Other paths that are manifests, with any ending.
        package var paths: PlaybackGate.Catalogue
        /// The time by which a viewer may exceed the duration of a finished playlist.
        package var margin: Duration
        /// The limits of fetches.
        package var limits: ManifestLimits
        /// The rules for scripts of other sites; `nil` if none may read manifests.
        package var crossOrigin: CrossOriginRules?

        /// A way in which references carry a grant.
        package enum Mode: Hashable, Sendable {
            /// A path segment before the path.
            case segment
            /// A query parameter.
            case query(name: String)

            /// The names in configurations and requests.
            package enum Name: String, CaseIterable { case segment, query }

            /// - Parameter parameter: The name of the query parameter.
            package init(_ name: Name, parameter: String) {
                self = name == .segment ? .segment : .query(name: parameter)
            }
        }

    }
}

extension GateConfiguration.Manifest {
    package init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile],
        edge: TokenSources?,
        advanced: GateConfiguration.Advanced
    ) {
        let fallback = ListenerAddress.tcp(host: "127.0.0.1", port: 8082)
        listeners = GateConfiguration.Listener.list(section, default: fallback, limits: advanced.limits)
        peers = TrustedPeers(section, tls: listeners.first?.tls)
        forwardedFor = ForwardedFor(section)
        if !section.has("origin") {
            section.note(at: "origin", message: "origin is missing, such as https://origin.example")
        }
        origin = section.parsed("origin", default: .none) { try OriginAddress($0) }
        let margins = Duration.zero ... .seconds(86_400)
        let parameter: String
        (redirectHosts, publicPath, parameter, options, suffixes, margin) = section.advanced { part in
            (
                part.authorities("allowRedirectsTo"), part.publicPath("publicPath"), part.parameter("parameter"),
                part.manifestOptions("rewrite"), part.suffixes("suffixes"),
                part.duration("vodMargin", in: margins, default: .seconds(3600))
            )
        }
        for old in ManifestOption.allCases.map(\.rawValue) {
            section.rename(old, to: "advanced: { rewrite: [\(old)] }", unless: "false")
        }
        mode = Mode(section.choice("mode", default: .segment), parameter: parameter)
        hosts = section.hostNames("hosts")
        profile = section.optionalString("profile")
        sources = TokenSources(
            section,
            tokensOfEntries: tokensOfEntries,
            profiles: profiles,
            default: edge
        )
        // A cookie must not hide the grant that a redirect put into the URL.
        .trying(first: mode.source)
        paths = section.patterns("paths")
        limits = advanced.manifests
        section.rename("fetches", to: "advanced: { manifests: { fetches: … } }")
        section.rename("manifestBytes", to: "advanced: { manifests: { bytes: … } }")
        section.rename("timeouts", to: "advanced: { manifests: { connect: …, response: …, body: … } }")
        crossOrigin = section.optionalSection("cors", read: CrossOriginRules.init)
        noteConflicts(in: section, profiles: profiles)
    }

    /// The redirects that are followed.
    package var redirects: OriginRedirects { OriginRedirects(origin: origin, hosts: redirectHosts) }

    private func noteConflicts(in section: ConfigurationSection, profiles: [GrantProfile]) {
        guard !profiles.isEmpty else {
            section.note(at: "origin", message: "requires the section grants of the file: references carry grants")
            return
        }
        if let profile {
            let known = profiles.map(\.name).joined(separator: ", ")
            switch profiles.first(where: { $0.name == profile })?.format {
            case .cat: break
            case nil: section.note(at: "profile", message: "no profile \(profile); known: \(known)")
            case let format?:
                section.note(
                    at: "profile",
                    message: "\(profile) has the format \(format.name): references carry grants of the format cat"
                )
            }
        }
        if !section.isFaulty, !sources.grants.contains(mode.source) {
            section.note(at: "mode", message: "requires \(mode.source.configured) among the sources of grants")
        }
    }
}

extension GateConfiguration.Manifest.Mode {
    /// The source in which references carry a grant.
    package var source: TokenSource {
        switch self {
        case .segment: .segment(IssuedGrant.segmentPrefix)
        case .query(let name): .query(name)
        }
    }
}

extension CrossOriginRules {
    fileprivate init(_ section: ConfigurationSection) {
        let names = section.strings("origins") ?? []
        if names.isEmpty, !section.isFaulty {
            section.note(
                at: "origins",
                message: "origins is missing: name the sites of players, such as https://player.example, or *"
            )
        }
        for name in names where name != "*" && !name.isWebOrigin {
            section.note(
                at: "origins",
                message: "\(name) must be * or an origin without a path, such as https://player.example"
            )
        }
        let ages = Duration.zero ... .seconds(86_400)
        let (allowsCredentials, age, headers) = section.advanced { part in
            (
                part.bool("credentials", default: false), part.duration("maxAge", in: ages, default: .seconds(600)),
                part.fieldNames("allowHeaders")
            )
        }
        if names.contains("*"), names.count > 1 || allowsCredentials {
            section.note(at: "origins", message: "* must be alone, and without credentials")
        }
        self.init(
            origins: names.contains("*") ? nil : names.map { $0.lowercased() },
            allowsCredentials: allowsCredentials,
            maximumAge: age.components.seconds,
            requestHeaders: headers
        )
    }
}

extension ConfigurationSection {
    /// Reads the ends of paths, each with its dot.
    fileprivate func suffixes(_ key: String) -> [String] {
        let suffixes = strings(key) ?? [".m3u8", ".mpd"]
        if suffixes.isEmpty, !isFaulty { note(at: key, message: "must name at least one, such as .m3u8") }
        for suffix in suffixes {
            let isPlain = suffix.utf8.allSatisfy { 0x21..<0x7F ~= $0 && !"?#%;\\".utf8.contains($0) }
            guard suffix.utf8.count < 2 || !isPlain || suffix.utf8.first != UInt8(ascii: ".") else { continue }
            note(at: key, message: "\(suffix) must begin with a dot, such as .m3u8")
        }
        return suffixes.map { $0.lowercased() }
    }
}

/// A change to manifests besides the grants in their references.
private enum ManifestOption: String, CaseIterable {
    case keysWithoutGrant, defineGrant
}

extension ConfigurationSection {
    /// Reads the changes to manifests besides the grants in their references.
    fileprivate func manifestOptions(_ key: String) -> ManifestRules.Options {
        let named = choices(key, of: ManifestOption.self) ?? []
        var options: ManifestRules.Options = []
        if named.contains(.keysWithoutGrant) { options.insert(.sparingKeys) }
        if named.contains(.defineGrant) { options.insert(.definingGrant) }
        return options
    }

    /// Reads the beginning of players' paths.
    fileprivate func publicPath(_ key: String) -> PublicPath {
        parsed(key, default: .none) { text throws(ParseFault) in
            guard let path = PublicPath(text) else {
                throw ParseFault("must be a path of letters, digits, '-', '.', '_' and '~', such as /watch")
            }
            return path
        }
    }

    /// Reads the name of a query parameter.
    fileprivate func parameter(_ key: String) -> String {
        let name = optionalString(key) ?? IssuedGrant.queryName
        if !ManifestRules.Mode.query(name: name).isValid {
            note(at: key, message: "must be 1 to 64 letters, digits, '-', '.', '_' and '~'")
        }
        return name
    }

    /// Reads patterns of paths, as the catalogue has them.
    fileprivate func patterns(_ key: String) -> PlaybackGate.Catalogue {
        var catalogue = PlaybackGate.Catalogue()
        for text in strings(key) ?? [] {
            do {
                try catalogue.add(.init(key: .path(try PathPattern(text)), protection: .none))
            } catch let error as PathPatternError {
                note(at: key, message: "\(text): \(error.rawValue)")
            } catch { note(at: key, message: "\(text) is named twice") }
        }
        return catalogue
    }

    /// Reads hosts, with a port or without.
    fileprivate func authorities(_ key: String) -> [URIAuthority] {
        (strings(key) ?? []).compactMap { name in
            if let authority = URIAuthority(name.lowercased()[...]) { return authority }
            note(at: key, message: "\(name) must be a host, perhaps with a port, such as origin-2.example:8443")
            return nil
        }
    }

    /// Reads names of header fields.
    fileprivate func fieldNames(_ key: String) -> [String] {
        let names = strings(key) ?? []
        for name in names where !(name.isToken && name.utf8.count <= 64) {
            note(at: key, message: "\(name) is no name of a header field, such as X-Session")
        }
        return names
    }
}

extension String {
    /// True for a scheme, a host and perhaps a port, as browsers send it in `Origin` (RFC 6454 §6.2).
    fileprivate var isWebOrigin: Bool {
        guard let rest = ["https://", "http://"].first(where: { hasPrefix($0) }).map({ dropFirst($0.count) }),
            let host = HostName(rest)
        else { return false }
        return rest.lowercased().hasPrefix(host.text.lowercased()) && !rest.contains("/")
    }
}
