// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Keys
internal import MediaResources
internal import Platform
internal import PlaybackGate
internal import RequestTargets

// The section `streams`. A stream is a folder: a media token starts it at a manifest, and the grant that the start hands over
// opens the rest. All that this needs has a default: the entries, the profile of grants, and its keys.

extension GateConfiguration {
    /// A stream of the section `streams`.
    struct Stream {
        /// The entries in the catalogue: the starts, and the rest of the folder.
        let entries: [Located<PlaybackGate.Catalogue.Entry>]
        /// The content that its playbacks get tokens for licence servers for; `nil` for none.
        let content: LicensedContent?
    }

    /// The name of the profile of streams that name none, of its key, and of its issuer.
    package enum StreamDefaults {
        static let profile = "streams"
        package static let key = "streams"
        static let issuer = "playgate"
        /// The manifests that start a stream: HLS and MPEG-DASH, anywhere in its folder itself.
        static let manifests = ["*.m3u8", "*.mpd"]
        /// The files of the keys in ``StateFolder``.
        static let keyFile = "grant.key"
        static let subjectKeyFile = "subject.key"
    }
}

extension GateConfiguration.Stream {
    init(_ section: ConfigurationSection, requestor: String?, profiles: [GrantProfile], licensed: [String]) {
        let location = section.location
        let isShadow = section.bool("shadow", default: false)
        let requestor = section.requestor(default: requestor) ?? ""
        let resource: MediaResource? = section.parsed("resource", default: nil) { try MediaResource($0) }
        if !section.has("resource") {
            section.note(at: "resource", message: "resource is missing: the resource of the media tokens")
        }
        let hosts = PlaybackGate.Catalogue.Entry.readHosts(section)
        let folder = Self.folder(section)
        let manifests = section.strings("manifest") ?? GateConfiguration.StreamDefaults.manifests
        let starts = folder.map { folder in manifests.compactMap { Self.pattern($0, in: folder, of: section) } } ?? []
        if manifests.isEmpty, !section.isFaulty {
            section.note(at: "manifest", message: "must name at least one file; omit it for \(Self.usual)")
        }
        let named =
            section.profiles(profiles) ?? profiles.filter { $0.name == GateConfiguration.StreamDefaults.profile }
        let names = section.strings("licences") ?? []
        let licences = folder.map { folder in names.compactMap { Self.licence($0, in: folder, of: section) } } ?? []
        let licenceUse = section.choice("licenceUse", default: LicenceUse.session)
        if section.has("licences") {
            section.noteMethods(of: named, at: section.has("grant") ? "grant" : "licences")
        } else if section.has("licenceUse") {
            section.note(at: "licenceUse", message: "requires licences: the paths of the licence server")
        }
        content = GateConfiguration.LicensedContent.read(section, known: licensed)
        let media = section.optionalString("media")
        if media?.isEmpty ?? false { section.note(at: "media", message: "must not be empty") }
        guard let folder, let folderPattern = try? PathPattern(folder), let resource, !named.isEmpty else {
            entries = []
            return
        }
        func entry(
            _ key: PlaybackGate.Catalogue.Entry.Key,
            use: PlaybackGate.Catalogue.Entry.Use,
            licence: LicenceUse? = nil,
            terms: PlaybackGate.Catalogue.Entry.GrantTerms
        ) -> Located<PlaybackGate.Catalogue.Entry> {
            let isOfMedia = if case .media = key { true } else { false }
            let entry = PlaybackGate.Catalogue.Entry(
                key: key,
                protection: .resource(resource, requestor: requestor),
                isShadow: isShadow,
                use: use,
                licence: licence,
                methods: licence == nil ? [.get, .head] : [.post],
                hosts: isOfMedia ? [] : hosts,
                grants: terms
            )
            return Located(value: entry, location: location)
        }
        var terms = PlaybackGate.Catalogue.Entry.GrantTerms(named)
        terms.scope = folderPattern.encodedPath
        var entries = starts.map { entry(.path($0), use: .once, terms: terms) }
        entries.append(entry(.path(folderPattern), use: .grant, terms: terms))
        entries += licences.map { entry(.path($0), use: .grant, licence: licenceUse, terms: terms) }
        if let media {
            // A player backend starts it by its id, and gets the URL of the first manifest that is no pattern.
            terms.manifest = starts.first(where: \.isPath)?.encodedPath
            entries.append(entry(.media(media), use: .once, terms: terms))
        }
        self.entries = entries
    }

    private static var usual: String { GateConfiguration.StreamDefaults.manifests.joined(separator: " and ") }

    private static func folder(_ section: ConfigurationSection) -> String? {
        let folder = section.requiredString("folder")
        guard !folder.isEmpty else { return nil }
        guard folder.utf8.first == UInt8(ascii: "/"), folder.utf8.last == UInt8(ascii: "/") else {
            section.note(at: "folder", message: "must begin and end with /, such as /live/tnt/")
            return nil
        }
        guard folder.utf8.count > 1 else {
            section.note(at: "folder", message: "must not be the whole site: name the folder of one stream")
            return nil
        }
        do throws(PathPatternError) {
            let pattern = try PathPattern(folder)
            guard pattern.isFolder else {
                section.note(at: "folder", message: "must not have a wildcard: list each stream")
                return nil
            }
        } catch {
            section.note(at: "folder", message: "\(error)")
            return nil
        }
        return folder
    }

    /// Reads a path of a licence server. Grants open the folder of the stream and nothing else, so it is there.
    private static func licence(_ name: String, in folder: String, of section: ConfigurationSection) -> PathPattern? {
        guard let pattern = try? PathPattern(folder + name), pattern.isPath, name.utf8.first != UInt8(ascii: "/") else {
            let reason = "\(name): must be a path in the folder, such as licence"
            section.note(at: "licences", message: reason + "; for other paths, write a catalogue entry with licenceUse")
            return nil
        }
        return pattern
    }

    private static func pattern(_ name: String, in folder: String, of section: ConfigurationSection) -> PathPattern? {
        guard !name.isEmpty, name.utf8.first != UInt8(ascii: "/"), name.utf8.last != UInt8(ascii: "/") else {
            section.note(at: "manifest", message: "must be the name of a file in the folder, such as master.m3u8")
            return nil
        }
        do throws(PathPatternError) {
            let pattern = try PathPattern(folder + name)
            guard pattern.isPath || !name.utf8.contains(UInt8(ascii: "/")) && !name.contains("**") else {
                // It could win against the folder of a stream below this one.
                section.note(at: "manifest", message: "\(name): a wildcard is for files in the folder itself")
                return nil
            }
            return pattern
        } catch {
            section.note(at: "manifest", message: "\(name): \(error)")
            return nil
        }
    }
}

extension GateConfiguration {
    /// Adds the profile and the key of streams to the settings for grants, which need not be there.
    static func addStreamGrants(
        to grants: inout Grants?,
        in root: ConfigurationSection,
        state: StateFolder,
        countsRenewals: Bool,
        hasLicences: Bool,
        problems: ProblemList
    ) {
        typealias Defaults = StreamDefaults
        let location = root.location("streams")
        if let grants {
            let isTaken = grants.profiles.contains { $0.value.name == Defaults.profile }
            guard !isTaken, !grants.keys.contains(where: { $0.id == Defaults.key }) else {
                let message = "\(Defaults.profile) names the profile and the key of streams: give yours another name"
                return problems.add(at: location, message: message)
            }
        }
        let (bytes, file) = state.secret(Defaults.keyFile, at: location, problems: problems)
        var rules = GrantProfile.Rules()
        rules.countsRenewals = countsRenewals
        if hasLicences { rules.methods.append("POST") }
        let profile = GrantProfile(Defaults.profile, issuer: Defaults.issuer, keyID: Defaults.key, rules: rules)
        var all =
            grants
            ?? Grants(
                subjectKey: Located(
                    value: state.secret(Defaults.subjectKeyFile, at: location, problems: problems).bytes,
                    location: location
                )
            )
        all.keys.append(Grants.Key(id: Defaults.key, secret: bytes, file: file, location: location))
        all.profiles.append(Located(value: profile, location: location))
        grants = all
    }
}

extension GateConfiguration.Grants {
    /// The settings without any key, profile and issuer.
    fileprivate init(subjectKey: Located<[UInt8]>) {
        self.subjectKey = subjectKey
        (keys, profiles, issuers, vendors) = ([], [], [], [:])
    }
}
