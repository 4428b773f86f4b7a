// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import FoundationEssentials
internal import SystemPackage

/// A storage in a file that only this user may read, with a digest to detect damage.
///
/// The file has mode 0600 and is replaced as a whole, so another process finds the old or the new version. The digest
/// detects accidents, not attacks: a process of the same user can also write a digest. Use one client for each file: with
/// two, the last save wins.
public actor FileTokenStorage: TokenStorage {
    /// The reaction to a file that is damaged, or that other users may access: the documented `IntegrityCheckType`.
    public enum IntegrityCheck: String, Sendable, CaseIterable {
        /// `NONE`: the file is used as far as it can be read.
        case none = "NONE"
        /// `ALL`: the file is not used, and loading fails.
        case all = "ALL"
        /// `CLEAR`: the file is not used, and the next save replaces it.
        case clear = "CLEAR"
    }

    private let path: String
    private let check: IntegrityCheck

    /// Creates a storage. The first save creates the file; its folder must exist.
    public init(path: String, integrityCheck: IntegrityCheck = .all) {
        self.path = path
        check = integrityCheck
    }

    private struct Contents: Codable {
        var version = 1
        /// The SHA-256 digest of the encoded records, in hexadecimal.
        var digest: String
        var records: TokenRecords
    }

    public func load() throws(TokenStorageError) -> TokenRecords {
        do throws(TokenStorageError) { return try read() } catch {
            if check == .clear, error.code != .unavailable { return TokenRecords() }
            throw error
        }
    }

    private func read() throws(TokenStorageError) -> TokenRecords {
        guard let bytes = try contents() else { return TokenRecords() }
        let contents: Contents
        do throws(EntitlementBodyError) { contents = try EntitlementBody.read(Contents.self, json: bytes) } catch {
            throw TokenStorageError(.damaged, "\(path) cannot be read (\(error.message)); remove it and log in again")
        }
        if check != .none {
            guard contents.version == 1, try Self.digest(contents.records) == contents.digest else {
                throw TokenStorageError(.damaged, "\(path) was damaged or changed; remove it and log in again")
            }
        }
        return contents.records
    }

    /// The bytes of the file; `nil` if it does not exist.
    private func contents() throws(TokenStorageError) -> [UInt8]? {
        do {
            // A symbolic link is refused: its target may have been chosen by another user.
            let file = try FileDescriptor.open(
                FilePath(path),
                .readOnly,
                options: [.noFollow, .closeOnExec, .nonBlocking]
            )
            defer { try? file.close() }
            let facts = try file.stat()
            guard facts.type == .regular else {
                throw TokenStorageError(.exposed, "\(path) is not a regular file; remove it")
            }
            guard check == .none || facts.isPrivate else {
                throw TokenStorageError(
                    .exposed,
                    "\(path) belongs to another user, or other users may access it; run: chmod 600 \(path)"
                )
            }
            var bytes: [UInt8] = []
            while bytes.count <= EntitlementBody.maximumSize {
                let chunk = try file.chunk()
                if chunk.isEmpty { return bytes }
                bytes += chunk
            }
            throw TokenStorageError(.damaged, "\(path) is too large; remove it and log in again")
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch let error as TokenStorageError {
            throw error
        } catch Errno.tooManySymbolicLinkLevels {
            throw TokenStorageError(.exposed, "\(path) is a symbolic link; remove it")
        } catch {
            throw TokenStorageError(.unavailable, "\(path) cannot be read: \(error)")
        }
    }

    public func save(_ records: TokenRecords) throws(TokenStorageError) {
        let contents = Contents(digest: try Self.digest(records), records: records)
        let suffix = (0..<8).map { _ in UInt8.random(in: 0...255) }.hexadecimal
        let temporary = FilePath("\(path).\(suffix)")
        do {
            let bytes = try EntitlementBody.json(contents)
            guard bytes.count <= EntitlementBody.maximumSize else {
                throw TokenStorageError(.unavailable, "the records exceed the size limit of \(path)")
            }
            let file = try FileDescriptor.open(
                temporary,
                .writeOnly,
                options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                permissions: .ownerReadWrite
            )
            do {
                defer { try? file.close() }
                try file.writeAll(bytes)
                try file.synchronise()
            }
            try temporary.replace(FilePath(path))
        } catch let error as TokenStorageError {
            throw error
        } catch {
            temporary.remove()
            throw TokenStorageError(.unavailable, "\(path) cannot be written: \(error)")
        }
    }

    private static func digest(_ records: TokenRecords) throws(TokenStorageError) -> String {
        do { return SHA256.digest(try EntitlementBody.json(records)).hexadecimal } catch {
            throw TokenStorageError(.unavailable, "the records cannot be encoded as JSON: \(error)")
        }
    }
}

extension Stat {
    /// True if the file belongs to this user, and no other user may read, write or execute it.
    fileprivate var isPrivate: Bool {
        userID == .effectiveOfThisProcess
            && permissions.isDisjoint(with: [.groupReadWriteExecute, .otherReadWriteExecute])
    }
}
