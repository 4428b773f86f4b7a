// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// A `playgate serve` process, as operators run it, with the clock of the machine.
final class ServedGate: Sendable {
    let folder: TemporaryFolder
    let program: Program
    let addresses: [String: String]

    /// Starts a gate in `folder` and waits until it listens.
    ///
    /// - Parameters:
    ///   - descriptor: A file descriptor that it inherits with the number 3.
    ///   - signer: The issuer that it trusts.
    ///   - launcher: A command that runs the program and arguments that follow it, in the same process.
    init(
        in folder: TemporaryFolder,
        configuration: String,
        name: String = "gate",
        keeping descriptor: Int32? = nil,
        signer: Result<GateSample, any Error> = GateSample.current,
        under launcher: [String] = []
    ) throws {
        self.folder = folder
        try folder.write("signer.pem", contents: try signer.get().keys.signerCertificate)
        let file = try folder.write("\(name).yaml", contents: configuration)
        let log = folder.file("\(name)-\(UUID().uuidString).log")
        let command = launcher + [Program.built("playgate"), "serve", "--config", file]
        program = try Program(command[0], arguments: Array(command.dropFirst()), log: log, keeping: descriptor)
        let program = program
        let listeners = configuration.contains("edge: {") ? 3 : 2
        guard eventually({ program.output.components(separatedBy: "\"listening\"").count > listeners }) else {
            throw NotStarted(log: program.output)
        }
        var addresses: [String: String] = [:]
        for line in program.output.split(separator: "\n") where line.contains("\"listening\"") {
            let facts = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String] ?? [:]
            addresses[facts["listener"] ?? ""] = facts["address"]
        }
        self.addresses = addresses
    }

    struct NotStarted: Error { let log: String }

    var api: String { addresses["api"] ?? "" }

    func admin(_ method: String, path: String) throws -> HTTPConnection.Response {
        let headers = ["X-Playgate-Request": "test"]
        return try HTTPConnection(addresses["admin"] ?? "").request(
            method,
            path: path,
            headers: headers,
            host: "localhost"
        )
    }

    /// Returns the value of a metric, by its name with its labels.
    func metric(_ name: String) throws -> Int {
        let lines = try admin("GET", path: "/metrics").body.split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix(name + " ") })
        return try #require(Int(line.split(separator: " ")[1]))
    }

    var isReady: Bool { (try? admin("GET", path: "/readyz").status) == 200 }

    static func configuration(_ use: String, more: String = "") -> String {
        """
        requestor: REF30
        trust: { keys: [{ file: signer.pem }] }
        catalogue: { entries: [{ media: tnt, resource: TNT }] }
        api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate, g] }
        admin: { listen: "127.0.0.1:0" }
        replayStore: \(use)
        \(more)
        """
    }

    static func play(_ token: String, on connection: HTTPConnection) throws -> HTTPConnection.Response {
        try connection.request("POST", path: "/v1/playback", body: "{\"media\":\"tnt\",\"token\":\"\(token)\"}")
    }
}

/// Creates a different token for each number, signed on all cores.
func mint(_ count: Int) async throws -> [String] {
    let issuer = try GateSample.current.get().issuer
    let now = Timestamp.now()
    return try await withThrowingTaskGroup(of: [String].self) { group in
        for part in 0..<4 {
            group.addTask {
                try stride(from: part, to: count, by: 4).map { number in
                    try issuer.issue(GateSample.claims(session: "viewer-\(number)"), at: now).serialized
                }
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }
    }
}
