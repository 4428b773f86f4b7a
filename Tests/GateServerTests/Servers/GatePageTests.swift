// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Platform
import Testing

/// The commands of pages that start a gate, run as printed.
@Suite struct `The pages that start a gate` {
    private static func page(_ name: String) throws -> String {
        try String(contentsOfFile: "\(repository)/\(name)", encoding: .utf8)
    }

    /// The addresses of a page become sockets in a folder.
    private static func replacingAddresses(
        of text: String,
        in folder: TemporaryFolder,
        replacement: (String) -> String
    ) -> String {
        var text = text
        for (address, name) in [("127.0.0.1:8080", "api"), ("127.0.0.1:8081", "edge"), ("127.0.0.1:9090", "admin")] {
            text = text.replacing("http://\(address)", with: "--unix-socket \(folder.file(name)) http://gate")
                .replacing(address, with: replacement(folder.file(name)))
        }
        return text
    }

    /// Runs commands one after the other in a shell, and compares what they print.
    ///
    /// - Parameters:
    ///   - preparing: More commands, by the beginnings of those that they follow.
    ///   - isComplete: False for a page that leaves out what some commands print.
    private static func run(
        _ steps: [ConsoleStep],
        in folder: TemporaryFolder,
        preparing: [String: String],
        isComplete: Bool = true
    ) throws {
        let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        var script = "cd \(folder.path)\nPATH=\(programs):$PATH\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n"
        for step in steps {
            script += replacingAddresses(of: step.command, in: folder) { $0 } + "\nstatus=$?\n"
            for (start, more) in preparing where step.command.hasPrefix(start) { script += more + "\n" }
            script += "echo \"--status $status--\"\n"
        }
        let run = try CommandRun(try #require(Program.installed("bash")), arguments: ["-c", script], within: 120)
        let printed = run.output.components(separatedBy: "--status 0--\n")
        #expect(printed.count == steps.count + 1, "\(run.output) \(run.error)")
        for (step, text) in zip(steps, printed) where isComplete || !step.output.isEmpty {
            var expected = step
            expected.output = step.output.map { replacingAddresses(of: $0, in: folder) { "unix:\($0)" } }
            let difference = expected.difference(from: text)
            #expect(difference == nil, "\(step.command): \(difference ?? "") \(run.error)")
        }
    }

    @Test func `on a whole stream prints what its commands do`() throws {
        let folder = try TemporaryFolder()
        let page = try Self.page("docs/how-to/play-a-whole-stream.md")
        let block = try #require(page.components(separatedBy: "```yaml\n").dropFirst().first)
        let configuration = block.components(separatedBy: "```\n")[0]
        try folder.write(
            "gate.yaml",
            contents: Self.replacingAddresses(of: configuration, in: folder) { "\"unix:\($0)\"" }
        )
        let steps = ConsoleStep.steps(of: page)
        #expect(steps.count > 25 && steps.count { !$0.output.isEmpty } > 15)
        // The gate is ready when it knows the revocations.
        let answers = "curl -s -f -o /dev/null --unix-socket \(folder.file("api")) http://gate/v1/revocations/export"
        let listens = "[ -S \(folder.file("edge")) ]"
        let wait = "tries=0; until \(listens) && \(answers) || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done"
        try Self.run(steps, in: folder, preparing: ["playgate serve": wait])
    }

    @Test func `on running a gate has requests with the answers that stand below them`() async throws {
        let pages = ["reference/api", "how-to/rotate-and-reload", "how-to/operator-page"]
        let steps = try pages.flatMap { ConsoleStep.steps(of: try Self.page("docs/\($0).md")) }
        try #require(steps.map { $0.command.split(separator: " ")[0] } == ["curl", "curl", "playgate"])
        let key = "pg_\(String(repeating: "A", count: 43))"
        let configuration = RunningGate.configuration(
            catalogue: "    - { media: tnt-live, resource: TNT }",
            api: "  keys: [{ name: backend, sha256: \(SHA256.digest(key).hexadecimal), scopes: [playback] }]"
        )
        try await RunningGate.with(configuration) { gate in
            let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
            for step in steps {
                let command = step.command.replacing("Bearer pg_…", with: "Bearer \(key)")
                    .replacing("PHNpZ25h…", with: try gate.token())
                    .replacing("http://127.0.0.1:8080", with: "http://\(gate.api)")
                    .replacing("http://127.0.0.1:9090", with: "http://\(gate.admin)")
                    .replacing("curl ", with: "curl -sf ")
                let script = "cd \(gate.folder.path)\nPATH=\(programs):$PATH\n\(command)"
                let run = try CommandRun(try #require(Program.installed("bash")), arguments: ["-c", script])
                #expect(run.status == 0, "\(command): \(run.error)")
                guard !step.output.isEmpty else { continue }
                #expect(step.difference(from: run.output) == nil, "\(run.output)")
            }
            #expect(try gate.log("reloaded").count == 1)
        }
    }

    @Test func `on the command line has commands that work when they are pasted`() throws {
        let folder = try TemporaryFolder()
        let steps = ConsoleStep.steps(of: try Self.page("docs/reference/command-line.md"))
            // The sandbox has a page of its own.
            .filter { !$0.command.hasPrefix("playgate-sandbox") }
        #expect(steps.count == 22 && steps.count { !$0.output.isEmpty } == 2)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("examples"),
            withDestinationPath: "\(repository)/examples"
        )
        try folder.write("feed.xml", contents: "<rss version=\"2.0\"><channel><title>TNT</title></channel></rss>")
        try folder.write("index.m3u8", contents: "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nseg1.m4s\n")
        let addresses = ["8080": "api", "9090": "admin"].map {
            "s|127.0.0.1:\($0.key)|unix:\(folder.file($0.value))|"
        }
        let preparing = [
            "cp examples/gate.yaml": "sed -i '\(addresses.joined(separator: ";"))' gate.yaml",
            // The keys of the second block are new ones.
            "curl": "mkdir commands && cp gate.yaml *.xml *.m3u8 commands/ && cd commands",
            "playgate mint": "[ ! -f token ] || cp token tokens.txt",
        ]
        try Self.run(steps, in: folder, preparing: preparing, isComplete: false)
    }

    /// What moves from the folders and ports of a page to those of a test: the gate's page of nginx is unchanged but for its ports and the
    /// folders of the system.
    private struct Stage {
        let folder: TemporaryFolder
        let front: Int
        let origin: Int

        init() throws {
            folder = try TemporaryFolder()
            (front, origin) = (try freePort(), try freePort())
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("docs"),
                withDestinationPath: "\(repository)/docs"
            )
        }

        func moved(_ text: String) -> String {
            text.replacing("/run/playgate", with: folder.path).replacing("127.0.0.1:8088", with: "127.0.0.1:\(front)")
                .replacing(" 8089 ", with: " \(origin) ").replacing(", socketGroup: www-data", with: "")
        }

        /// Writes the first configuration of a section.
        func write(_ name: String, from section: String, more: String = "", moved: (String) -> String) throws {
            let yaml = try #require(section.components(separatedBy: "```yaml\n").dropFirst().first)
                .components(separatedBy: "```\n")[0]
            let admin = "admin: { listen: \"unix:\(folder.file("admin.sock"))\" }\n"
            try folder.write("trial/\(name)", contents: moved(yaml) + admin + more)
        }

        /// The commands of a section, with the folders and ports of the test.
        func steps(of section: String) -> [ConsoleStep] {
            ConsoleStep.steps(of: section).map { step in
                var step = step
                step.command = moved(step.command)
                return step
            }
        }

        /// What moves in the configuration of nginx.
        var preparing: [String: String] {
            let paths = [
                "/run/playgate": folder.path, "/run/nginx.pid": folder.file("nginx.pid"), "/var/log/nginx": folder.path,
                "/var/cache": folder.path, "127.0.0.1:8088": "127.0.0.1:\(front)",
                "127.0.0.1:8089": "127.0.0.1:\(origin)", "user www-data;": "user root;",
                // The folders of the system's nginx stay as they are: files of another user in them would break it.
                "^http {": "http { \(`The pages that start a gate`.temporaryPaths(in: folder))",
            ]
            return ["sed '1": "sed -i '\(paths.map { "s|\($0.key)|\($0.value)|g" }.joined(separator: ";"))' nginx.conf"]
        }

        func stop() {
            if let number = (try? folder.text("nginx.pid")).flatMap({ Int32($0.prefix { $0.isNumber }) }) {
                kill(number, SIGTERM)
            }
        }
    }

    private static var readme: String {
        get throws {
            try #require(try page("README.md").components(separatedBy: "\n## Protect a stream").last)
                .components(separatedBy: "\n## ")[0]
        }
    }

    @Test(.needs(.nginx), .needsFFmpeg) func `first protects a stream behind nginx in five minutes`() throws {
        let (stage, section) = (try Stage(), try Self.readme)
        defer { stage.stop() }
        try stage.write("gate.yaml", from: section, moved: stage.moved)
        let steps = stage.steps(of: section)
        #expect(steps.count == 11 && steps.count { !$0.output.isEmpty } == 3)
        try Self.run(steps, in: stage.folder, preparing: stage.preparing)
    }

    @Test(.needs(.nginx), .needsFFmpeg, .enabled(if: Requirement.hasOracles(importing: "nanoidp")))
    func `on access tokens plays a film by those of a real provider`() throws {
        let page = try Self.page("docs/how-to/start-by-jwt.md")
        let section = try #require(page.components(separatedBy: "\n## Try it").last).components(separatedBy: "\n## ")[0]
        let (stage, provider) = (try Stage(), try freePort())
        defer { stage.stop() }
        func moved(_ text: String) -> String {
            stage.moved(text).replacing("localhost:8000", with: "localhost:\(provider)")
                .replacing("idp/bin/", with: "\(repository)/.build-oracles/bin/")
                .replacing("--config config >", with: "--config config --port \(provider) >")
        }
        try stage.write("jwt.yaml", from: section, more: "stateFolder: .\n", moved: moved)
        var steps = stage.steps(of: section)
        #expect(steps.count == 11 && steps.count { !$0.output.isEmpty } == 3)
        // The environment of tests has the provider; its issuer has another port.
        steps[0].command = "idp/bin/nanoidp init > /dev/null"
        let port = ConsoleStep(
            command: "sed -i 's|http://localhost:8000|http://localhost:\(provider)|' config/settings.yaml"
        )
        for index in steps.indices {
            steps[index].command = moved(steps[index].command)
            steps[index].output = steps[index].output.map(moved)
        }
        // The film, its origin and nginx are those of README.
        let readme = stage.steps(of: try Self.readme)
        let nginx = ConsoleStep(command: "nginx -c \"$PWD/nginx.conf\"")
        let beginning = [readme[0], readme[1], readme[2], readme[5], nginx, steps[0], port]
        try Self.run(beginning + steps.dropFirst(), in: stage.folder, preparing: stage.preparing)
    }

    /// The directives by which nginx has its temporary files in a folder.
    fileprivate static func temporaryPaths(in folder: TemporaryFolder) -> String {
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: " ")
    }
}
