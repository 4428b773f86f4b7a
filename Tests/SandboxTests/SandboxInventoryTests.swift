// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The endpoints that the service must offer, each with the tests that fail without it. `A` rows are for clients of the
/// documented APIs, `Y` rows for yt-dlp.
@Suite struct `Rows of the inventory of the service` {
    static let rows: KeyValuePairs<String, [String]> = [
        "A1": ["RegistrationTests.inventory 1: registers an application by its software statement"],
        "A2": ["RegistrationTests.gives an access token for six hours", "RegistrationTests.refuses a token"],
        "A3": [
            "V1Tests.configuration", "ConfigurationTests.says in REST API v2 which device the service recognizes",
        ],
        "A4": ["V1Tests.inventory 15, E: is made, returned and removed"],
        "A5": [
            "LoginTests.inventory C, ADOBEPASS_REDIRECT_URL: goes to the provider's page and back to the application",
            "LoginTests.inventory 15, 18: is for a registration code too",
        ],
        "A6": ["LoginTests.resume", "LoginTests.begins directly where a viewer is logged in"],
        "A7": [
            "V1Tests.ends authorizations and authentications with the documented statuses",
            "LoginTests.inventory 15, 18: is for a registration code too",
        ],
        "A8": [
            "LoginTests.inventory C, ADOBEPASS_REDIRECT_URL: goes to the provider's page and back to the application"
        ],
        "A9": [
            "DecisionTests.inventory 27, 28: is one for each resource of the request, up to five",
            "PreauthorizeShapeTests.inventory 30, 37: all allowed", "PreauthorizationCacheTests.bypassed",
        ],
        "A10": ["V1Tests.authorize", "V1Tests.denies with 403 and the provider's words"],
        "A11": ["V1Tests.authorize", "MediaTokenTests.are never the same, and each opens the gate once"],
        "A12": ["DecisionTests.verdict", "DecisionTests.brings a new token each time, and the viewer's own GUID"],
        "A13": ["V1Tests.inventory 44, 44a: is what the provider tells of a viewer"],
        "A14": [
            "DecisionTests.inventory 26: of REST API v1 has no body",
            "DecisionTests.inventory 26, H: ends the login and goes through the provider's page",
            "ProviderTests.inventory 26, H: leads back to the scheme that the application has registered",
        ],
        "A15": ["TemporaryAccessTests.of REST API v1 is the free preview"],
        "A16": [
            "PlatformTests.inventory D: gives a profile without a login of the application",
            "PlatformTests.inventory D: of REST API v1 exchanges what the platform says",
            "ConcurrencyTests.counts the streams of a household, whoever watches",
        ],
        "A17": [
            "DemoEndpointTests.inventory G: the certificate is the one that verifies",
            "ControlTests.is reported as it was set, and put back",
            "ControlTests.is for this machine, by its own name, and for no page of another origin",
        ],
        "Y1": ["LegacyTests.Y1 to Y11: comes to a client that imitates the SDKs, by forms", "YTDLPTests.runs"],
        "Y2": ["RegistrationTests.inventory 1: registers an application by its software statement"],
        "Y3": ["RegistrationTests.gives an access token for six hours"],
        "Y4": ["V1Tests.inventory 15, E: is made, returned and removed"],
        "Y5": ["HostileInputTests.accepts each form once, and only with its session"],
        "Y6": ["HostileInputTests.accepts each form once, and only with its session"],
        "Y7": ["HostileInputTests.accepts each form once, and only with its session"],
        "Y8": ["HostileInputTests.accepts each form once, and only with its session"],
        "Y9": ["LegacyTests.is good for media tokens by itself", "LegacyTests.is for the device that has logged in"],
        "Y10": ["LegacyTests.brings a no with status 200 and the provider's words"],
        "Y11": ["LegacyTests.is good for media tokens by itself", "LegacyTests.expires, and ends with the login"],
    ]

    @Test func `are all there`() {
        #expect(Self.rows.map(\.key) == (1...17).map { "A\($0)" } + (1...11).map { "Y\($0)" })
    }

    @Test("have tests that exist", arguments: rows.map(\.key))
    func tests(row: String) throws {
        for name in Self.rows.first(where: { $0.key == row })?.value ?? [] {
            let parts = name.split(separator: ".", maxSplits: 1).map { String($0) }
            let path = "\(repository)/Tests/SandboxTests/\(parts[0]).swift"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let names = text.matches(of: /@Test[^{]*?func\s+(?:`([^`]+)`|(\w+))/).map {
                $0.output.1 ?? $0.output.2 ?? ""
            }
            #expect(names.contains { $0 == parts[1] }, "\(name) is not a test")
        }
    }
}
