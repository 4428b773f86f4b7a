// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaResources

/// What is protected, and by which resource: media ids and paths of streams.
///
/// The resource that a token must be good for comes from here and never from whoever asks. What is not in the catalogue
/// is protected, and nobody can play it.
public struct Catalogue: Sendable {
    private var media: [ByteKey: Entry] = [:]
    /// The paths of every host.
    private var paths = PathTable()
    /// The paths of entries that name hosts.
    private var pathsOfHosts: [ByteKey: PathTable] = [:]

    /// Makes an empty catalogue: nothing can be played.
    public init() {}

    /// The number of entries.
    public private(set) var count = 0

    // MARK: Looking up

    /// The entry of a media id, byte for byte.
    public func entry(media id: String) -> Entry? { media[ByteKey(id)] }

    /// Whether a path alone does not say which entry it has.
    public var hasHosts: Bool { !pathsOfHosts.isEmpty }

    /// The entry of a path. Of several patterns that cover it, the longest wins; of two that are equally long, the one
    /// that names the host, else the one that protects.
    ///
    /// - Parameter host: The host that was asked for, in the form of ``HostName``.
    public func entry(path: MediaPath, host: Substring? = nil) -> Entry? {
        let common = paths.entry(path)
        guard hasHosts, let host, let own = pathsOfHosts[ByteKey(host)]?.entry(path) else { return common }
        return own.isLonger(than: common) ?? true ? own : common
    }

    /// What is known of the target of a request.
    public enum Finding: Hashable, Sendable {
        /// An entry speaks of it.
        case entry(Entry)
        /// No entry does.
        case unknown
        /// It is a path that may mean several things.
        case invalidPath(MediaPathError)
        /// It is a path, entries name hosts, and the request names none.
        case hostMissing
    }

    /// Looks up what is to be played.
    ///
    /// - Parameter host: The host that was asked for, in the form of ``HostName``.
    public func find(_ target: PlaybackRequest.Target, host: Substring? = nil) -> Finding {
        switch target {
        case .media(let id): entry(media: id).map { .entry($0) } ?? .unknown
        case .path(let requested): find(requested, host: host)
        }
    }

    /// Looks up a path.
    ///
    /// - Parameters:
    ///   - requested: The path as it was requested: percent-encoded, a query may follow.
    ///   - host: The host that was asked for, in the form of ``HostName``.
    ///   - form: Which spellings of a path are taken.
    public func find(_ requested: Substring, host: Substring? = nil, form: MediaPath.Form = .resolved) -> Finding {
        do throws(MediaPathError) {
            let path = try MediaPath(requested, form: form)
            if hasHosts, host == nil { return .hostMissing }
            return entry(path: path, host: host).map { .entry($0) } ?? .unknown
        } catch { return .invalidPath(error) }
    }

    // MARK: Adding

    /// Adds an entry.
    ///
    /// - Throws: ``DuplicateEntry`` where there is an entry for the same media id or pattern already.
    public mutating func add(_ entry: Entry) throws(DuplicateEntry) {
        if let present = replace(entry, where: { _ in false }) {
            throw DuplicateEntry(key: entry.key, present: present)
        }
    }

    /// Adds what an item of a feed says: its media id, and the paths of its streams.
    ///
    /// What is in the catalogue by name stays as it is. Where two items name the same thing and differ in what protects
    /// it, neither is to be believed: the thing gets an entry that no token opens.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - requestor: Whose tokens are asked for.
    ///   - source: The name of the feed.
    ///   - scope: Which paths the item protects.
    /// - Returns: The keys that other items of feeds claim too, with another resource.
    public mutating func add(
        _ item: CatalogueEntry,
        requestor: String,
        source: String,
        scope: FeedPathScope = .file
    ) -> [Entry.Key] {
        var conflicts: [Entry.Key] = []
        let protection = Entry.Protection.resource(item.resource, requestor: requestor)
        for key in [.media(item.mediaID)] + scope.keys(item) {
            let entry = Entry(key: key, protection: protection, origin: .feed(source, line: item.line))
            guard let present = replace(entry, where: { _ in false }), case .feed = present.origin else { continue }
            guard present.protection != protection else { continue }
            conflicts.append(key)
            _ = replace(Entry(key: key, protection: .ambiguous, origin: entry.origin)) { _ in true }
        }
        return conflicts
    }

    /// Puts `entry` in where its place is empty or `mayReplace` says so; returns what was there.
    private mutating func replace(_ entry: Entry, where mayReplace: (Entry) -> Bool) -> Entry? {
        let present: Entry?
        switch entry.key {
        case .media(let id):
            present = media[ByteKey(id)]
            if present.map(mayReplace) ?? true { media[ByteKey(id)] = entry }
        case .path(let pattern):
            if entry.hosts.isEmpty {
                present = paths.replace(entry, pattern, where: mayReplace)
            } else {
                let tables = entry.hosts.map { ByteKey($0) }
                var known: Entry?
                for host in tables { known = known ?? pathsOfHosts[host]?.entry(pattern) }
                present = known
                if present.map(mayReplace) ?? true {
                    for host in tables {
                        _ = pathsOfHosts[host, default: PathTable()].replace(entry, pattern) { _ in true }
                    }
                }
            }
        }
        if present == nil { count += 1 }
        return present
    }
}

extension Catalogue {
    /// What the catalogue says of a media id or of paths.
    ///
    /// A reference to its facts: an entry goes with a decision from one hand to the next, and a copy must cost nothing.
    public struct Entry: Hashable, Sendable {
        private let facts: Facts

        private final class Facts: Sendable {
            let key: Key
            let protection: Protection
            let isShadow: Bool
            let use: Use
            let origin: Origin
            let methods: [PlaybackRequest.Method]
            let hosts: [String]
            /// ``methods`` as bits.
            let permitted: UInt16

            init(
                _ key: Key,
                _ protection: Protection,
                _ isShadow: Bool,
                _ use: Use,
                _ origin: Origin,
                _ methods: [PlaybackRequest.Method],
                _ hosts: [String]
            ) {
                self.key = key
                self.protection = protection
                self.isShadow = isShadow
                self.use = use
                self.origin = origin
                self.methods = methods.filter { $0 != .other }
                self.hosts = hosts
                permitted = self.methods.reduce(0) { $0 | $1.bit }
            }
        }

        /// What it speaks of.
        public var key: Key { facts.key }
        /// What is asked for.
        public var protection: Protection { facts.protection }
        /// Whether refusals are counted and logged, and allowed all the same.
        public var isShadow: Bool { facts.isShadow }
        /// How often a token may be shown.
        public var use: Use { facts.use }
        /// Where the entry comes from.
        public var origin: Origin { facts.origin }
        /// The methods that requests may have.
        public var methods: [PlaybackRequest.Method] { facts.methods }
        /// The hosts whose paths it speaks of, in the form of ``HostName``; those of every host if there is none.
        public var hosts: [String] { facts.hosts }

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - methods: The methods that requests may have.
        ///   - hosts: The hosts whose paths it speaks of; none means every host. Media ids have no host.
        public init(
            key: Key,
            protection: Protection,
            isShadow: Bool = false,
            use: Use = .once,
            origin: Origin = .list,
            methods: [PlaybackRequest.Method] = [.get, .head],
            hosts: [HostName] = []
        ) {
            facts = Facts(key, protection, isShadow, use, origin, methods, hosts.map { String($0.text) })
        }

        /// Whether requests may have this method.
        func permits(_ method: PlaybackRequest.Method) -> Bool { facts.permitted & method.bit != 0 }

        /// Whether both say the same.
        public static func == (left: Entry, right: Entry) -> Bool {
            left.facts === right.facts
                || left.key == right.key && left.protection == right.protection && left.isShadow == right.isShadow
                    && left.use == right.use && left.origin == right.origin && left.methods == right.methods
                    && left.hosts == right.hosts
        }

        /// Hashes what it speaks of: catalogues have an entry for each.
        public func hash(into hasher: inout Hasher) { hasher.combine(key) }

        /// How often a token may be shown.
        public enum Use: String, Hashable, Sendable, CaseIterable {
            /// It is used up by the first playback.
            case once
            /// Any number of times until it expires, unless it is revoked: for what is fetched again and again in one
            /// playback, such as segments, where nobody checks its start.
            case withinTTL = "within-ttl"
        }

        /// What an entry speaks of.
        public enum Key: Hashable, Sendable {
            /// A media id, byte for byte.
            case media(String)
            /// The path of a stream, or many.
            case path(PathPattern)

            var pattern: PathPattern? {
                if case .path(let pattern) = self { pattern } else { nil }
            }

            /// The media id or the pattern as written.
            public var text: String {
                switch self {
                case .media(let id): id
                case .path(let pattern): pattern.text
                }
            }
        }

        /// What is asked for.
        public enum Protection: Hashable, Sendable {
            /// No token.
            case none
            /// A token for this resource, issued to this requestor.
            case resource(MediaResource, requestor: String)
            /// Something that no token has: feeds contradict each other.
            case ambiguous

            /// What a token must be good for.
            public var resource: MediaResource? {
                if case .resource(let resource, _) = self { resource } else { nil }
            }

            /// Whose tokens are asked for.
            public var requestor: String? {
                if case .resource(_, let requestor) = self { requestor } else { nil }
            }
        }

        /// Where an entry comes from.
        public enum Origin: Hashable, Sendable {
            /// The list of who runs the gate.
            case list
            /// A feed, by its name and the line of the item.
            case feed(String, line: Int)
        }

        /// Whether the pattern of this fixes more of a path than that of `other`; nil if both fix as much.
        fileprivate func isLonger(than other: Entry?) -> Bool? {
            guard let other, let mine = key.pattern, let its = other.key.pattern else { return true }
            return mine.fixedLength == its.fixedLength ? nil : mine.fixedLength > its.fixedLength
        }

        /// The one of this and `other` that decides.
        func stronger(than other: Entry?) -> Entry {
            guard let other else { return self }
            return isLonger(than: other) ?? (other.protection == .none) ? self : other
        }
    }

    /// Two entries for the same media id or pattern.
    public struct DuplicateEntry: Error, Hashable, Sendable {
        /// What both speak of.
        public let key: Entry.Key
        /// The entry that is there already.
        public let present: Entry
    }
}

/// Which paths an item of a feed protects.
public enum FeedPathScope: String, Sendable, CaseIterable {
    /// None: its media id alone.
    case none
    /// The paths of its streams.
    case file
    /// Everything in the folders of its streams: a manifest with its segments.
    case folder

    fileprivate func keys(_ item: CatalogueEntry) -> [Catalogue.Entry.Key] {
        guard self != .none else { return [] }
        return item.streamPaths.compactMap { requested in
            guard let path = (try? MediaPath(requested))?.text, !path.utf8.contains(where: { $0.isWildcard }) else {
                return nil
            }
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            // A folder of everything would let one item speak for all others.
            let isRoot = slash == path.startIndex
            let text = self == .folder && !isRoot ? String(path[...slash]) : path
            return (try? PathPattern(text)).map { .path($0) }
        }
    }
}

extension PlaybackRequest.Method {
    /// A bit of its own; none for methods that nothing permits.
    fileprivate var bit: UInt16 {
        switch self {
        case .get: 1
        case .head: 2
        case .options: 4
        case .post: 8
        case .put: 16
        case .patch: 32
        case .delete: 64
        case .other: 0
        }
    }
}

extension UInt8 {
    /// A path with such a character would be a glob; the item is then found by its media id only.
    fileprivate var isWildcard: Bool { self == UInt8(ascii: "*") || self == UInt8(ascii: "?") }
}
