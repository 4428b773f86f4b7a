// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The entries of paths, looked up by path: exact paths, folders and globs.
struct PathTable: Sendable {
    private var paths: [ByteKey: Catalogue.Entry] = [:]
    /// The folders, by name without the trailing slash: the folder itself and the paths in it find the same entry.
    private var folders: [ByteKey: Folder] = [:]
    private var hasGlobs = false
    /// The folders, without the trailing slash, of the paths above and of the folders above.
    private var inhabited: Set<ByteKey> = []

    /// The entry of a folder, and the globs in it.
    private struct Folder {
        var all: Catalogue.Entry?
        var globs: [Catalogue.Entry] = []
    }

    /// Returns the entry that decides about a path.
    func entry(_ path: MediaPath) -> Catalogue.Entry? {
        let characters = path.characters
        if let exact = paths[ByteKey(characters)] { return exact }
        if folders.isEmpty { return nil }
        // A request may name the folder without its trailing slash.
        var best = folders[ByteKey(characters)]?.all
        var end = characters.utf8.endIndex
        while let slash = characters.utf8[..<end].lastIndex(of: UInt8(ascii: "/")) {
            // Globs of this folder may fix more bytes than its name. Globs of folders above usually fix less, but not
            // always.
            if let folder = folders[ByteKey(characters[..<slash])] {
                for glob in folder.globs where glob.key.pattern?.covers(path) ?? false {
                    best = glob.stronger(than: best)
                }
                if let all = folder.all { best = all.stronger(than: best) }
            }
            // A folder above fixes less.
            if !hasGlobs, best != nil { return best }
            end = slash
        }
        return best
    }

    /// Returns the entry of exactly this pattern.
    func entry(_ pattern: PathPattern) -> Catalogue.Entry? {
        switch pattern.form {
        case .path: paths[ByteKey(pattern.root)]
        case .folder: folders[ByteKey(pattern.folderName)]?.all
        case .glob: folders[ByteKey(pattern.folderName)]?.globs.first { $0.key.pattern == pattern }
        }
    }

    /// Inserts `entry` if its place is free or `mayReplace` is true for the present entry. Returns the present entry.
    mutating func replace(
        _ entry: Catalogue.Entry,
        _ pattern: PathPattern,
        where mayReplace: (Catalogue.Entry) -> Bool
    ) -> Catalogue.Entry? {
        let present = self.entry(pattern)
        guard present.map(mayReplace) ?? true else { return present }
        switch pattern.form {
        case .path:
            paths[ByteKey(pattern.root)] = entry
            setInhabited(around: pattern.root)
        case .folder:
            setInhabited(around: pattern.folderName)
            folders[ByteKey(pattern.folderName), default: Folder()].all = entry
        case .glob:
            var folder = folders[ByteKey(pattern.folderName)] ?? Folder()
            folder.globs.removeAll { $0.key.pattern == pattern }
            folder.globs.append(entry)
            folders[ByteKey(pattern.folderName)] = folder
            hasGlobs = true
        }
        return present
    }
    private mutating func setInhabited(around path: Substring) {
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) { inhabited.insert(ByteKey(path[..<slash])) }
    }

    /// True if one entry, or none, decides about all files that are directly in a folder.
    ///
    /// - Parameter folder: The path of the folder in canonical form, without its trailing slash.
    func isUniform(_ folder: Substring) -> Bool { !hasGlobs && !inhabited.contains(ByteKey(folder)) }

    /// The entries, in no order.
    var entries: [Catalogue.Entry] {
        Array(paths.values) + folders.values.flatMap { ($0.all.map { [$0] } ?? []) + $0.globs }
    }
}
