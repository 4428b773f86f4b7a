// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The file system that a path is on, as far as locks depend on it.
package struct FileSystemKind: Hashable, Sendable {
    /// The name of a file system of the network, such as `nfs4`; `nil` for one of this machine.
    package let networkName: String?

    /// Reads the file system of the file or folder at a path; `nil` if there is none.
    package init?(of path: String) {
        #if canImport(Darwin)
            var facts = statfs()
            guard unsafe statfs(path, &facts) == 0 else { return nil }
            networkName = facts.f_flags & UInt32(MNT_LOCAL) == 0 ? "a network" : nil
        #else
            var facts = stat()
            guard unsafe stat(path, &facts) == 0 else { return nil }
            let mounts = (try? "/proc/self/mountinfo".contentsOfFile(limit: 4 << 20)) ?? ""
            self.init(device: UInt64(truncatingIfNeeded: facts.st_dev), mounts: mounts)
        #endif
    }

    /// Finds a device in the list of mounts of Linux: proc_pid_mountinfo(5).
    package init(device: UInt64, mounts: String) {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF
        let number = "\(major):\(minor)"
        let line = mounts.split(separator: "\n").first { line in
            let fields = line.split(separator: " ", maxSplits: 3)
            return fields.count > 3 && fields[2] == number[...]
        }
        // Optional fields end with a hyphen, and the type follows.
        let type = line.flatMap { line -> Substring? in
            let fields = line.split(separator: " ")
            return fields.firstIndex(of: "-").flatMap { $0 + 1 < fields.endIndex ? fields[$0 + 1] : nil }
        }
        networkName = type.flatMap { Self.isNetwork($0) ? String($0) : nil }
    }

    private static func isNetwork(_ type: Substring) -> Bool {
        // FUSE with a disk of this machine behind it is `fuseblk`; the others, such as sshfs, are mostly of a network.
        if type == "fuse" || type.hasPrefix("fuse.") { return true }
        return names.contains(String(type))
    }

    private static let names: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gfs2", "ocfs2", "9p", "coda",
        "glusterfs",
        "gpfs", "beegfs", "virtiofs",
    ]
}
