// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

@testable import EdgeChecks
@testable import PlaybackGate

/// The library that `scripts/embed` links, in programs of other languages.
@Suite(
    "The shared library",
    .enabled(
        if: Requirement.hasFile(".build-embed/dist/lib/libplaygate.so"),
        "the shared library is not built: run make libplaygate"
    )
)
struct SharedLibraryTests {
    private static let dist = repository + "/.build-embed/dist"
    private static let library = dist + "/lib/libplaygate.so"

    private static func path(of program: String) -> String? {
        ["/usr/bin/", "/usr/local/bin/", "/usr/local/go/bin/"].map { $0 + program }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static let headers = [
        "", "_answer_cache", "_ask", "_follow", "_observe", "_signed", "_subrequest", "_target",
    ].map {
        "playgate\($0).h"
    }

    private static func declared() throws -> Set<String> {
        var names: Set<String> = []
        for header in Self.headers {
            let text = try String(contentsOfFile: "\(repository)/c/include/\(header)", encoding: .utf8)
            for line in text.split(separator: "\n") where !line.hasPrefix("//") && !line.hasPrefix("typedef") {
                guard let match = line.firstMatch(of: /^[a-z].*[ *](playgate_[a-z_]+)\(/) else { continue }
                names.insert(String(match.1))
            }
        }
        return names
    }

    @Test("It exports what the headers declare, and nothing else")
    func symbols() throws {
        let run = try CommandRun("/usr/bin/nm", arguments: ["-D", "--defined-only", Self.library])
        #expect(run.status == 0)
        let exported = run.output.split(separator: "\n").compactMap { line -> String? in
            let parts = line.split(separator: " ")
            return parts.count == 3 && parts[1] != "A" ? parts[2].split(separator: "@").first.map(String.init) : nil
        }
        #expect(try Self.declared() == Set(exported))
        #expect(exported.count > 25)
    }

    @Test("It needs no library of Swift, and is small")
    func dependencies() throws {
        let run = try CommandRun("/usr/bin/ldd", arguments: [Self.library])
        #expect(run.status == 0 && run.output.contains("libcrypto"))
        #expect(!run.output.contains("libswift") && !run.output.contains("Foundation"))
        #expect(!run.output.contains("not found"))
        let file = URL(fileURLWithPath: Self.library).resolvingSymlinksInPath().path
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        #expect(try #require(size) < 10 << 20)
    }

    /// A policy, a grant for it, and the time of both.
    private struct Files {
        let folder: TemporaryFolder
        let policy: String
        let grant: String
        let time = "\(EmbeddedSample.time.millisecondsSince1970)"

        init() throws {
            folder = try TemporaryFolder()
            let sample = try EmbeddedSample()
            policy = try folder.write("policy.json", contents: sample.document().json())
            grant = try sample.grant()
        }
    }

    @Test(
        "Workers of a forked process check in many threads at once, and children of one that has checked are refused",
        arguments: ["workers", "parent-checks", "unsettled"]
    )
    func forks(_ mode: String) throws {
        let files = try Files()
        let compiler = try #require(Self.path(of: "cc") ?? Self.path(of: "gcc"))
        let program = files.folder.file("forks")
        let source = repository + "/Tests/EmbeddedGateTests/Programs/forks.c"
        let flags = ["-I", Self.dist + "/include", "-L", Self.dist + "/lib", "-Wl,-rpath,\(Self.dist)/lib"]
        let made = try CommandRun(
            compiler,
            arguments: ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", program] + flags + [
                "-lplaygate"
            ]
        )
        try #require(made.status == 0, "\(made.error)")
        let run = try CommandRun(program, arguments: [files.policy, files.grant, files.time, mode])
        #expect(run.status == 0, "\(run.error)")
    }

    @Test("The parts of servers' modules that need no server do what their tables say, under the address sanitizer")
    func modules() throws {
        let folder = try TemporaryFolder()
        let compiler = try #require(Self.path(of: "cc") ?? Self.path(of: "gcc"))
        let program = folder.file("edge")
        let edge = "\(repository)/c/edge"
        let sources = try FileManager.default.contentsOfDirectory(atPath: edge).filter { $0.hasSuffix(".c") }
        let includes = ["include", "core", "edge"].flatMap { ["-I", "\(repository)/c/\($0)"] }
        let flags = [
            "-std=gnu11", "-g", "-fsanitize=address,undefined", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
            "-pthread",
        ]
        let library = ["-L", Self.dist + "/lib", "-Wl,-rpath,\(Self.dist)/lib", "-lplaygate"]
        let files = ["\(repository)/Tests/EmbeddedGateTests/Programs/edge.c"] + sources.map { "\(edge)/\($0)" }
        let made = try CommandRun(compiler, arguments: flags + includes + files + ["-o", program] + library)
        try #require(made.status == 0, "\(made.error)")
        // The sanitizer must be the first library, and scripts/test preloads another one.
        let run = try CommandRun("/usr/bin/env", arguments: ["-u", "LD_PRELOAD", program])
        #expect(run.status == 0 && run.output == "all rows hold\n", "\(run.output)\(run.error)")
    }

    @Test(
        "Python checks by it",
        .enabled(if: Requirement.isMet(path(of: "python3") != nil), "Python 3 is not installed: run scripts/setup test")
    )
    func python() throws {
        let python = try #require(Self.path(of: "python3"))
        let files = try Files()
        let script = repository + "/Tests/EmbeddedGateTests/Programs/check.py"
        for (target, answer) in [("/live/tnt/1.ts", "1 granted"), ("/live/tbs/1.ts", "0 unknown_media")] {
            let run = try CommandRun(
                python,
                arguments: [script, Self.library, files.policy, target, files.grant, files.time]
            )
            #expect(run.output.hasPrefix(answer), "\(run.output)\(run.error)")
        }
    }

    /// `scripts/setup` does not install Go: continuous integration skips this without it.
    @Test(
        "Go checks by it",
        .enabled(
            if: Requirement.isMet(path(of: "go") != nil && path(of: "pkg-config") != nil),
            "Go or pkg-config is not installed: run scripts/setup test"
        )
    )
    func go() throws {
        let go = try #require(Self.path(of: "go"))
        let files = try Files()
        let program = files.folder.file("check")
        let source = repository + "/Tests/EmbeddedGateTests/Programs/check.go"
        let settings = [
            "PKG_CONFIG_PATH=\(Self.dist)/lib/pkgconfig", "GOCACHE=\(files.folder.file("cache"))", "GO111MODULE=off",
            "CGO_ENABLED=1",
        ]
        let made = try CommandRun(
            "/usr/bin/env",
            arguments: settings + [go, "build", "-o", program, source],
            within: 300
        )
        try #require(made.status == 0, "\(made.error)")
        let library = "LD_LIBRARY_PATH=\(Self.dist)/lib"
        for (target, answer) in [("/live/tnt/1.ts", "1 granted"), ("/live/tbs/1.ts", "0 unknown_media")] {
            let arguments = [library, program, files.policy, target, files.grant, files.time]
            let run = try CommandRun("/usr/bin/env", arguments: arguments)
            #expect(run.output.hasPrefix(answer), "\(run.output)\(run.error)")
        }
    }
}
