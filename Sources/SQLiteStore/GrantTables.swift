// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

#if SQLite
    internal import FoundationEssentials
    internal import GRDB
    internal import MediaTokens
    internal import ReplayStores

    /// The tables of leases, of uses and renewals of grants, and of changes of revocations, within a transaction.
    struct GrantTables {
        private let database: Database

        init(_ database: Database) { self.database = database }

        // MARK: Leases

        /// Acquires a slot for a session, or prolongs its own.
        func acquire(_ lease: StreamLease, at now: Timestamp) throws -> LeaseOutcome {
            let (session, viewer) = (Data(lease.session.bytes), Data(lease.key.digest.bytes))
            let ends = lease.ends(at: now).millisecondsSince1970
            try database.cachedStatement(
                sql: """
                    UPDATE lease SET expires = max(expires, ?1) WHERE session = ?2 AND viewer = ?3 AND expires > ?4
                    """
            ).execute(arguments: [ends, session, viewer, now.millisecondsSince1970])
            if database.changesCount == 1 { return .renewed }
            let count = try database.cachedStatement(sql: "SELECT count(*) FROM lease WHERE viewer = ? AND expires > ?")
            let live = try Int.fetchOne(count, arguments: [viewer, now.millisecondsSince1970]) ?? 0
            guard live < lease.limit else { return .limitReached(current: live) }
            // An expired lease must be deleted: a gate whose clock is a little behind would prolong it beside its
            // replacement.
            try database.cachedStatement(sql: "DELETE FROM lease WHERE viewer = ? AND expires <= ?")
                .execute(arguments: [viewer, now.millisecondsSince1970])
            try database.cachedStatement(
                sql: """
                    INSERT INTO lease (session, viewer, expires) VALUES (?1, ?2, ?3)
                    ON CONFLICT (session) DO UPDATE SET viewer = ?2, expires = ?3
                    """
            ).execute(arguments: [session, viewer, ends])
            return .taken
        }

        /// Frees the slot of a session. Returns true if it had one that had not ended.
        func free(_ session: SessionID, at now: Timestamp) throws -> Bool {
            let statement = try database.cachedStatement(sql: "DELETE FROM lease WHERE session = ? RETURNING expires")
            let expires = try Int64.fetchAll(statement, arguments: [Data(session.bytes)]).first
            return expires.map { $0 > now.millisecondsSince1970 } ?? false
        }

        // MARK: Grants

        /// Records a grant unless it was recorded before, or can have been deleted.
        func insert(_ identity: SHA256Digest, until expires: Timestamp) throws -> GrantUseOutcome {
            try database.cachedStatement(
                sql: """
                    INSERT INTO grantUse (identity, forgettable)
                        SELECT ?1, ?2 WHERE ?2 > (SELECT until FROM forgottenGrant)
                    ON CONFLICT (identity) DO NOTHING
                    """
            ).execute(arguments: [Data(identity.bytes), expires.millisecondsSince1970])
            return database.changesCount == 1 ? .first : .replayed
        }

        // MARK: Renewals

        /// Records a renewal in its chain.
        func note(_ renewal: GrantRenewal, at now: Timestamp) throws -> RenewalOutcome {
            let (session, chain) = (Data(renewal.session.bytes), Int64(bitPattern: renewal.chain))
            let statement = try database.cachedStatement(
                sql: "SELECT branch, expires FROM renewal WHERE session = ? AND chain = ? AND expires > ?"
            )
            let row = try Row.fetchOne(statement, arguments: [session, chain, now.millisecondsSince1970])
            var (outcome, branch) = (RenewalOutcome.forward, RenewalBranch(renewal))
            var expires = renewal.expires.millisecondsSince1970
            if let row, var present = RenewalBranch(bytes: [UInt8](row["branch"] as Data)) {
                outcome = present.note(renewal)
                (branch, expires) = (present, max(expires, row["expires"]))
            }
            try database.cachedStatement(
                sql: """
                    INSERT INTO renewal (session, chain, branch, expires) VALUES (?1, ?2, ?3, ?4)
                    ON CONFLICT (session, chain) DO UPDATE SET branch = ?3, expires = ?4
                    """
            ).execute(arguments: [session, chain, Data(branch.bytes), expires])
            return outcome
        }

        // MARK: Revocations

        /// Records a change. Its number is higher than all before, and transactions are written one after another. A
        /// reader that has seen a number has seen all lower ones.
        func note(_ record: RevocationRecord, at now: Timestamp) throws {
            let last = try Int64.fetchOne(
                try database.cachedStatement(sql: "UPDATE lastChange SET number = number + 1 RETURNING number")
            )
            try database.cachedStatement(
                sql: """
                    INSERT INTO change (subject, kind, session, issuedBefore, kept, number) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                    ON CONFLICT (subject) DO UPDATE SET
                        kind = ?2,
                        issuedBefore = iif(kept < ?7, ?4, max(issuedBefore, ?4)),
                        kept = max(kept, ?5),
                        number = ?6
                    """
            ).execute(
                arguments: [
                    Data(record.key.bytes), record.kind?.rawValue, record.session.map { Data($0.bytes) },
                    record.issuedBefore.millisecondsSince1970, record.kept.millisecondsSince1970, last,
                    UseTables.revocationsEnd(now),
                ]
            )
        }

        /// Notes that the revocation of a subject was lifted. Returns false if it was not in force.
        func lift(_ key: SHA256Digest, at now: Timestamp) throws -> Bool {
            let lifted = RevocationRecord.lifted.millisecondsSince1970
            try database.cachedStatement(
                sql: """
                    UPDATE change SET issuedBefore = ?1, number = (SELECT number + 1 FROM lastChange)
                        WHERE subject = ?2 AND issuedBefore > ?1 AND kept >= ?3
                    """
            ).execute(arguments: [lifted, Data(key.bytes), UseTables.revocationsEnd(now)])
            guard database.changesCount == 1 else { return false }
            try database.cachedStatement(sql: "UPDATE lastChange SET number = number + 1").execute()
            return true
        }

        /// Returns the next changes after the one with a number.
        func changes(after number: Int64) throws -> RevocationChanges {
            let statement = try database.cachedStatement(
                sql: """
                    SELECT subject, kind, session, issuedBefore, kept, number FROM change WHERE number > ?
                    ORDER BY number LIMIT ?
                    """
            )
            let rows = try Row.fetchAll(statement, arguments: [number, RevocationChanges.limit])
            let last: Int64 = rows.last?["number"] ?? number
            return RevocationChanges(
                rows.compactMap(RevocationRecord.init),
                cursor: RevocationCursor(generation: "sqlite", number: last),
                hasMore: rows.count == RevocationChanges.limit
            )
        }

        // MARK: Forgetting

        /// Deletes some expired leases, uses of grants and changes, the oldest first.
        func forget(at now: Timestamp, atMost limit: Int) throws {
            try database.forget("grantUse", key: "identity", noting: "forgottenGrant", at: now, atMost: limit)
            // Late, because jobs are not ordered by their times.
            let past: StatementArguments = [UseTables.revocationsEnd(now), limit]
            for (table, key, end) in [
                ("lease", "session", "expires"), ("renewal", "session, chain", "expires"),
                ("change", "subject", "kept"),
            ] {
                let oldest = "SELECT \(key) FROM \(table) WHERE \(end) < ? ORDER BY \(end) LIMIT ?"
                try database.cachedStatement(sql: "DELETE FROM \(table) WHERE (\(key)) IN (\(oldest))")
                    .execute(arguments: past)
            }
        }
    }

    extension RenewalBranch {
        /// The bytes of a row: of each generation its number in 4, the number of its parents in 1, and each parent in 8.
        fileprivate var bytes: [UInt8] {
            var bytes: [UInt8] = []
            for generation in generations {
                bytes += UInt64(generation.number).bigEndianBytes.suffix(4)
                bytes.append(UInt8(generation.parents.count))
                for parent in generation.parents { bytes += parent.bigEndianBytes }
            }
            return bytes
        }

        /// Reads the bytes of a row; `nil` if they cannot be those of a branch.
        fileprivate init?(bytes: [UInt8]) {
            var (rest, generations) = (bytes[...], [Generation]())
            func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
            while rest.count > 5 {
                let name = UInt32(truncatingIfNeeded: number(rest.prefix(4)))
                let size = 8 * Int(rest.dropFirst(4).first ?? 0)
                rest = rest.dropFirst(5)
                guard size > 0, rest.count >= size else { return nil }
                let parents = stride(from: rest.startIndex, to: rest.startIndex + size, by: 8).map {
                    number(rest[$0..<$0 + 8])
                }
                generations.append(Generation(number: name, parents: parents))
                rest = rest.dropFirst(size)
            }
            guard rest.isEmpty else { return nil }
            self.init(generations)
        }
    }

    extension UInt64 {
        fileprivate var bigEndianBytes: [UInt8] {
            (0..<8).reversed().map { UInt8(truncatingIfNeeded: self >> (8 * UInt64($0))) }
        }
    }

    extension RevocationRecord {
        /// Reads a row; `nil` if its key has not the size of a key.
        fileprivate init?(_ row: Row) {
            let (subject, kind, session): (Data, String?, Data?) = (row["subject"], row["kind"], row["session"])
            guard let key = SHA256Digest(bytes: subject) else { return nil }
            self.init(
                kind: kind.flatMap(Revocation.Kind.init),
                key: key,
                session: session.flatMap(SessionID.init(bytes:)),
                issuedBefore: Timestamp(millisecondsSince1970: row["issuedBefore"]),
                kept: Timestamp(millisecondsSince1970: row["kept"])
            )
        }
    }
#endif
