// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The entries of paths, looked up by path: exact paths, folders and globs.
struct PathTable: Sendable {
    private var paths = PrefixTable<Catalogue.Entry>()
    /// The folders, by name without the trailing slash. The folder itself and the paths in it have the same entry.
    private var folders = PrefixTable<Folder>()
    private var hasGlobs = false
    /// The folders, without the trailing slash, of the paths above and of the folders above.
    private var inhabited = PrefixTable<Void>()

    /// The entry of a folder, and the globs in it.
    private struct Folder {
        var all: Catalogue.Entry?
        var globs: [Catalogue.Entry] = []
    }

    /// Returns the entry that decides about a path.
    func entry(_ path: MediaPath) -> Catalogue.Entry? {
        let bytes = path.characters.utf8.span
        var hash = PrefixHash()
        // The folder with the longest name, or all if their globs differ in what they fix.
        var (longest, others): (Int?, [Int]) = (nil, [])
        let (hasFolders, hasGlobs) = (!folders.isEmpty, hasGlobs)
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == UInt8(ascii: "/"), hasFolders, let folder = folders.index(of: bytes.extracting(..<index), hash) {
                if hasGlobs, let longest { others.append(longest) }
                longest = folder
            }
            hash.add(byte)
        }
        if let exact = paths.index(of: bytes, hash) { return paths[exact] }
        guard hasFolders else { return nil }
        // A request may name the folder without its trailing slash.
        let itself = folders.index(of: bytes, hash).flatMap { folders[$0].all }
        guard hasGlobs else { return itself ?? longest.flatMap { folders[$0].all } }
        return strongest(for: path, among: longest.map { others + [$0] } ?? [], itself: itself)
    }

    /// Returns the entry that has precedence.
    ///
    /// - Parameters:
    ///   - path: The folders that the path is in, the shortest first.
    ///   - itself: The entry of the folder that the path names.
    private func strongest(
        for path: MediaPath,
        among indices: [Int],
        itself: Catalogue.Entry?
    ) -> Catalogue.Entry? {
        var best = itself
        for index in indices.reversed() {
            // Globs of this folder may fix more bytes than its name. Globs of folders above usually fix less, but not
            // always.
            let folder = folders[index]
            for glob in folder.globs where glob.key.pattern?.covers(path) ?? false {
                best = glob.stronger(than: best)
            }
            if let all = folder.all { best = all.stronger(than: best) }
        }
        return best
    }

    /// Returns the entry of exactly this pattern.
    func entry(_ pattern: PathPattern) -> Catalogue.Entry? {
        switch pattern.form {
        case .path: paths[pattern.root]
        case .folder: folders[pattern.folderName]?.all
        case .glob: folders[pattern.folderName]?.globs.first { $0.key.pattern == pattern }
        }
    }

    /// Inserts `entry` if its slot is free or `mayReplace` is true for the present entry. Returns the present entry.
    mutating func replace(
        _ entry: Catalogue.Entry,
        at pattern: PathPattern,
        where mayReplace: (Catalogue.Entry) -> Bool
    ) -> Catalogue.Entry? {
        let present = self.entry(pattern)
        guard present.map(mayReplace) ?? true else { return present }
        switch pattern.form {
        case .path:
            paths[pattern.root] = entry
            setInhabited(around: pattern.root)
        case .folder:
            setInhabited(around: pattern.folderName)
            var folder = folders[pattern.folderName] ?? Folder()
            folder.all = entry
            folders[pattern.folderName] = folder
        case .glob:
            var folder = folders[pattern.folderName] ?? Folder()
            folder.globs.removeAll { $0.key.pattern == pattern }
            folder.globs.append(entry)
            folders[pattern.folderName] = folder
            hasGlobs = true
        }
        return present
    }

    private mutating func setInhabited(around path: Substring) {
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) { inhabited[path[..<slash]] = () }
    }

    /// True if one entry, or none, decides about all files that are directly in a folder.
    ///
    /// - Parameter folder: The path of the folder in canonical form, without its trailing slash.
    func isUniform(_ folder: Span<UInt8>) -> Bool {
        !hasGlobs && inhabited.index(of: folder, PrefixHash(folder)) == nil
    }

    /// The entries, in no order.
    var entries: [Catalogue.Entry] {
        Array(paths.values) + folders.values.flatMap { ($0.all.map { [$0] } ?? []) + $0.globs }
    }
}
