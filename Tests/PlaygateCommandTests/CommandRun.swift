// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

extension CommandRun {
    /// Runs `playgate`, or another program of this package, with `arguments` and `input` on standard input.
    init(_ arguments: [String], of program: String = "playgate", input: String = "") throws {
        try self.init(Program.built(program), arguments: arguments, input: [UInt8](input.utf8))
    }
}

/// The keys that all command tests share, and tokens signed with them.
struct Keys: Sendable {
    let folder: TemporaryFolder

    static let shared = Result { try Keys() }

    private init() throws {
        folder = try TemporaryFolder()
        let run = try CommandRun(["keys", "new", "--out", folder.file("keys")])
        try #require(run.status == 0, "\(run.error)")
    }

    var signer: String { folder.file("keys/signer.pem") }
    var authority: String { folder.file("keys/ca.pem") }
    var key: String { folder.file("keys/signer.key") }

    /// The issue time of test tokens: an hour after the start of the certificates' validity.
    static let issued = Int64(Date().timeIntervalSince1970) + 3600

    /// A token issued at ``issued``.
    func token(_ options: [String] = [], requestor: String = "REF30", resource: String = "TNT") throws -> String {
        let arguments = [
            "mint", "--key", key, "--requestor", requestor, "--resource", resource, "--session-guid", "guid-1",
            "--issued-at", String(Self.issued),
        ]
        let run = try CommandRun(arguments + options)
        try #require(run.status == 0, "\(run.error)")
        return String(run.output.dropLast())
    }

    /// Returns the arguments of a verification with these keys, one second after the issue time.
    func verify(_ more: [String], at time: Int64 = issued + 1) -> [String] {
        ["verify", "--trust", signer, "--requestor", "REF30", "--at", String(time)] + more
    }
}
