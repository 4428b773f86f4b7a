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

    /// Sets the group of the file with this path. Without privileges that works only for groups of this process.
    package func setFileGroup(_ group: UInt32) throws(FileFault) {
        // The owner -1 stays as it is (chown(2)).
        guard unsafe chown(self, uid_t.max, gid_t(group)) == 0 else {
            throw FileFault(reason: "\(self): the group cannot be set to \(group): error \(errno)")
        }
    }

    /// The number of the group with this name or number; `nil` if there is none with this name.
    package var groupNumber: UInt32? {
        if !isEmpty, utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return UInt32(self) }
        // A group with many members needs more space.
        for size in [1 << 12, 1 << 16, 1 << 20] {
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            var buffer = [CChar](repeating: 0, count: size)
            let result = unsafe getgrnam_r(self, &entry, &buffer, size, &found)
            guard result == ERANGE else {
                let isFound = unsafe result == 0 && found != nil
                return isFound ? unsafe UInt32(entry.gr_gid) : nil
            }
        }
        return nil
    }
}
