// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A persistent storage for a client's records: authentications, authorizations, registrations and the device id.
///
/// The client never passes a media token to a storage.
public protocol TokenStorage: Sendable {
    /// Loads the stored records; empty records if nothing is stored.
    ///
    /// - Throws: ``TokenStorageError``.
    func load() async throws(TokenStorageError) -> TokenRecords

    /// Replaces the stored records.
    ///
    /// - Throws: ``TokenStorageError``.
    func save(_ records: TokenRecords) async throws(TokenStorageError)
}

/// An error of a storage: the records cannot be stored, or the stored records cannot be trusted.
public struct TokenStorageError: Error, Hashable, Sendable {
    /// The kind of error.
    public enum Code: String, Sendable, CaseIterable {
        /// The file cannot be read or written.
        case unavailable = "token_storage_unavailable"
        /// The file is damaged, or was changed by another program.
        case damaged = "token_storage_damaged"
        /// Other users may read or write the file.
        case exposed = "token_storage_exposed"
    }

    /// The kind of error.
    public let code: Code
    /// A description for a log, with the remedy. It has no contents of the storage.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }
}

extension TokenStorageError: CustomStringConvertible {
    public var description: String { "\(message) [\(code.rawValue)]" }
}

/// A storage in memory, which lasts as long as the process.
public actor MemoryTokenStorage: TokenStorage {
    private var records = TokenRecords()

    /// Creates an empty storage.
    public init() {}

    public func load() -> TokenRecords { records }

    public func save(_ records: TokenRecords) { self.records = records }
}
