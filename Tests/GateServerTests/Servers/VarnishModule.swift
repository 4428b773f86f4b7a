// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Varnish's module as `make test` builds it.
enum VarnishModule {
    static let file = "\(repository)/.build-varnish/libvmod_playgate.so"

    static var isBuilt: Bool {
        FileManager.default.fileExists(atPath: file) && EdgeProxy.varnish.executable != nil
    }

    /// The policy that the page prints.
    static let policy = "\"unix:/run/playgate/api.sock\", key = \"/etc/varnish/playgate.key\""

    /// Sends a command to the varnishd of `folder`.
    static func command(_ words: [String], in folder: TemporaryFolder) throws -> CommandRun {
        let program = try #require(Program.installed("varnishadm"))
        return try CommandRun(program, arguments: ["-n", folder.file("varnish"), "-t", "60"] + words)
    }
}

extension EdgePage {
    /// The page's VCL, with the clock of the test.
    func varnishModule() throws -> Start {
        var text = try replaced(try block("vcl", waiting: ["_timeout = 300ms": "_timeout = 10s"]))
        if let prefix = options.tokenSegment {
            text = text.replacing("header=X-Media-Token\"", with: "header=X-Media-Token segment=\(prefix)\"")
        }
        text = text.replacing("import playgate;", with: "import playgate from \"\(VarnishModule.file)\";")
            .replacing(VarnishModule.policy, with: "\"unix:\(folder.file("api.sock"))\"")
            .replacing("policy.json", with: folder.file("policy.json"))
        let file = try folder.write("playgate.vcl", contents: text)
        let varnish = try #require(EdgeProxy.varnish.executable)
        let arguments = [
            "-F", "-j", "none", "-n", folder.file("varnish"), "-a", listener(unix: socket), "-f", file, "-s",
            "malloc,16m",
            // A test moves the clock by days.
            "-p", "clock_step=1000000000",
        ]
        return (try PreloadedClock.environment(folder) + [varnish] + arguments, address)
    }
}
