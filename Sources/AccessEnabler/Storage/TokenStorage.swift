// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Where a client keeps what outlives it: who is authenticated and authorized, and what the service calls this device.
///
/// Media tokens are never kept, and no storage is ever given one.
public protocol TokenStorage: Sendable {
    /// What was kept; nothing where nothing was.
    ///
    /// - Throws: ``TokenStorageError``.
    func load() async throws(TokenStorageError) -> TokenRecords

    /// Keeps this in place of what was kept.
    ///
    /// - Throws: ``TokenStorageError``.
    func save(_ records: TokenRecords) async throws(TokenStorageError)
}

/// Why nothing can be kept, or what was kept cannot be believed.
public struct TokenStorageError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Code: String, Sendable, CaseIterable {
        /// The file cannot be read or written.
        case unavailable = "token_storage_unavailable"
        /// The file was changed by somebody else, or damaged.
        case damaged = "token_storage_damaged"
        /// Others may read or write the file.
        case exposed = "token_storage_exposed"
    }

    /// What is wrong.
    public let code: Code
    /// What to do about it, for a log; no contents.
    public let message: String

    /// Makes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension TokenStorageError: CustomStringConvertible {
    public var description: String { "\(message) [\(code.rawValue)]" }
}

/// Keeps it in memory: gone with the process.
public actor MemoryTokenStorage: TokenStorage {
    private var records = TokenRecords()

    /// Makes a storage with nothing in it.
    public init() {}

    public func load() -> TokenRecords { records }

    public func save(_ records: TokenRecords) { self.records = records }
}
