// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// A process that runs while what it lives on comes to its end.
@Suite(.serialized) struct `playgate serve, at the end of a resource,` {
    private static let fullDisk = "{ deadline: 10s, sqlite: disk/uses.sqlite }"

    /// Runs a gate whose folder `disk` is a file system of sixteen mebibytes.
    private static func onSmallDisk(_ folder: TemporaryFolder) throws -> ServedGate {
        try FileManager.default.createDirectory(atPath: folder.file("disk"), withIntermediateDirectories: false)
        let mount = "mount -t tmpfs -o size=16m,mode=700 uses \"$0\" && exec \"$@\""
        let launcher = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, folder.file("disk")]
        return try ServedGate(
            in: folder,
            configuration: ServedGate.configuration(fullDisk),
            under: ["/usr/bin/env"] + launcher
        )
    }

    @Test(.needsMounts) func `refuses on a full disk, says so, and goes on when there is room`() async throws {
        let folder = try TemporaryFolder()
        let gate = try Self.onSmallDisk(folder)
        #expect(eventually { gate.isReady })
        let filler = "/proc/\(gate.program.identifier)/root\(folder.file("disk"))/filler"
        let filling = try CommandRun("/bin/dd", arguments: ["if=/dev/zero", "of=\(filler)", "bs=1024"])
        #expect(filling.status != 0 && filling.error.contains("No space left"))
        // A log of writes has room for a few more uses, in what it has already.
        let tokens = try await mint(100)
        let (full, again) = (Tally(), Tally())
        try await playAll(tokens, on: { gate.api }) { full.add(number: $0, answer: $1) }
        #expect(full.lost == 0 && full.codes.count == 1)
        let refused = try #require(full.codes["503 replay_store_unavailable"])
        #expect(refused + full.allowed.count == tokens.count)
        let readiness = try gate.admin("GET", path: "/readyz")
        #expect(readiness.status == 503 && readiness.body.contains("full"), "\(readiness.body)")
        #expect(try gate.metric("playgate_store_up") == 0)
        #expect(try gate.metric("playgate_ready") == 0)

        try FileManager.default.removeItem(atPath: filler)
        #expect(eventually { gate.isReady })
        #expect(try gate.metric("playgate_store_up") == 1)
        try await playAll(tokens, on: { gate.api }) { again.add(number: $0, answer: $1) }
        // What was refused is played now; what was allowed is not, a second time.
        #expect(again.allowed.count == refused)
        #expect(Set(again.allowed.keys).isDisjoint(with: full.allowed.keys))
        #expect(again.codes["403 token_already_used", default: 0] == full.allowed.count && again.lost == 0)
    }

    @Test func `refuses by a key that expires, names it, and goes on with the next`() throws {
        let folder = try TemporaryFolder()
        func clock(_ time: String) throws { try folder.write("clock", contents: "2031-01-02 \(time)\n") }
        try clock("10:04:05")
        let keys = "keys: [{ file: signer.pem, notAfter: \"2031-01-02T10:05:00Z\" }"
        let configuration = ServedGate.configuration("{}")
            .replacing("keys: [{ file: signer.pem }", with: keys)
        let environment = try PreloadedClock.environment(folder)
        let gate = try ServedGate(
            in: folder,
            configuration: configuration,
            signer: GateSample.trusted,
            under: ["/usr/bin/env"] + environment
        )
        let play = { (session: String) in
            try ServedGate.play(
                try GateSample.token(GateSample.claims(session: session)),
                on: try HTTPConnection(gate.api)
            )
        }
        let usable = { try gate.metric("playgate_trusted_key_usable{key=\"signer\"}") }
        #expect(try play("before").status == 200)
        #expect(try usable() == 1 && gate.isReady)

        try clock("10:05:01")
        #expect(try play("after").code == "no_usable_key")
        #expect(try usable() == 0)
        #expect(try gate.admin("GET", path: "/readyz").body.contains("no trusted key is currently valid"))
        // It is no obstacle to a reload, whose log names it.
        #expect(try gate.admin("POST", path: "/reload").status == 200)
        let warning = "the key signer is not valid after 2031-01-02T10:05:00"
        #expect(eventually { gate.program.output.contains(warning) })

        let next = configuration.replacing("10:05:00Z\" }", with: "10:05:00Z\" }, { file: next.pem }")
        try folder.write("next.pem", contents: try GateSample.foreign.get().keys.signerCertificate)
        try folder.write("gate.yaml", contents: next)
        #expect(try gate.admin("POST", path: "/reload").status == 200)
        let token = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: GateSample.time).serialized
        #expect(try ServedGate.play(token, on: try HTTPConnection(gate.api)).status == 200)
        #expect(try play("later").code == "untrusted_signature")
        #expect(try usable() == 0 && gate.isReady)
    }
}
