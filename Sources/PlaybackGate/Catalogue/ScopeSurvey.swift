// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Tells to which entries the paths of a scope belong.
///
/// A vendor's token or a signed URI is checked without a catalogue: it opens all of its scope, regardless of the
/// entries. A scope must therefore have no path of another resource or requestor.
package struct ScopeSurvey: Sendable {
    private let catalogue: Catalogue
    private var common = Table()
    private var tables: [String: Table] = [:]
    /// The hosts of the entries that have a profile, by its name; without a value if one of them is for every host.
    private var hosts: [String: Set<String>?] = [:]

    /// The entries of one host, or of all.
    fileprivate struct Table {
        /// The paths and folders of the protected entries, in the order of their bytes. A media id has those of its playbacks.
        var plain: [(text: [UInt8], entry: Catalogue.Entry)] = []
        var globs: [Catalogue.Entry] = []
        /// The entries of folders, by their paths.
        var folders: [[UInt8]: Catalogue.Entry] = [:]
    }

    /// Reads a catalogue.
    package init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        for entry in catalogue.entries {
            if entry.hosts.isEmpty { common.add(entry) }
            for host in entry.hosts { tables[host, default: Table()].add(entry) }
            for profile in entry.grants?.profiles ?? [] {
                let known = hosts[profile.name] ?? []
                hosts[profile.name] = .some(entry.hosts.isEmpty ? nil : known.map { $0.union(entry.hosts) })
            }
        }
        common.sort()
        for host in tables.keys { tables[host]?.sort() }
    }

    /// Returns an entry of another resource or requestor with a path that a grant of `entry` by a profile would open.
    /// `nil` if there is none.
    ///
    /// - Parameters:
    ///   - entry: The entry, whose grants are of `profile`.
    ///   - profile: The profile.
    package func stranger(to entry: Catalogue.Entry, by profile: GrantProfile) -> Catalogue.Entry? {
        for host in hosts(profile) {
            if let found = stranger(to: entry, by: profile, at: host) { return found }
        }
        return nil
    }

    /// The hosts at which the grants of a profile are valid.
    private func hosts(_ profile: GrantProfile) -> [String] {
        if let host = profile.rules.host.flatMap({ HostName($0[...])?.text }) { return [String(host)] }
        // Without a host in them, they are good wherever their key is.
        if case .some(.some(let named)) = hosts[profile.name] { return named.sorted() }
        return [""] + tables.keys.sorted()
    }

    private func stranger(to entry: Catalogue.Entry, by profile: GrantProfile, at host: String) -> Catalogue.Entry? {
        if profile.format == .uriSigning, profile.rules.signing.container == .hash {
            // One URL, that of the manifest.
            return entry.grants?.manifest.flatMap { owner(of: $0, besides: entry, at: host) }
        }
        if case .glob(let steps)? = entry.key.pattern?.form, !entry.hasFixedScope(profile) {
            return stranger(besides: entry, underGlob: steps, of: entry.key.pattern, at: host)
        }
        guard let scope = entry.scope(profile, path: entry.key.pattern?.encodedPath[...]),
            let folder = try? MediaPath(scope)
        else { return nil }
        let text = Array(folder.characters.utf8)
        guard text.last == UInt8(ascii: "/") else { return owner(of: scope, besides: entry, at: host) }
        let around = around(text, at: host)
        if let around, around.isStranger(to: entry) { return around }
        for table in [common, tables[host]].compactMap(\.self) {
            if let found = table.stranger(
                besides: entry,
                under: text,
                around: around,
                decides: { decides($0, at: host) }
            ) {
                return found
            }
        }
        return nil
    }

    /// Returns the entry of a path if it is a stranger.
    private func owner(of path: String, besides entry: Catalogue.Entry, at host: String) -> Catalogue.Entry? {
        guard let path = try? MediaPath(path), let owner = catalogue.entry(path: path, host: host[...]) else {
            return nil
        }
        return owner.isStranger(to: entry) ? owner : nil
    }

    /// True if an entry decides about its own path at a host. The same path may have another entry there.
    private func decides(_ entry: Catalogue.Entry, at host: String) -> Bool {
        guard let pattern = entry.key.pattern, entry.hosts.isEmpty else { return true }
        let path = pattern.form == .folder ? pattern.encodedPath + "-" : pattern.encodedPath
        guard let path = try? MediaPath(path), let found = catalogue.entry(path: path, host: host[...]) else {
            return true
        }
        return found.protection == entry.protection || found.key.text != entry.key.text
    }

    /// Returns the entry of the files of a folder that no pattern names: that of the nearest folder around them.
    private func around(_ folder: [UInt8], at host: String) -> Catalogue.Entry? {
        var end = folder.count
        while end > 0 {
            let text = Array(folder[..<end])
            if let found = tables[host]?.folders[text] ?? common.folders[text] { return found }
            end = folder[..<(end - 1)].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        }
        return nil
    }

    /// Returns a stranger in the folders of the paths that a glob matches.
    private func stranger(
        besides entry: Catalogue.Entry,
        underGlob steps: [PathPattern.Step],
        of pattern: PathPattern?,
        at host: String
    ) -> Catalogue.Entry? {
        guard let pattern, let slash = steps.lastIndex(of: .byte(UInt8(ascii: "/"))) else { return nil }
        let folder = Array(steps[...slash])
        let root = Array(pattern.root.utf8)
        if let around = around(root, at: host), around.isStranger(to: entry) { return around }
        for table in [common, tables[host]].compactMap(\.self) {
            let inside = table.first(under: root) { text, other in
                other.isStranger(to: entry) && PathPattern.matchesFolder(of: text, folder) && decides(other, at: host)
            }
            if let inside { return inside }
            let glob = table.globs.first { other in
                guard other.isStranger(to: entry), case .glob(let its)? = other.key.pattern?.form else { return false }
                return PathPattern.overlap(folder + [.anything], with: its)
            }
            if let glob { return glob }
        }
        return nil
    }
}

extension ScopeSurvey.Table {
    mutating func add(_ entry: Catalogue.Entry) {
        guard let pattern = entry.key.pattern else {
            // What a media id plays is at the paths of its manifest and of its grants.
            for path in [entry.grants?.manifest, entry.grants?.scope] {
                guard let path = path.flatMap({ try? MediaPath($0) }), path.text != "/" else { continue }
                plain.append((Array(path.characters.utf8), entry))
            }
            return
        }
        let text = Array(pattern.text.utf8)
        if pattern.form == .folder { folders[text] = entry }
        guard entry.protection != .none else { return }
        if case .glob = pattern.form { return globs.append(entry) }
        plain.append((text, entry))
    }

    mutating func sort() { plain.sort { $0.text.lexicographicallyPrecedes($1.text) } }

    /// Returns the first of the paths and folders that begin with `prefix` and have a property.
    func first(
        under prefix: [UInt8],
        _ hasProperty: ([UInt8], Catalogue.Entry) -> Bool
    ) -> Catalogue.Entry? {
        var (low, high) = (0, plain.count)
        while low < high {
            let middle = (low + high) / 2
            if plain[middle].text.lexicographicallyPrecedes(prefix) { low = middle + 1 } else { high = middle }
        }
        while low < plain.count, plain[low].text.starts(with: prefix) {
            if hasProperty(plain[low].text, plain[low].entry) { return plain[low].entry }
            low += 1
        }
        return nil
    }

    /// Returns a stranger that has a path in a folder.
    ///
    /// - Parameters:
    ///   - around: The entry of the folder's other files. It hides less specific entries.
    ///   - decides: Returns true if an entry decides about its own path.
    func stranger(
        besides entry: Catalogue.Entry,
        under folder: [UInt8],
        around: Catalogue.Entry?,
        decides: (Catalogue.Entry) -> Bool
    ) -> Catalogue.Entry? {
        if let found = first(under: folder, { $1.isStranger(to: entry) && decides($1) }) { return found }
        let hidden = around?.key.pattern?.fixedLength
        return globs.first { other in
            guard other.isStranger(to: entry), let pattern = other.key.pattern, case .glob(let steps) = pattern.form,
                hidden.map({ $0 < pattern.fixedLength }) ?? true
            else { return false }
            return PathPattern.reaches(into: folder, steps)
        }
    }
}

extension Catalogue.Entry {
    /// True if the grants of a profile would open all paths of a host, although the configuration does not permit it:
    /// none is issued.
    package func opensEverything(_ profile: GrantProfile) -> Bool {
        let path: String? =
            switch key {
            case .media: grants?.manifest
            case .path(let pattern): pattern.encodedPath
            }
        guard let path, !hasFixedScope(profile), path.utf8.lastIndex(of: UInt8(ascii: "/")) == path.startIndex else {
            return false
        }
        if case .glob(let steps)? = key.pattern?.form, steps.contains(.anything) { return false }
        return scope(profile, path: path[...]) == nil
    }

    /// True if no grant for `other` may open this entry. Contradictions between feeds are reported elsewhere.
    fileprivate func isStranger(to other: Catalogue.Entry) -> Bool {
        if case .resource = protection { protection != other.protection } else { false }
    }

    /// True if the scope of a profile's grants does not depend on the requested path.
    fileprivate func hasFixedScope(_ profile: GrantProfile) -> Bool {
        if case .prefix = profile.rules.scope { return true }
        return grants?.scope != nil
    }
}
