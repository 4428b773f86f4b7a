// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Hummingbird
import Logging

/// A baseline for the gate's API: a Hummingbird route that only parses the same JSON.
@main
struct JSONBaseline {
    struct Body: Decodable {
        let media: String
        let token: String
    }

    static func main() async throws {
        let router = Router()
        router.post("/v1/playback") { request, context -> String in
            let body = try await request.decode(as: Body.self, context: context)
            return body.token.isEmpty ? "empty" : "parsed"
        }
        var logger = Logger(label: "baseline")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
            },
            logger: logger
        )
        try await application.runService()
    }
}
