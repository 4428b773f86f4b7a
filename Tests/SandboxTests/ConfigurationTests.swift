// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `A configuration of the stand-in` {
    private static func problems(_ text: String) -> [ConfigurationProblem] {
        do throws(ConfigurationError) {
            _ = try SandboxConfiguration(text, file: ConfigurationFile(path: "test.yaml"))
            return []
        } catch { return error.problems }
    }

    @Test func `that is built in is good`() {
        #expect(Self.problems(SandboxConfiguration.defaultText).isEmpty)
        #expect(throws: Never.self) { _ = try SandboxConfiguration() }
    }

    /// The text to replace, its replacement, and the key and the message of the problem.
    static let faults: [(text: String, other: String, key: String, message: String)] = [
        ("  - id: REF30\n", "  - ident: REF30\n", "requestors[0]", "id is missing"),
        ("  - id: QUIET", "  - id: REF30", "requestors", "duplicate id REF30"),
        ("  - id: Cablevision", "  - id: DTV", "mvpds", "duplicate id DTV"),
        ("name: carol", "name: alice", "households", "duplicate user alice"),
        ("userID: user-carol", "userID: household-1", "households", "duplicate userID household-1"),
        (
            "packages: [basic, news, premium]", "packages: [basic, gold]", "households[0].packages",
            "unknown package gold"
        ),
        ("mvpds: [SandboxMVPD, TempPass]", "mvpds: [Nobody]", "requestors[1].mvpds", "unknown MVPD Nobody"),
        ("enhancedErrors: true", "enhancedErrors: maybe", "requestors[0].enhancedErrors", "must be true or false"),
        (
            "maximumPreauthorizedResources: 5", "maximumPreauthorizedResources: 0",
            "requestors[0].maximumPreauthorizedResources", "from 1 to 100"
        ),
        (
            "authorizationLifetime: 6h", "authorizationLifetime: soon", "mvpds[0].authorizationLifetime",
            "must be a duration"
        ),
        (
            "boardingStatus: SUPPORTED", "boardingStatus: MAYBE", "mvpds[3].boardingStatus",
            "must be one of PICKER, SUPPORTED"
        ),
        ("    enablePlatformServices: true\n", "", "mvpds[3].boardingStatus", "requires enablePlatformServices"),
        ("    platformMappingId: platform-tv\n", "", "mvpds[3].platformMappingId", "platformMappingId is missing"),
        ("{ duration: 10m }", "{ length: 10m }", "mvpds[4].tempPass.length", "unknown key"),
        ("channels: [CNN]", "canals: [CNN]", "packages[1].canals", "unknown key"),
        ("    channels: [CNN]\n", "    channels: []\n", "packages[1].channels", "must have channels or resources"),
        ("<guid>film-1</guid>", "<guid>film-1<guid>", "packages[2].resources", "resource_malformed_xml"),
        ("TV-PG, \"urn:mpaa\"", "TV-XX, \"urn:mpaa\"", "households[1].maximumRatings", "unknown rating"),
        ("password: bob, ", "", "households[1].users[0].password", "password is missing"),
        ("mediaToken: { timeToLive: 7m }", "mediaToken: { timeToLive: 1h }", "mediaToken.timeToLive", "to 15m"),
        ("limit: 2", "limit: 0", "concurrency.limit", "from 1 to 100"),
        ("strategy: rejectNew", "strategy: shuffle", "concurrency.strategy", "one of evictOldest, rejectNew"),
        ("  requestor: REF30\n  items", "  requestor: NOBODY\n  items", "demo.requestor", "unknown requestor NOBODY"),
        ("      resource: TBS\n", "", "demo.items[2].resource", "resource is missing"),
        (
            "concurrency:", "degradation: [{ requestor: X, mvpd: DTV, rule: authNAll }]\nconcurrency:",
            "degradation[0].requestor", "unknown requestor X"
        ),
        (
            "concurrency:", "degradation: [{ requestor: REF30, mvpd: DTV, rule: all }]\nconcurrency:",
            "degradation[0].rule", "must be one of authNAll"
        ),
        ("concurrency:", "throttling: { rate: 0 }\nconcurrency:", "throttling.rate", "from 1 to 10000"),
        ("concurrency:", "nonsense: 1\nconcurrency:", "nonsense", "unknown key"),
        (
            "    domains: [quiet.example]", "    softwareStatements: [\"a.b\"]", "requestors[1].softwareStatements",
            "must be a JWT"
        ),
        (
            "    domains: [quiet.example]", "    encryptedMetadata: { certificate: none.pem, keys: [zip] }",
            "requestors[1].encryptedMetadata.certificate", "cannot be opened"
        ),
        (
            "    domains: [quiet.example]", "    encryptedMetadata: { certificate: none.pem }",
            "requestors[1].encryptedMetadata.keys", "keys is missing"
        ),
    ]

    @Test("is refused with file, line and key", arguments: faults)
    func refused(_ fault: (text: String, other: String, key: String, message: String)) throws {
        let problems = Self.problems(InProcessSandbox.configuration(replacing: fault.text, with: fault.other))
        let problem = try #require(problems.first { $0.location.key == fault.key }, "\(problems)")
        #expect(problem.location.file == "test.yaml")
        #expect(problem.location.line > 0)
        #expect(problem.message.contains(fault.message), "\(problem)")
    }

    @Test("that is empty is refused", arguments: ["", "[]", "{}", "requestors: []"])
    func empty(text: String) { #expect(!Self.problems(text).isEmpty) }
}

@Suite struct `The configuration of a requestor` {
    @Test func `says in REST API v2 which device the service recognizes`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let info = Data(#"{"primaryHardwareType":"SetTopBox","osName":"tvOS"}"#.utf8).base64EncodedString()
            let path = "/api/v2/REF30/configuration"
            let known = try device.get(path, headers: ["X-Device-Info": info]).json
            #expect(known["device"] as? String == "SetTopBox")
            #expect(known["os"] as? String == "tvOS")
            #expect(known["clientType"] as? String == "unknown")
            #expect((known["requestor"] as? [String: Any])?["id"] as? String == "REF30")
            #expect(try device.get(path).json["device"] as? String == "unknown")
        }
    }
}
