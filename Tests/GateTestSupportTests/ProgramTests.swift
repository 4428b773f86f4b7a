// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Synchronization
import Testing

@Suite struct `A program that a test runs` {
    private static func shell(
        _ script: String,
        input: [UInt8] = [],
        within seconds: Double = 60
    ) throws -> CommandRun {
        try CommandRun("/bin/sh", arguments: ["-c", script], input: input, within: seconds)
    }

    @Test func `separates its outputs, and returns its exit status`() throws {
        let run = try Self.shell("cat; echo bad >&2; exit 3", input: [UInt8]("good".utf8))
        #expect(run.output == "good" && run.error == "bad\n" && run.status == 3)
    }

    @Test func `tells the signal that ended it`() throws { #expect(try Self.shell("kill -TERM $$").status == -SIGTERM) }

    @Test func `has nothing open but its input and outputs, while another thread opens more`() throws {
        let isDone = Flag()
        Thread.detachNewThread {
            while !isDone.isSet.load(ordering: .relaxed) {
                let files = (0..<8).map { _ in dup(2) }
                for file in files { close(file) }
            }
        }
        defer { isDone.isSet.store(true, ordering: .relaxed) }
        for _ in 0..<25 {
            // The fourth is that of the listing.
            #expect(try CommandRun("/bin/ls", arguments: ["/proc/self/fd"]).output == "0\n1\n2\n3\n")
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Each pipe of the system holds 64 KiB.
    @Test func `floods both outputs, in any order, and reads its input last`() throws {
        let flood = "head -c 3000000 /dev/zero"
        let run = try Self.shell(
            "\(flood) >&2; \(flood); \(flood) >&2 & \(flood); wait; wc -c",
            input: [UInt8](repeating: 65, count: 3_000_000)
        )
        #expect(run.status == 0)
        #expect(run.error.utf8.count == 6_000_000)
        #expect(run.output.utf8.count == 6_000_008 && run.output.hasSuffix("3000000\n"))
    }

    @Test func `need not read its input`() throws {
        for script in ["exit 0", "exec 0<&-; sleep 0.05"] {
            #expect(try Self.shell(script, input: [UInt8](repeating: 65, count: 1_000_000)).status == 0)
        }
    }

    @Test func `is not waited for longer than it runs, if another holds its outputs`() throws {
        let run = try Self.shell("sleep 60 & echo $!", within: 30)
        #expect(run.status == 0)
        kill(try #require(pid_t(run.output.dropLast())), SIGKILL)
    }

    @Test(arguments: ["echo started; exec sleep 60", "echo started; exec >&- 2>&-; exec sleep 60"])
    func `is killed if it does not end, and the failure tells what it was and what it has printed`(
        script: String
    ) throws {
        let failure = try #require(throws: ProgramFailure.self) { try Self.shell(script, within: 0.3) }
        #expect(failure.description.contains("/bin/sh -c \(script)"))
        #expect(failure.description.contains("0.3 s") && failure.description.hasSuffix("started\n"))
    }

    @Test func `is killed if its output has no end`() throws {
        let failure = try #require(throws: ProgramFailure.self) { try Self.shell("exec yes") }
        #expect(
            failure.description.hasPrefix("killed, because it printed more than 16777216 bytes: /bin/sh -c exec yes")
        )
    }

    @Test func `fails by its name if it is not there`() throws {
        let failure = try #require(throws: ProgramFailure.self) {
            try CommandRun("/nowhere/program", arguments: ["-x"])
        }
        #expect(failure.description == "cannot start /nowhere/program -x: No such file or directory")
        let folder = try TemporaryFolder()
        #expect(throws: ProgramFailure.self) { try Program("/nowhere/program", arguments: [], log: folder.file("log")) }
    }

    @Test func `beside the test is killed if it does not end`() throws {
        let folder = try TemporaryFolder()
        let program = try Program("/bin/sh", arguments: ["-c", "echo started; exec sleep 60"], log: folder.file("log"))
        #expect(eventually { program.output == "started\n" })
        let failure = try #require(throws: ProgramFailure.self) { try program.waitUntilExit(within: 0.1) }
        #expect(failure.description.hasSuffix("started\n"))
        #expect(!program.isRunning)
        #expect(try program.waitUntilExit() == -SIGKILL)
    }
}
