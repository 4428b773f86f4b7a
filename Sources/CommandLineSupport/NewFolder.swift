// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import SystemPackage

/// A folder for new files.
package struct NewFolder {
    private let folder: FilePath

    /// Creates the folder at `path` and each missing one above it. Existing ones stay unchanged.
    package init(_ path: String) throws(CommandFailure) {
        folder = FilePath(path)
        var part = FilePath(root: folder.root, [])
        for component in folder.components {
            part.append(component)
            do { try part.makeFolder() } catch { throw CommandFailure("\(part): cannot be created: \(error)") }
        }
    }

    package func path(_ name: String) -> String { folder.appending(name).string }

    package func contains(_ name: String) -> Bool {
        guard let file = try? FileDescriptor.open(folder.appending(name), .readOnly) else { return false }
        try? file.close()
        return true
    }

    /// Writes a file.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - content: The whole content.
    ///   - isSecret: True for mode 0600.
    ///   - replaces: True to replace a file of this name, at once. It is an error otherwise.
    package func write(
        _ name: String,
        content: [UInt8],
        isSecret: Bool,
        replaces: Bool = false
    ) throws(CommandFailure) {
        let target = folder.appending(name)
        // A new file has its mode before it has content, whatever the mode of the old one is.
        let written = replaces ? folder.appending(name + ".new") : target
        do {
            if replaces { try written.removeFile() }
            let file = try FileDescriptor.open(
                written,
                .writeOnly,
                options: [.create, .exclusiveCreate],
                permissions: isSecret ? .ownerReadWrite : [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter { _ = try file.writeAll(content) }
            if replaces { try written.rename(to: target) }
        } catch { throw CommandFailure("\(path(name)): cannot be written: \(error)") }
    }
}
