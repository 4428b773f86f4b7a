// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaTokens

/// Writes bodies of `POST /v1/playback` for throughput measurements, one a line, each with its own token.
///
/// `playback-bodies KEY COUNT`
@main
struct PlaybackBodies {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            FileHandle.standardError.write(Data("usage: playback-bodies KEY COUNT\n".utf8))
            exit(64)
        }
        let issuer = Issuer(key: try SigningKey(file: arguments[1]))
        let now = Timestamp.now()
        let cores = ProcessInfo.processInfo.activeProcessorCount
        try await withThrowingTaskGroup(of: String.self) { group in
            for core in 0..<cores {
                group.addTask {
                    var lines = ""
                    for number in stride(from: core, to: count, by: cores) {
                        let claims = TokenClaims(
                            requestorID: "REF30",
                            resourceID: "TNT",
                            mvpdID: "SandboxMVPD",
                            userSessionGUID: "00112233445566778899aabb" + String(number + 0x1000_0000, radix: 16),
                            timeToLiveMilliseconds: 900_000
                        )
                        let token = try issuer.issue(claims, at: now).serialized
                        lines += "{\"media\":\"tnt\",\"token\":\"\(token)\"}\n"
                    }
                    return lines
                }
            }
            for try await lines in group { FileHandle.standardOutput.write(Data(lines.utf8)) }
        }
    }
}
