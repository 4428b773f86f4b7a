// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Envoy's module as `make test` builds it.
enum EnvoyModule {
    static let file = "\(repository)/.build-envoy/libplaygate_envoy.so"

    static var isBuilt: Bool {
        EdgeProxy.envoy.executable != nil && FileManager.default.fileExists(atPath: file)
    }

    /// The policy that the page prints.
    static let policy = "unix:/run/playgate/api.sock key=/etc/envoy/playgate.key"
    /// More sources of tokens follow this one of the page.
    static let lastToken = "header=X-Media-Token\n"
}

extension EdgePage {
    /// The page's configuration, with the clock of the test if there is one.
    func envoyModule() throws -> Start {
        let waits: KeyValuePairs = [
            "timeout=300": "timeout=10000", "connect_timeout: 0.1s": "connect_timeout: 10s",
            "connect_timeout: 1s": "connect_timeout: 10s",
        ]
        var text = try replaced(try block("yaml", waiting: waits))
        for printed in [EnvoyModule.lastToken, "/usr/local/lib/libplaygate_envoy.so"] {
            try #require(text.contains(printed), "the page of Envoy's module prints something else")
        }
        if let prefix = options.tokenSegment {
            text = text.replacing(EnvoyModule.lastToken, with: "header=X-Media-Token segment=\(prefix)\n")
        }
        text = text.replacing("/usr/local/lib/libplaygate_envoy.so", with: EnvoyModule.file)
            .replacing(EnvoyModule.policy, with: "unix:\(folder.file("api.sock"))")
        let envoy = try #require(EdgeProxy.envoy.executable)
        let clock = try PreloadedClock.environment(folder)
        return (clock + [envoy] + (try envoyArguments(text, workers: 2)), address)
    }
}
