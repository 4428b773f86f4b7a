// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import MediaResources

/// A map from media ids and stream paths to the resource that a token must be valid for.
///
/// The required resource always comes from the catalogue, never from the request. Media that is not in the catalogue is
/// protected and cannot be played.
public struct Catalogue: Sendable {
    private var media: [ByteKey: Entry] = [:]
    /// The paths that apply to every host.
    private var paths = PathTable()
    /// The paths of entries that name hosts, by host.
    private var pathsOfHosts: [ByteKey: PathTable] = [:]

    /// Creates an empty catalogue, which refuses every playback.
    public init() {}

    /// The number of entries.
    public private(set) var count = 0

    // MARK: Looking up

    /// Returns the entry of a media id, compared byte for byte.
    public func entry(media id: String) -> Entry? { media[ByteKey(id)] }

    /// True if any entry names hosts: a path without a host then does not determine its entry.
    public var hasHosts: Bool { !pathsOfHosts.isEmpty }

    /// Returns the entry of a path. If several patterns cover it, the one with the most literal bytes wins. Of two
    /// equally long patterns, the one that names the host wins, otherwise the one that protects.
    ///
    /// - Parameters:
    ///   - path: The path in canonical form.
    ///   - host: The requested host, in the form of ``HostName``.
    public func entry(path: MediaPath, host: Substring? = nil) -> Entry? {
        let common = paths.entry(path)
        guard hasHosts, let host, let own = pathsOfHosts[ByteKey(host)]?.entry(path) else { return common }
        return own.isLonger(than: common) ?? true ? own : common
    }

    /// The result of a catalogue lookup.
    public enum Finding: Hashable, Sendable {
        /// An entry covers the target.
        case entry(Entry)
        /// No entry covers the target.
        case unknown
        /// The target is a path that is ambiguous or malformed.
        case invalidPath(MediaPathError)
        /// The target is a path, entries name hosts, and the request names none.
        case hostMissing
    }

    /// Looks up the target of a request.
    ///
    /// - Parameters:
    ///   - target: A media id, or a path as it was requested.
    ///   - host: The requested host, in the form of ``HostName``.
    public func find(_ target: PlaybackRequest.Target, host: Substring? = nil) -> Finding {
        switch target {
        case .media(let id): entry(media: id).map { .entry($0) } ?? .unknown
        case .path(let requested): find(requested, host: host)
        }
    }

    /// Looks up a path.
    ///
    /// - Parameters:
    ///   - requested: The path as it was requested: percent-encoded, with or without a query.
    ///   - host: The requested host, in the form of ``HostName``.
    ///   - form: The accepted spellings of a path.
    public func find(_ requested: Substring, host: Substring? = nil, form: MediaPath.Form = .resolved) -> Finding {
        do throws(MediaPathError) {
            return find(try MediaPath(requested, form: form), host: host)
        } catch { return .invalidPath(error) }
    }

    /// Looks up a path in canonical form.
    func find(_ path: MediaPath, host: Substring?) -> Finding {
        if hasHosts, host == nil { return .hostMissing }
        let entry = entry(path: path, host: host)
        guard !path.hasEncodedSlash || isMeant(entry, by: path, host: host) else { return .invalidPath(.encodedSlash) }
        return entry.map { .entry($0) } ?? .unknown
    }

    /// True if an entry is valid for a path with an encoded slash. Either both readings have the entry, with slashes
    /// decoded before or after the path is split, or its author has written the slash.
    private func isMeant(_ entry: Entry?, by path: MediaPath, host: Substring?) -> Bool {
        if let key = entry?.key, key.text.hasBytes(of: "\(URIPath.encodedSlash)") { return true }
        return entry == self.entry(path: MediaPath(splitting: path), host: host)
    }

    /// True if one entry decides about all files of the folder that a path is in.
    ///
    /// - Parameters:
    ///   - path: The path in canonical form.
    ///   - host: The requested host, in the form of ``HostName``.
    func isUniform(around path: MediaPath, host: Substring?) -> Bool {
        let bytes = path.characters.utf8.span
        guard let slash = bytes.indices.last(where: { bytes[$0] == UInt8(ascii: "/") }) else { return false }
        let folder = bytes.extracting(..<slash)
        guard paths.isUniform(folder) else { return false }
        return host.flatMap { pathsOfHosts[ByteKey($0)] }?.isUniform(folder) ?? true
    }

    /// All entries in any order. An entry that names several hosts is listed once for each.
    package var unorderedEntries: [Entry] {
        pathsOfHosts.values.reduce(into: Array(media.values) + paths.entries) { $0 += $1.entries }
    }

    /// All entries, in the order of their keys and hosts.
    package var entries: [Entry] {
        var all = Array(media.values) + paths.entries
        // An entry is in the tables of all its hosts.
        for (host, table) in pathsOfHosts {
            all += table.entries.filter { entry in entry.hosts.first.map { ByteKey($0) == host } ?? false }
        }
        let named = all.map { (name: $0.key.text + " " + $0.hosts.joined(separator: " "), entry: $0) }
        return named.sorted { $0.name < $1.name }.map(\.entry)
    }

    // MARK: Adding

    /// Adds an entry.
    ///
    /// - Throws: ``DuplicateEntry`` if the catalogue has an entry for the same media id or pattern.
    public mutating func add(_ entry: Entry) throws(DuplicateEntry) {
        if let present = replace(entry, where: { _ in false }) {
            throw DuplicateEntry(key: entry.key, present: present)
        }
    }

    /// Adds the entries of a feed item: its media id and the paths of its streams.
    ///
    /// Entries of origin ``Entry/Origin/list`` stay unchanged. If two feed items claim the same key with different
    /// protection, the key becomes ``Entry/Protection/ambiguous``: no token opens it.
    ///
    /// - Parameters:
    ///   - item: The feed item.
    ///   - requestor: The requestor whose tokens the entries require.
    ///   - source: The name of the feed.
    ///   - scope: The paths that the item protects.
    ///   - grants: The profiles of the grants that its playbacks get.
    /// - Returns: The keys that other feed items claim with another resource or requestor.
    public mutating func add(
        _ item: CatalogueEntry,
        requestor: String,
        source: String,
        scope: FeedPathScope = .file,
        grants: [GrantProfile] = []
    ) -> [Entry.Key] {
        var conflicts: [Entry.Key] = []
        let protection = Entry.Protection.resource(item.resource, requestor: requestor)
        for key in [.media(item.mediaID)] + scope.keys(item) {
            let terms = grants.isEmpty ? nil : Entry.GrantTerms(grants, of: item, key: key, paths: scope)
            let entry = Entry(key: key, protection: protection, origin: .feed(source, line: item.line), grants: terms)
            guard let present = replace(entry, where: { _ in false }), case .feed = present.origin else { continue }
            guard present.protection != protection else { continue }
            conflicts.append(key)
            _ = replace(Entry(key: key, protection: .ambiguous, origin: entry.origin)) { _ in true }
        }
        return conflicts
    }

    /// Inserts `entry` if its key is free or `mayReplace` is true for the present entry. Returns the present entry.
    private mutating func replace(_ entry: Entry, where mayReplace: (Entry) -> Bool) -> Entry? {
        let present: Entry?
        switch entry.key {
        case .media(let id):
            present = media[ByteKey(id)]
            if present.map(mayReplace) ?? true { media[ByteKey(id)] = entry }
        case .path(let pattern):
            if entry.hosts.isEmpty {
                present = paths.replace(entry, at: pattern, where: mayReplace)
            } else {
                let tables = entry.hosts.map { ByteKey($0) }
                var known: Entry?
                for host in tables { known = known ?? pathsOfHosts[host]?.entry(pattern) }
                present = known
                if present.map(mayReplace) ?? true {
                    for host in tables {
                        _ = pathsOfHosts[host, default: PathTable()].replace(entry, at: pattern) { _ in true }
                    }
                }
            }
        }
        if present == nil { count += 1 }
        return present
    }
}

extension Catalogue {
    /// An error for a second entry with the same media id or pattern.
    public struct DuplicateEntry: Error, Hashable, Sendable {
        /// The key of both entries.
        public let key: Entry.Key
        /// The entry that the catalogue already has.
        public let present: Entry
    }
}

/// The paths that a feed item protects.
public enum FeedPathScope: String, Sendable, CaseIterable {
    /// No paths: only the media id.
    case none
    /// The paths of its streams.
    case file
    /// All paths in the folders of its streams: a manifest with its segments.
    case folder

    fileprivate func keys(_ item: CatalogueEntry) -> [Catalogue.Entry.Key] {
        guard self != .none else { return [] }
        return item.streamPaths.compactMap { requested in
            guard let path = (try? MediaPath(requested))?.text, !path.utf8.contains(where: { $0.isWildcard }) else {
                return nil
            }
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            // The root folder would make one item cover the paths of all others.
            let isRoot = slash == path.startIndex
            let text = self == .folder && !isRoot ? String(path[...slash]) : path
            return (try? PathPattern(text)).map { .path($0) }
        }
    }
}

extension Catalogue.Entry.GrantTerms {
    /// Creates the terms of a feed item. Its media id stands for its first stream.
    fileprivate init(
        _ profiles: [GrantProfile],
        of item: CatalogueEntry,
        key: Catalogue.Entry.Key,
        paths: FeedPathScope
    ) {
        self.init(profiles)
        if case .path(let pattern) = key {
            // A folder, unless that would be the root.
            isOfFiles = pattern.form == .path
        } else {
            isOfFiles =
                paths != .folder
                || item.streamPaths.first?.utf8.lastIndex(of: UInt8(ascii: "/"))
                    == item.streamPaths.first?.startIndex
        }
        guard case .media = key, let manifest = item.streamPaths.first, manifest.utf8.first == UInt8(ascii: "/") else {
            return
        }
        self.manifest = manifest
    }
}

extension UInt8 {
    /// True for `*` and `?`. A path with a wildcard would be a glob, so its item is found by its media id only.
    fileprivate var isWildcard: Bool { self == UInt8(ascii: "*") || self == UInt8(ascii: "?") }
}
