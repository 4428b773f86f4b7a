// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if SQLite
    internal import GRDB

    /// The schema of the file.
    enum UseSchema {
        static var migrator: DatabaseMigrator {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("1: uses and revocations") { database in
                try database.execute(
                    sql: """
                        CREATE TABLE use (
                            token BLOB NOT NULL,
                            number INTEGER NOT NULL,
                            playback INTEGER,
                            forgettable INTEGER NOT NULL,
                            PRIMARY KEY (token, number)
                        ) WITHOUT ROWID;
                        CREATE INDEX use_forgettable ON use (forgettable);
                        CREATE TABLE revocation (
                            subject BLOB NOT NULL PRIMARY KEY,
                            issuedBefore INTEGER NOT NULL,
                            expires INTEGER NOT NULL
                        ) WITHOUT ROWID;
                        """
                )
            }
            migrator.registerMigration("2: late leeways, and what was forgotten") { database in
                // Uses were kept by the active late leeway, which may be raised to two minutes.
                try database.execute(
                    sql: """
                        UPDATE use SET forgettable = forgettable + 120000 WHERE forgettable < 9223372036854655807;
                        CREATE TABLE forgotten (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), until INTEGER NOT NULL);
                        INSERT INTO forgotten (one, until) VALUES (1, -9223372036854775808);
                        """
                )
            }
            migrator.registerMigration("3: leases, uses of grants, and changes of revocations") { database in
                try database.execute(sql: grantTables)
            }
            migrator.registerMigration("4: renewals of grants") { database in
                try database.execute(
                    sql: """
                        CREATE TABLE renewal (
                            session BLOB NOT NULL,
                            chain INTEGER NOT NULL,
                            branch BLOB NOT NULL,
                            expires INTEGER NOT NULL,
                            PRIMARY KEY (session, chain)
                        ) WITHOUT ROWID;
                        CREATE INDEX renewal_expires ON renewal (expires);
                        """
                )
            }
            return migrator
        }

        /// The tables of grants. Changes of revocations have a table of their own: they last longer than revocations of media
        /// tokens. Of revocations that were made before, it is not known if they are of a session or an MVPD, nor when they
        /// were made: the longest session, with the leeway of clocks, is added to their ends.
        private static let grantTables = """
            CREATE TABLE lease (
                session BLOB NOT NULL PRIMARY KEY,
                viewer BLOB NOT NULL,
                expires INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX lease_viewer ON lease (viewer, expires);
            CREATE INDEX lease_expires ON lease (expires);
            CREATE TABLE grantUse (
                identity BLOB NOT NULL PRIMARY KEY,
                forgettable INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX grantUse_forgettable ON grantUse (forgettable);
            CREATE TABLE forgottenGrant (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), until INTEGER NOT NULL);
            INSERT INTO forgottenGrant (one, until) VALUES (1, -9223372036854775808);
            CREATE TABLE change (
                subject BLOB NOT NULL PRIMARY KEY,
                kind TEXT,
                session BLOB,
                issuedBefore INTEGER NOT NULL,
                kept INTEGER NOT NULL,
                number INTEGER NOT NULL UNIQUE
            ) WITHOUT ROWID;
            CREATE INDEX change_kept ON change (kept);
            CREATE TABLE lastChange (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
            INSERT INTO change (subject, kind, issuedBefore, kept, number)
                SELECT subject, iif(issuedBefore = 9223372036854775807, 'token', NULL),
                    iif(issuedBefore = 9223372036854775807, issuedBefore, min(issuedBefore, expires)),
                    min(expires, 9223372036800000000) + 43320000, row_number() OVER (ORDER BY subject)
                FROM revocation;
            INSERT INTO lastChange (one, number) SELECT 1, count(*) FROM change;
            """
    }
#endif
