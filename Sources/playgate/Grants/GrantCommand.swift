// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser

/// The commands for grants: the tokens that players show with every manifest, key and segment.
struct GrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Make keys for grants; issue, verify, explain and renew grants.",
        discussion: """
            A grant says that a request belongs to a playback that was allowed to start. It is a Common Access Token \
            (CTA-5007), which edges check with every manifest, key and segment.

            KEYS.json is a JWK Set (oct, EC, RSA, OKP; with kid and alg) or a COSE key set in CBOR.
            """,
        subcommands: [Keys.self, Issue.self, Verify.self, Explain.self, Renew.self]
    )
}

/// A format of grants on the command line.
enum GrantFormatArgument: String, ExpressibleByArgument, CaseIterable {
    /// CTA-5007 Common Access Tokens.
    case cat
}
