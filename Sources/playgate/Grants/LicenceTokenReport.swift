// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import Encodings
import Licences
import Platform

/// A report on a token for a licence server, for people and programs.
struct LicenceTokenReport {
    let token: UnverifiedLicenceToken

    func isExpired(at now: Timestamp) -> Bool { token.expires.map { $0 <= now } ?? false }

    func json(at now: Timestamp) -> JSON {
        .object([
            ("notice", .string("NOT VERIFIED")), ("form", .string(token.form.rawValue)),
            ("algorithm", .optional(token.algorithm)), ("keyID", .optional(token.keyID)),
            ("expires", .optional(token.expires?.iso8601)), ("expired", .bool(isExpired(at: now))),
            ("claims", .array(token.claims.map { ["name": .string($0.name), "value": .string($0.value)] })),
        ])
    }

    func text(at now: Timestamp) -> String {
        let key =
            "\((token.keyID ?? "without id").printable(limit: 64)) (\((token.algorithm ?? "none").printable(limit: 16)))"
        var text = Style.yellow("NOT VERIFIED") + ": only the licence server can. It reads as a token for licences,\n"
        text += "of the form \(token.form.rawValue), with the key \(key)\n\n"
        let names = token.claims.map { $0.name.printable(limit: 60) }
        let width = (names.map(\.count).max() ?? 0) + 2
        for (claim, name) in zip(token.claims, names) {
            text +=
                "  " + name + String(repeating: " ", count: width - name.count) + claim.value.printable(limit: 100)
                + "\n"
        }
        guard let end = token.expires else { return text + "\nIt says no end.\n" }
        return text + "\n" + (isExpired(at: now) ? Style.red("expired") + " at \(end)\n" : "good until \(end)\n")
    }
}
