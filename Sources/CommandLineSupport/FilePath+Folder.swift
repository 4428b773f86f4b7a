// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
package import SystemPackage

extension FilePath {
    /// Creates the folder at this path, unless it exists. The system package has no call for it.
    package func makeFolder() throws(Errno) {
        guard unsafe mkdir(string, 0o755) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error == .fileExists else { throw error }
    }

    /// Removes the file at this path, if there is one.
    package func removeFile() throws(Errno) {
        guard unsafe unlink(string) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error == .noSuchFileOrDirectory else { throw error }
    }

    /// Renames the file at this path, and replaces one at `other`.
    package func rename(to other: FilePath) throws(Errno) {
        guard unsafe Platform.rename(string, other.string) == 0 else { throw Errno(rawValue: errno) }
    }
}
