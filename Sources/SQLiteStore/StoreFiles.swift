// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if SQLite
    internal import ReplayStores
    internal import Synchronization

    /// The file of a store and the two that SQLite has beside it, as they were opened.
    ///
    /// SQLite continues to write into a file that was moved, replaced or deleted. Another gate, or this one after a
    /// restart, then opens a new file at the path: tokens would be consumed twice.
    final class StoreFiles: Sendable {
        private let path: String
        /// The identities of the files; `nil` for one that did not exist yet.
        private let identities = Mutex([FileIdentity?](repeating: nil, count: 3))

        private static let ends = ["", "-wal", "-shm"]

        /// Demands a file system that can lock, and creates the file so that nobody else can read it.
        ///
        /// - Throws: `ReplayStoreError` with code `store_misconfigured`.
        init(creating path: String) throws(ReplayStoreError) {
            self.path = path
            let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
            let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            if let network = (FileSystemKind(of: path) ?? FileSystemKind(of: folder))?.networkName {
                let reason =
                    "\(path): is on \(network), where locks cannot be trusted: use a disk of this machine, or store: redis"
                throw ReplayStoreError(.misconfigured, reason: reason)
            }
            // Without O_EXCL, to close the descriptor would end the locks of another store of this process.
            let file = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if file >= 0 { close(file) }
            // One from before has the mode that its gate's umask left. One of another user stays as it is.
            for end in Self.ends { _ = unsafe chmod(path + end, 0o600) }
        }

        /// Throws if a file is no longer at its path.
        func demandPresence() throws(ReplayStoreError) {
            let isPresent = identities.withLock { identities in
                for (index, end) in Self.ends.enumerated() {
                    let present = FileIdentity(path + end)
                    if identities[index] == nil { identities[index] = present }
                    if identities[index] != present { return false }
                }
                return true
            }
            guard isPresent else {
                let remedy = "put it back, or restart the gate with the file that is to be used"
                throw ReplayStoreError(.unavailable, reason: "\(path) was moved, replaced or deleted: \(remedy)")
            }
        }
    }
#endif
