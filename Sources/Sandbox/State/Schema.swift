// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GRDB

/// The database schema of the state.
enum Schema {
    /// The tables. Each has the column `forgettable`: the time after which a row may be deleted.
    enum Table: String, CaseIterable {
        case client, accessToken, session, ticket, profile, authorization, temporaryUse, stream
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1: everything") { database in
            try database.execute(sql: tables)
            for table in Table.allCases {
                try database.execute(
                    sql: "CREATE INDEX \(table.rawValue)_forgettable ON \(table.rawValue) (forgettable)"
                )
            }
        }
        migrator.registerMigration("2: of which login, and whether it has ended") { database in
            try database.execute(sql: columnsOfLogins)
        }
        return migrator
    }

    private static let tables = """
        CREATE TABLE client (
            id TEXT NOT NULL UNIQUE, secret BLOB NOT NULL, statement BLOB NOT NULL, audiences TEXT NOT NULL,
            redirectURIs TEXT NOT NULL, forgettable INTEGER NOT NULL
        );
        CREATE TABLE accessToken (
            token BLOB NOT NULL UNIQUE, client TEXT NOT NULL, expires INTEGER NOT NULL, forgettable INTEGER NOT NULL
        );
        CREATE TABLE session (
            code TEXT NOT NULL UNIQUE, id TEXT NOT NULL, requestor TEXT NOT NULL, device BLOB NOT NULL, client TEXT,
            mvpd TEXT, domain TEXT, redirect TEXT, created INTEGER NOT NULL, expires INTEGER NOT NULL,
            state TEXT NOT NULL, forgettable INTEGER NOT NULL
        );
        CREATE TABLE ticket (
            ticket BLOB NOT NULL UNIQUE, purpose TEXT NOT NULL, subject TEXT NOT NULL, target TEXT,
            expires INTEGER NOT NULL, forgettable INTEGER NOT NULL
        );
        CREATE TABLE profile (
            device BLOB NOT NULL, requestor TEXT NOT NULL, mvpd TEXT NOT NULL, user TEXT NOT NULL, kind TEXT NOT NULL,
            issued INTEGER NOT NULL, expires INTEGER NOT NULL, session TEXT NOT NULL, fingerprint TEXT NOT NULL,
            forgettable INTEGER NOT NULL,
            UNIQUE (device, requestor, mvpd)
        );
        CREATE INDEX profile_fingerprint ON profile (fingerprint);
        CREATE TABLE authorization (
            device BLOB NOT NULL, requestor TEXT NOT NULL, mvpd TEXT NOT NULL, resource BLOB NOT NULL,
            source TEXT NOT NULL, issued INTEGER NOT NULL, expires INTEGER NOT NULL, forgettable INTEGER NOT NULL,
            UNIQUE (device, requestor, mvpd, resource)
        );
        CREATE TABLE temporaryUse (
            identity TEXT NOT NULL, requestor TEXT NOT NULL, mvpd TEXT NOT NULL, resource BLOB NOT NULL,
            started INTEGER NOT NULL, forgettable INTEGER NOT NULL,
            UNIQUE (identity, requestor, mvpd, resource)
        );
        CREATE TABLE stream (
            id TEXT NOT NULL UNIQUE, idp TEXT NOT NULL, subject TEXT NOT NULL, household TEXT NOT NULL,
            application TEXT NOT NULL, metadata TEXT NOT NULL, terminationCode TEXT NOT NULL,
            started INTEGER NOT NULL, expires INTEGER NOT NULL, terminator TEXT, forgettable INTEGER NOT NULL
        );
        CREATE INDEX stream_household ON stream (household);
        """

    private static let columnsOfLogins = """
        ALTER TABLE authorization ADD COLUMN session TEXT NOT NULL DEFAULT '';
        ALTER TABLE ticket ADD COLUMN mvpd TEXT;
        ALTER TABLE stream ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
        """
}
