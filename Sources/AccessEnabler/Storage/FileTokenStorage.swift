// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import FoundationEssentials
internal import Platform
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

    private let createsFolder: Bool

    /// Creates a storage. The first save creates the file; its folder must exist.
    public init(path: String, integrityCheck: IntegrityCheck = .all) {
        self.init(path: path, integrityCheck: integrityCheck, createsFolder: false)
    }

    init(path: String, integrityCheck: IntegrityCheck, createsFolder: Bool) {
        self.path = path
        check = integrityCheck
        self.createsFolder = createsFolder
    }

    /// The storage of the documented initializer: a file of the application in the folder that the platform has for the state of
    /// programs. A damaged file is replaced, so that a login is possible; `nil` if the platform names no folder.
    ///
    /// - Parameter softwareStatement: The statement of the application. Each has a file of its own.
    public static func standard(for softwareStatement: String) -> FileTokenStorage? {
        standardPath(for: softwareStatement) { ProcessEnvironment.value($0) }
            .map { FileTokenStorage(path: $0, integrityCheck: .clear, createsFolder: true) }
    }

    /// Returns the path of the standard file: below `XDG_STATE_HOME`, or the home folder.
    ///
    /// - Parameter variable: Returns the value of a variable of the environment.
    static func standardPath(for softwareStatement: String, _ variable: (String) -> String?) -> String? {
        func folder(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        #if canImport(Darwin)
            let state = folder("HOME").map { "\($0)/Library/Application Support" }
        #else
            // The XDG base directory specification.
            let state = folder("XDG_STATE_HOME") ?? folder("HOME").map { "\($0)/.local/state" }
        #endif
        let name = SHA256.digest(softwareStatement).prefix(8).hexadecimal
        return state.map { "\($0)/playgate/logins-\(name).json" }
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
            throw TokenStorageError(
                .damaged,
                message: "\(path) cannot be read (\(error.message)); remove it and log in again"
            )
        }
        if check != .none {
            guard contents.version == 1, try Self.digest(contents.records) == contents.digest else {
                throw TokenStorageError(.damaged, message: "\(path) was damaged or changed; remove it and log in again")
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
                throw TokenStorageError(.exposed, message: "\(path) is not a regular file; remove it")
            }
            guard check == .none || facts.isPrivate else {
                throw TokenStorageError(
                    .exposed,
                    message: "\(path) belongs to another user, or other users may access it; run: chmod 600 \(path)"
                )
            }
            var bytes: [UInt8] = []
            while bytes.count <= EntitlementBody.maximumSize {
                let chunk = try file.chunk()
                if chunk.isEmpty { return bytes }
                bytes += chunk
            }
            throw TokenStorageError(.damaged, message: "\(path) is too large; remove it and log in again")
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch let error as TokenStorageError {
            throw error
        } catch Errno.tooManySymbolicLinkLevels {
            throw TokenStorageError(.exposed, message: "\(path) is a symbolic link; remove it")
        } catch {
            throw TokenStorageError(.unavailable, message: "\(path) cannot be read: \(error)")
        }
    }

    public func save(_ records: TokenRecords) throws(TokenStorageError) {
        let contents = Contents(digest: try Self.digest(records), records: records)
        let suffix = (0..<8).map { _ in UInt8.random(in: 0...255) }.hexadecimal
        let temporary = FilePath("\(path).\(suffix)")
        do {
            let bytes = try EntitlementBody.json(contents)
            guard bytes.count <= EntitlementBody.maximumSize else {
                throw TokenStorageError(.unavailable, message: "the records exceed the size limit of \(path)")
            }
            let file = try create(temporary)
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
            throw TokenStorageError(.unavailable, message: "\(path) cannot be written: \(error)")
        }
    }

    /// Creates a file, and its folder if there is none and it is one of this storage's own.
    private func create(_ path: FilePath) throws(Errno) -> FileDescriptor {
        func open() throws(Errno) -> FileDescriptor {
            do {
                return try FileDescriptor.open(
                    path,
                    .writeOnly,
                    options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                    permissions: .ownerReadWrite
                )
            } catch { throw error as? Errno ?? .ioError }
        }
        do throws(Errno) { return try open() } catch {
            guard createsFolder, error == .noSuchFileOrDirectory else { throw error }
            path.removingLastComponent().makeFolders()
            return try open()
        }
    }

    private static func digest(_ records: TokenRecords) throws(TokenStorageError) -> String {
        do { return SHA256.digest(try EntitlementBody.json(records)).hexadecimal } catch {
            throw TokenStorageError(.unavailable, message: "the records cannot be encoded as JSON: \(error)")
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
