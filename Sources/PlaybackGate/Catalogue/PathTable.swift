// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The entries of paths, found by path: exact ones, folders and globs.
struct PathTable: Sendable {
    private var paths: [ByteKey: Catalogue.Entry] = [:]
    /// By the names of folders without the slash at their end: so a folder is found by itself and by what is in it.
    private var folders: [ByteKey: Folder] = [:]
    private var hasGlobs = false

    /// The entries of paths in a folder.
    private struct Folder {
        var all: Catalogue.Entry?
        var globs: [Catalogue.Entry] = []
    }

    /// The entry that decides about a path.
    func entry(_ path: MediaPath) -> Catalogue.Entry? {
        let characters = path.characters
        if let exact = paths[ByteKey(characters)] { return exact }
        if folders.isEmpty { return nil }
        // The folder itself may be named without its slash.
        var best = folders[ByteKey(characters)]?.all
        var end = characters.utf8.endIndex
        while let slash = characters.utf8[..<end].lastIndex(of: UInt8(ascii: "/")) {
            // Globs of this folder may fix more than its name; those of folders above fix less only as a rule.
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

    /// The entry of exactly this pattern.
    func entry(_ pattern: PathPattern) -> Catalogue.Entry? {
        switch pattern.form {
        case .path: paths[ByteKey(pattern.root)]
        case .folder: folders[ByteKey(pattern.folderName)]?.all
        case .glob: folders[ByteKey(pattern.folderName)]?.globs.first { $0.key.pattern == pattern }
        }
    }

    /// Puts `entry` in if its place is empty or `mayReplace` says so; returns the entry that was there.
    mutating func replace(
        _ entry: Catalogue.Entry,
        _ pattern: PathPattern,
        where mayReplace: (Catalogue.Entry) -> Bool
    ) -> Catalogue.Entry? {
        let present = self.entry(pattern)
        guard present.map(mayReplace) ?? true else { return present }
        switch pattern.form {
        case .path: paths[ByteKey(pattern.root)] = entry
        case .folder: folders[ByteKey(pattern.folderName), default: Folder()].all = entry
        case .glob:
            var folder = folders[ByteKey(pattern.folderName)] ?? Folder()
            folder.globs.removeAll { $0.key.pattern == pattern }
            folder.globs.append(entry)
            folders[ByteKey(pattern.folderName)] = folder
            hasGlobs = true
        }
        return present
    }
}
