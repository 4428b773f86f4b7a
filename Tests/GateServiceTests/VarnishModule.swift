// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Varnish's module as `make test` builds it.
enum VarnishModule {
    static let file = "\(repository)/.build-varnish/libvmod_playgate.so"

    /// The library that sets the clock of another program, for one with many threads.
    static let clockLibrary = NginxModule.clockLibrary?.replacing("libfaketime.so", with: "libfaketimeMT.so")

    static var isBuilt: Bool {
        FileManager.default.fileExists(atPath: file) && clockLibrary != nil && EdgeProxy.varnish.executable != nil
    }

    /// The policy that the page prints.
    static let policy = "\"unix:/run/playgate/api.sock\", key = \"/etc/varnish/playgate.key\""

    /// Sends a command to the varnishd of `folder`.
    static func command(_ words: [String], in folder: TemporaryFolder) throws -> CommandRun {
        let program = try #require(Program.installed("varnishadm"))
        var run: CommandRun
        var attempts = 0
        // The compiler inherits the clock, whose processes sometimes compete for a semaphore at their start.
        repeat {
            run = try CommandRun(program, ["-n", folder.file("varnish"), "-t", "60"] + words)
            attempts += 1
        } while run.output.contains("libfaketime: ") && attempts < 20
        return run
    }
}

extension EdgePage {
    /// The page's VCL, with the clock of the test.
    func varnishModule() throws -> Start {
        var text = try replaced(try block("vcl", waiting: "_timeout = 300ms", "_timeout = 10s"))
        if let prefix = options.tokenSegment {
            text = text.replacing("header=X-Media-Token\"", with: "header=X-Media-Token segment=\(prefix)\"")
        }
        text = text.replacing("import playgate;", with: "import playgate from \"\(VarnishModule.file)\";")
            .replacing(VarnishModule.policy, with: "\"unix:\(folder.file("api.sock"))\"")
            .replacing("policy.json", with: folder.file("policy.json"))
        let file = try folder.write("playgate.vcl", text)
        let varnish = try #require(EdgeProxy.varnish.executable)
        // Debian's Varnish uses jemalloc, which reads the clock before the library for it is ready.
        let preload = ["LD_PRELOAD=\(VarnishModule.clockLibrary ?? ""):libc.so.6"] + NginxModule.environment(folder)
        let arguments = [
            "-F", "-j", "none", "-n", folder.file("varnish"), "-a", listener(unix: socket), "-f", file, "-s",
            "malloc,16m",
            // A test moves the clock by days.
            "-p", "clock_step=1000000000",
        ]
        return (preload + [varnish] + arguments, address)
    }
}
