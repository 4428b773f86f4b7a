// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

#if SQLite
    internal import FoundationEssentials
    internal import GRDB
    internal import MediaTokens
    internal import ReplayStores

    /// The tables of the store, within a transaction.
    struct UseTables {
        private let database: Database

        init(_ database: Database) { self.database = database }

        /// Records a use if the token has one left, and if none of its uses can have been deleted.
        func record(_ use: TokenUse, at now: Timestamp) throws -> UseOutcome {
            if let kind = try revocation(of: use.token, at: now) { return .revoked(kind) }
            let fingerprint = Data(use.token.fingerprint.bytes)
            let playback = use.playback.map { Int64(bitPattern: $0) }
            let present = try Row.fetchCursor(
                try database.cachedStatement(sql: "SELECT playback FROM use WHERE token = ?"),
                arguments: [fingerprint]
            )
            var uses = 0
            while let row = try present.next() {
                let recorded: Int64? = row[0]
                if let playback, recorded == playback { return .repeated }
                uses += 1
            }
            guard uses < use.maximumUses else { return .usedUp }
            let insertion = try database.cachedStatement(
                sql: """
                    INSERT INTO use (token, number, playback, forgettable)
                        SELECT ?1, ?2, ?3, ?4 WHERE ?4 > (SELECT until FROM forgotten)
                    """
            )
            try insertion.execute(
                arguments: [fingerprint, uses, playback, use.forgettable.millisecondsSince1970]
            )
            return database.changesCount == 1 ? .recorded : .usedUp
        }

        /// Writes and removes a row, as a use would be written. A full disk and a read-only mount still answer queries,
        /// and SQLite does not write an update that changes nothing.
        func proveWriting() throws {
            try database.execute(
                sql: """
                    INSERT INTO use (token, number, forgettable) VALUES (x'', 0, 0);
                    DELETE FROM use WHERE token = x'' AND number = 0
                    """
            )
        }

        /// Records a revocation. Two revocations of one subject are merged, so that each stays effective.
        func revoke(_ revocation: Revocation, at now: Timestamp) throws {
            let statement = try database.cachedStatement(
                sql: """
                    INSERT INTO revocation (subject, issuedBefore, expires) VALUES (?1, ?2, ?3)
                    ON CONFLICT (subject) DO UPDATE SET
                        issuedBefore = iif(expires < ?4, ?2, max(issuedBefore, ?2)),
                        expires = max(expires, ?3)
                    """
            )
            try statement.execute(
                arguments: [
                    Data(revocation.key), revocation.issuedBefore.millisecondsSince1970,
                    revocation.expires.millisecondsSince1970, Self.revocationsEnd(now),
                ]
            )
        }

        /// Deletes the revocation of a subject. Returns true if it was in force.
        func lift(_ key: SHA256Digest, at now: Timestamp) throws -> Bool {
            let statement = try database.cachedStatement(
                sql: "DELETE FROM revocation WHERE subject = ? RETURNING expires"
            )
            let expires = try Int64.fetchAll(statement, arguments: [Data(key.bytes)]).first
            return expires.map { $0 >= now.millisecondsSince1970 } ?? false
        }

        /// Checks a token for revocations.
        func examine(_ use: TokenUse, at now: Timestamp) throws -> UseOutcome {
            try revocation(of: use.token, at: now).map { .revoked($0) } ?? .notRevoked
        }

        private func revocation(of token: MediaToken, at now: Timestamp) throws -> Revocation.Kind? {
            let keys = Revocation.keys(of: token)
            let statement = try database.cachedStatement(
                sql: """
                    SELECT subject FROM revocation
                        WHERE subject IN (?, ?, ?, ?) AND expires >= ? AND issuedBefore > ?
                    """
            )
            // Of a proxy MVPD there may be no key.
            var arguments = keys.map { Data($0.key).databaseValue }
            while arguments.count < 4 { arguments.append(.null) }
            arguments.append(now.millisecondsSince1970.databaseValue)
            arguments.append(token.timeIssued.millisecondsSince1970.databaseValue)
            let revoked = try Data.fetchAll(statement, arguments: StatementArguments(arguments))
            return revoked.isEmpty ? nil : keys.first { revoked.contains(Data($0.key)) }?.kind
        }

        /// Deletes some expired uses, the oldest first, and expired revocations.
        func forget(at now: Timestamp, atMost limit: Int) throws {
            try database.forget("use", key: "token, number", noting: "forgotten", at: now, atMost: limit)
            try database.cachedStatement(sql: "DELETE FROM revocation WHERE expires < ?")
                .execute(arguments: [Self.revocationsEnd(now)])
        }

        /// Returns the time before which a revocation must have ended to be deleted, in milliseconds since 1970.
        static func revocationsEnd(_ now: Timestamp) -> Int64 {
            now.advanced(byMilliseconds: -Revocation.margin).millisecondsSince1970
        }
    }

    extension Database {
        /// Deletes some expired records of a table, the oldest first. Records the latest deletion time among them. Jobs
        /// are not ordered by their times, and a late job must not record a deleted use again.
        package func forget(
            _ table: String,
            key: String,
            noting note: String,
            at now: Timestamp,
            atMost limit: Int
        ) throws {
            let arguments: StatementArguments = [now.millisecondsSince1970, limit]
            let oldest = "FROM \(table) WHERE forgettable < ? ORDER BY forgettable LIMIT ?"
            let latest = try cachedStatement(sql: "SELECT max(forgettable) FROM (SELECT forgettable \(oldest))")
            guard let latest = try Int64.fetchOne(latest, arguments: arguments) else { return }
            try cachedStatement(sql: "UPDATE \(note) SET until = max(until, ?)").execute(arguments: [latest])
            try cachedStatement(sql: "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) \(oldest))")
                .execute(arguments: arguments)
        }
    }
#endif
