// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Keys
import Platform
import PlaybackGate
import Testing

@testable import EdgeChecks

/// nginx's module as `make test` builds it.
enum NginxModule {
    static let file = "\(repository)/.build-nginx/ngx_http_playgate_module.so"

    static var isBuilt: Bool { FileManager.default.fileExists(atPath: file) }

    /// The policy that the page prints.
    static let policy = "unix:/run/playgate/api.sock key=/etc/nginx/playgate.key"

    /// Returns a gate's configuration with its API on a socket in `folder`, and a policy that a test's jumps in time do not end.
    static func configuration(_ text: String, in folder: TemporaryFolder) -> String {
        let socket = "api:\n  listen: unix:\(folder.file("api.sock"))"
        return text.replacing("api:\n  listen: 127.0.0.1:0", with: socket) + "\nadvanced: { bundleMaxAge: 30d }\n"
    }

    /// Gives the module's nginx in `folder` the gate's clock, and its policy as a file.
    static func follow(_ gate: RunningGate, in folder: TemporaryFolder) throws {
        try write(policyOf: gate, to: folder)
        gate.followTime { time in
            let date = Date(timeIntervalSince1970: TimeInterval(time.millisecondsSince1970 / 1000))
            let text = date.formatted(.iso8601).replacing("T", with: " ").replacing("Z", with: "")
            try? Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("clock")), options: .atomic)
        }
    }

    /// Writes what the gate serves as its policy, as `playgate export` does; signed too, if the folder has keys of a signer.
    static func write(policyOf gate: RunningGate, to folder: TemporaryFolder) throws {
        // A gate has no policy until it has read the revocations.
        #expect(try eventually { try gate.get("/v1/policy").status == 200 })
        let policy = Data(try gate.get("/v1/policy").body.utf8)
        try policy.write(to: URL(fileURLWithPath: folder.file("policy.json")), options: .atomic)
        guard let keys = try? folder.bytes("signer/keys.json") else { return }
        let ring = try KeyRing(keys, binding: KeyBinding(issuer: "", format: .cat))
        let signed = Data(try EdgeBundle.signed([UInt8](policy), by: ring.members[0].key).utf8)
        try signed.write(to: URL(fileURLWithPath: folder.file("policy.jws")), options: .atomic)
    }
}

extension EdgePage {
    /// The page's configuration, with the clock of the test if there is one.
    func nginxModule() throws -> Start {
        var text = try block("nginx", waiting: ["_timeout 300ms": "_timeout 10s", "_timeout 100ms": "_timeout 10s"])
        for (printed, other) in options.replacing {
            try #require(text.contains(printed), "the page of nginx's module prints something else")
            text = text.replacing(printed, with: other)
        }
        if let prefix = options.tokenSegment {
            text = text.replacing("header=X-Media-Token;", with: "header=X-Media-Token segment=\(prefix);")
        }
        text = try inFolder(text).replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)")
            .replacing("modules/ngx_http_playgate_module.so", with: NginxModule.file)
            .replacing(NginxModule.policy, with: "unix:\(folder.file("api.sock"))")
        let file = try folder.write("nginx.conf", contents: text)
        let nginx = try #require(EdgeProxy.nginx.executable)
        let arguments = ["-c", file, "-p", folder.path, "-e", folder.file("nginx-start.log")]
        return (try PreloadedClock.environment(folder) + [nginx] + arguments, address)
    }
}
