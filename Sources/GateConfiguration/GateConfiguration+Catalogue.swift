// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import EdgeChecks
internal import MediaResources
package import PlaybackGate
internal import RequestTargets

extension GateConfiguration.Catalogue {
    package init(
        _ section: ConfigurationSection,
        requestor: String?,
        profiles: [GrantProfile],
        licensed: [String]
    ) {
        var contents: [PlaybackGate.Catalogue.Entry: GateConfiguration.LicensedContent] = [:]
        var tokens: [PlaybackGate.Catalogue.Entry: [TokenSource]] = [:]
        entries = section.list("entries") { entry in
            let value = PlaybackGate.Catalogue.Entry.read(from: entry, requestor: requestor, profiles: profiles)
            let own = entry.has("tokens") ? entry.list("tokens", read: TokenSource.read).compactMap { $0 } : nil
            if let own, let value { tokens[value] = own }
            let content = GateConfiguration.LicensedContent.read(entry, known: licensed)
            if let content, let value {
                contents[value] = content
                if !(value.grants?.profiles.contains(where: \.isIssued) ?? false) {
                    entry.note(at: "licenceTokens", message: "requires the name of a profile with a key: grant: NAME")
                }
            }
            return Located(value: value, location: entry.location)
        }.compactMap { located in located.value.map { Located(value: $0, location: located.location) } }
        (self.tokens, self.contents) = (tokens, contents)
        feeds = section.list("feeds") { Feed($0, requestor: requestor, profiles: profiles) }
    }
}

extension GateConfiguration.Catalogue.Feed {
    fileprivate init(_ section: ConfigurationSection, requestor: String?, profiles: [GrantProfile]) {
        file = Located(value: section.requiredPath("file"), location: section.location("file"))
        self.requestor = section.requestor(default: requestor) ?? ""
        channel = section.optionalString("channel")
        paths = section.choice("paths", default: FeedPathScope.file)
        grants = section.profiles(profiles) ?? []
    }
}

extension PlaybackGate.Catalogue.Entry {
    /// Reads an entry; `nil` if it has no valid key or resource.
    fileprivate static func read(
        from section: ConfigurationSection,
        requestor: String?,
        profiles: [GrantProfile]
    ) -> Self? {
        let isShadow = section.bool("shadow", default: false)
        let isProtected = section.bool("protected", default: true)
        let key = readKey(section)
        let licence = readLicenceUse(section)
        let methods = readMethods(section, default: licence == nil ? [.get, .head] : [.post])
        let hosts = readHosts(section)
        section.rename("use", to: "admits: once, ttl or grant")
        let use = section.choice("admits", default: licence == nil ? Use.once : .grant)
        let resource: MediaResource? = section.parsed("resource", default: nil) { try MediaResource($0) }
        let grants = readGrants(from: section, use: use, profiles: profiles)
        guard isProtected else {
            _ = section.optionalString("requestor")
            for name in ["resource", "requestor", "admits", "grant", "licenceUse"] where section.has(name) {
                section.note(at: name, message: "must be absent if protected is false")
            }
            return key.map { Self(key: $0, protection: .none, isShadow: isShadow, methods: methods, hosts: hosts) }
        }
        let requestor = section.requestor(default: requestor) ?? ""
        guard section.has("resource") else {
            section.note(
                at: "resource",
                message: "resource is missing: name the required resource, or set protected: false"
            )
            return nil
        }
        if let licence { noteLicence(licence, in: section, use: use, methods: methods, grants: grants) }
        guard let key, let resource else { return nil }
        return Self(
            key: key,
            protection: .resource(resource, requestor: requestor),
            isShadow: isShadow,
            use: use,
            licence: licence,
            methods: methods,
            hosts: hosts,
            grants: grants
        )
    }

    /// Reads the grants of an entry: the names of profiles, and their scopes.
    private static func readGrants(
        from section: ConfigurationSection,
        use: Use,
        profiles: [GrantProfile]
    ) -> GrantTerms? {
        let scope: String? = section.parsed("scope", default: nil) { text in
            guard text.utf8.last == UInt8(ascii: "/"), text.isNormalPath else {
                throw ParseFault("must be a path that ends in /, in normal form and percent-encoded")
            }
            return text
        }
        let manifest: String? = section.parsed("manifest", default: nil) { text in
            guard text.isNormalPath else { throw ParseFault("must be a path in normal form, percent-encoded") }
            return text
        }
        guard let named = section.profiles(profiles) else {
            if use == .grant, !section.has("licenceUse") {
                section.note(at: "admits", message: "grant requires the name of a profile: grant: NAME")
            }
            if !section.has("grant") {
                for key in ["scope", "manifest"] where section.has(key) {
                    section.note(at: key, message: "requires the name of a profile: grant: NAME")
                }
            }
            return nil
        }
        var terms = GrantTerms(named)
        (terms.scope, terms.manifest) = (scope, manifest)
        guard section.has("media") else { return terms }
        if use == .grant, !section.has("licenceUse") {
            section.note(at: "admits", message: "grant requires path: edges ask for paths")
        }
        if terms.scope == nil, let manifest = terms.manifest, let slash = manifest.utf8.lastIndex(of: UInt8(ascii: "/"))
        {
            let folder = String(manifest[...slash])
            if folder != "/" { terms.scope = folder }
        }
        let hasScope = named.allSatisfy { $0.rules.scope != .folder }
        if terms.scope == nil, !hasScope, !section.isFaulty {
            section.note(
                at: "grant",
                message: terms.manifest == nil
                    ? "requires scope or manifest here, since a media id is no path"
                    : "requires scope here, since the manifest lies in the root: say scope: / if grants may open every path"
            )
        }
        return terms
    }

    /// Reads the rule for licences; `nil` for an entry without licences.
    private static func readLicenceUse(_ section: ConfigurationSection) -> LicenceUse? {
        let use = section.choice("licenceUse", default: LicenceUse.session)
        return section.has("licenceUse") ? use : nil
    }

    /// Notes what an entry for licences lacks, and what it must not have.
    private static func noteLicence(
        _ licence: LicenceUse,
        in section: ConfigurationSection,
        use: Use,
        methods: [PlaybackRequest.Method],
        grants: GrantTerms?
    ) {
        if use == .once {
            section.note(at: "admits", message: "must be grant or ttl beside licenceUse: a licence consumes no token")
        }
        if use == .withinTTL, licence != .session {
            section.note(
                at: "admits",
                message: "ttl is for licenceUse: session: only a grant proves which playback it is"
            )
        }
        if section.has("media") {
            section.note(at: "licenceUse", message: "requires path: players ask a path for licences")
        }
        if !methods.contains(.post) {
            section.note(at: "methods", message: "must have POST: players ask for licences by it")
        }
        if !section.has("grant") {
            section.note(at: "licenceUse", message: "requires the name of a profile: grant: NAME")
        }
        section.noteMethods(of: grants?.profiles ?? [], at: "grant")
    }

    private static func readMethods(
        _ section: ConfigurationSection,
        default usual: [PlaybackRequest.Method]
    ) -> [PlaybackRequest.Method] {
        guard let names = section.strings("methods") else { return usual }
        if names.isEmpty {
            section.note(at: "methods", message: "must name at least one method; omit it for the usual ones")
        }
        return names.compactMap { name in
            if let method = PlaybackRequest.Method(rawValue: name), method != .other { return method }
            let known = PlaybackRequest.Method.allCases.map(\.rawValue).filter { !$0.isEmpty }.joined(separator: ", ")
            section.note(at: "methods", message: "\(name) is not a supported method; supported: \(known)")
            return nil
        }
    }

    static func readHosts(_ section: ConfigurationSection) -> [HostName] {
        guard section.has("hosts") else { return section.hostNames("hosts") }
        if section.has("media") { section.note(at: "hosts", message: "requires path: a media id has no host") }
        let hosts = section.hostNames("hosts")
        // An empty list would match every host.
        if hosts.isEmpty, !section.isFaulty { section.note(at: "hosts", message: "must name at least one host") }
        return hosts
    }

    private static func readKey(_ section: ConfigurationSection) -> Key? {
        let pattern: PathPattern? = section.parsed("path", default: nil) { try PathPattern($0) }
        let media = section.optionalString("media")
        switch (media, section.has("path")) {
        case (let media?, false):
            if media.isEmpty { section.note(at: "media", message: "must not be empty") }
            return .media(media)
        case (nil, true): return pattern.map { .path($0) }
        default:
            section.note(
                at: "media",
                message: "exactly one of media (an id) and path (a path, a folder/ or a glob) is required"
            )
            return nil
        }
    }
}

extension ConfigurationSection {
    /// Notes the profiles whose grants do not permit requests for licences.
    func noteMethods(of profiles: [GrantProfile], at key: String) {
        for profile in profiles where profile.isIssued && profile.format == .cat {
            let methods = profile.rules.methods
            guard !methods.isEmpty, !methods.contains("POST") else { continue }
            let all = (methods + ["POST"]).joined(separator: ", ")
            note(
                at: key,
                message: "players ask for licences by POST: give the profile \(profile.name) methods: [\(all)]"
            )
        }
    }

    /// Reads the names of grant profiles; `nil` if the section has none.
    func profiles(_ known: [GrantProfile]) -> [GrantProfile]? {
        guard has("grant"), let names = strings("grant") else { return nil }
        if names.isEmpty, !isFaulty { note(at: "grant", message: "must name at least one profile") }
        let found = names.compactMap { name in
            let profile = known.first { $0.name == name }
            if profile == nil {
                let all = known.map(\.name).joined(separator: ", ")
                note(
                    at: "grant",
                    message: known.isEmpty ? "requires the section grants" : "no profile \(name); known: \(all)"
                )
            }
            return profile
        }
        return found.isEmpty ? nil : found
    }
}

extension String {
    /// True for a path in the normal form of URIs, without a query.
    fileprivate var isNormalPath: Bool { RequestURI(self[...])?.path.utf8.elementsEqual(utf8) ?? false }
}
