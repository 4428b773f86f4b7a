// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings

/// Tells to which entries the paths of a scope belong.
///
/// Who checks a vendor's token or a signed URI by itself knows no catalogue: the token opens all of its scope, whatever the
/// entries say. So a scope must have no path of another resource or requestor.
package struct ScopeSurvey: Sendable {
    private let catalogue: Catalogue
    private var common = Table()
    private var tables: [String: Table] = [:]

    /// The entries of one host, or of all.
    fileprivate struct Table {
        /// The paths and folders, in the order of their bytes, and of the protected entries alone.
        var plain: [(text: [UInt8], entry: Catalogue.Entry)] = []
        var globs: [Catalogue.Entry] = []
    }

    /// Reads a catalogue.
    package init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        for entry in catalogue.entries {
            guard let pattern = entry.key.pattern, entry.protection != .none else { continue }
            func add(to table: inout Table) {
                if case .glob = pattern.form { return table.globs.append(entry) }
                table.plain.append((Array(pattern.text.utf8), entry))
            }
            if entry.hosts.isEmpty { add(to: &common) }
            for host in entry.hosts { add(to: &tables[host, default: Table()]) }
        }
        common.sort()
        for host in tables.keys { tables[host]?.sort() }
    }

    /// Returns an entry of another resource or requestor, or one that is ambiguous, to which a path belongs that a grant of `entry`
    /// by a profile would open; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - entry: The entry, whose grants are of `profile`.
    ///   - profile: The profile.
    ///   - path: The requested path, percent-encoded in normal form; `nil` for any that the entry covers.
    package func stranger(_ entry: Catalogue.Entry, _ profile: GrantProfile, path: Substring? = nil) -> Catalogue.Entry?
    {
        let named = profile.rules.host.flatMap { HostName($0[...])?.text }.map { [String($0)] }
        // Where the profile names no host, its grants are good wherever the entry is.
        let hosts = named ?? (entry.hosts.isEmpty ? Array(tables.keys) + [""] : entry.hosts)
        for host in hosts {
            if let found = stranger(entry, profile, path, host) { return found }
        }
        return nil
    }

    private func stranger(
        _ entry: Catalogue.Entry,
        _ profile: GrantProfile,
        _ path: Substring?,
        _ host: String
    ) -> Catalogue.Entry? {
        let own = path ?? entry.key.pattern?.encodedPath[...]
        guard let scope = entry.scope(profile, path: own) else {
            guard let pattern = entry.key.pattern, case .glob(let steps) = pattern.form else { return nil }
            return stranger(besides: entry, underGlob: steps, pattern, host)
        }
        if path == nil, case .glob(let steps)? = entry.key.pattern?.form, !entry.hasFixedScope(profile) {
            return stranger(besides: entry, underGlob: steps, entry.key.pattern, host)
        }
        guard let requested = try? MediaPath(scope) else { return nil }
        let text = Array(requested.characters.utf8)
        guard text.last == UInt8(ascii: "/") else {
            return catalogue.entry(path: requested, host: host[...]).flatMap { $0.isStranger(to: entry) ? $0 : nil }
        }
        // A file that nobody names belongs to the folder around it.
        let around = (try? MediaPath(scope + "-")).flatMap { catalogue.entry(path: $0, host: host[...]) }
        if let around, around.isStranger(to: entry) { return around }
        for table in [common, tables[host]].compactMap(\.self) {
            if let found = table.stranger(besides: entry, under: text, around) { return found }
        }
        return nil
    }

    /// Returns a stranger in the folders of the paths that a glob matches.
    private func stranger(
        besides entry: Catalogue.Entry,
        underGlob steps: [PathPattern.Step],
        _ pattern: PathPattern?,
        _ host: String
    ) -> Catalogue.Entry? {
        guard let pattern, let slash = steps.lastIndex(of: .byte(UInt8(ascii: "/"))) else { return nil }
        let folder = Array(steps[...slash])
        let root = Array(pattern.root.utf8)
        for table in [common, tables[host]].compactMap(\.self) {
            for (text, other) in table.plain(under: root) where other.isStranger(to: entry) {
                if PathPattern.matchesFolder(of: text, folder) { return other }
            }
            let glob = table.globs.first { other in
                guard other.isStranger(to: entry), let its = other.key.pattern?.root.utf8 else { return false }
                return its.starts(with: root) || root.starts(with: its)
            }
            if let glob { return glob }
        }
        return nil
    }
}

extension ScopeSurvey.Table {
    mutating func sort() { plain.sort { $0.text.lexicographicallyPrecedes($1.text) } }

    /// The paths and folders that begin with `prefix`.
    func plain(under prefix: [UInt8]) -> ArraySlice<(text: [UInt8], entry: Catalogue.Entry)> {
        var (low, high) = (0, plain.count)
        while low < high {
            let middle = (low + high) / 2
            if plain[middle].text.lexicographicallyPrecedes(prefix) { low = middle + 1 } else { high = middle }
        }
        var end = low
        while end < plain.count, plain[end].text.starts(with: prefix) { end += 1 }
        return plain[low..<end]
    }

    /// Returns a stranger that has a path in a folder.
    ///
    /// - Parameter around: The entry of the folder's other files. It hides what is less specific.
    func stranger(
        besides entry: Catalogue.Entry,
        under folder: [UInt8],
        _ around: Catalogue.Entry?
    ) -> Catalogue.Entry? {
        for (_, other) in plain(under: folder) where other.isStranger(to: entry) { return other }
        let hidden = around?.key.pattern.flatMap { pattern -> Int? in
            guard case .folder = pattern.form else { return nil }
            return pattern.fixedLength
        }
        return globs.first { other in
            guard other.isStranger(to: entry), let pattern = other.key.pattern, case .glob(let steps) = pattern.form,
                hidden.map({ $0 < pattern.fixedLength }) ?? true
            else { return false }
            return PathPattern.reaches(into: folder, steps)
        }
    }
}

extension Catalogue.Entry {
    /// True if the grants of a profile would open all paths of a host, although the configuration does not say so: none is issued.
    package func opensEverything(_ profile: GrantProfile) -> Bool {
        let path: String? =
            switch key {
            case .media: grants?.manifest
            case .path(let pattern): pattern.encodedPath
            }
        guard let path, !hasFixedScope(profile), path.utf8.lastIndex(of: UInt8(ascii: "/")) == path.startIndex else {
            return false
        }
        return scope(profile, path: path[...]) == nil
    }

    /// True if no grant for `other` may open this entry.
    fileprivate func isStranger(to other: Catalogue.Entry) -> Bool {
        switch protection {
        case .none: false
        case .ambiguous: true
        case .resource: protection != other.protection
        }
    }

    /// True if the scope of a profile's grants does not depend on the requested path.
    fileprivate func hasFixedScope(_ profile: GrantProfile) -> Bool {
        if case .prefix = profile.rules.scope { return true }
        return grants?.scope != nil
    }
}
