// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension String {
    /// True if there is a regular file at this path: not a link, a folder, or a pipe.
    package var isRegularFile: Bool {
        var facts = stat()
        return unsafe lstat(self, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    /// Removes the socket at this path. Other kinds of files stay.
    package func removeSocket() {
        var facts = stat()
        guard unsafe lstat(self, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else { return }
        _ = unsafe unlink(self)
    }

    /// Sets the permissions of the file at this path, such as 0o660.
    package func setFileMode(_ mode: Int) throws(FileFault) {
        guard unsafe chmod(self, mode_t(mode)) == 0 else {
            throw FileFault(reason: "\(self): the mode cannot be set: error \(errno)")
        }
    }
}
