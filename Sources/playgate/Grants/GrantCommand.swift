// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import Keys
import Platform

/// The commands for grants: the tokens that players present with every manifest, key and segment.
struct GrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Make keys for grants; issue, verify, explain, renew and redirect grants.",
        discussion: """
            A grant says that a request belongs to a playback that was allowed to start. It is a Common Access Token \
            (CTA-5007), or with --format uri-signing the token of a signed URI (RFC 9246), which edges check with every \
            manifest, key and segment; or a token in a vendor's format.

            KEYS.json is a JWK Set (oct, EC, RSA, OKP; with kid and alg) or a COSE key set in CBOR.
            """,
        subcommands: [Keys.self, Issue.self, Verify.self, Explain.self, Renew.self, Redirect.self]
    )
}

/// The limits of issued grants.
enum GrantLimits {
    /// The longest session, in milliseconds.
    static let longest: Int64 = 366 * 86_400_000
    /// The times of issue: 1970 to 9999.
    static let times = Timestamp(secondsSince1970: 0)...Timestamp(secondsSince1970: 253_402_300_799)
}

extension TokenArgument {
    /// Throws if the token and the keys were both to be read from standard input.
    func demandInput(besides keys: String?) throws {
        guard keys == "-", tokenFile == "-" || tokenFile == nil && (token ?? "-") == "-" else { return }
        throw ValidationError("standard input is either the keys or the token: give one of them as a file")
    }
}
