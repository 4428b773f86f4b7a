// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The rows of the inventory that concern the client, and the flows of the cookbook, each with the tests that fail if the
/// client does not behave as the row says. docs/reference/entitlement-calls.md has the same numbers.
@Suite struct `Documented calls` {
    /// A row with its tests, each by its file and function.
    private typealias Row = (row: String, tests: String)

    private static let rows: [Row] = [
        ("1 init:", "Code.registration Configuration.setRequestor Integrator.journey"),
        ("3 setOptions:", "Configuration.options Integrator.journey"),
        ("3a handleSVC=false", "Configuration.inAppBrowser"), ("3b handleSVC=true", "Configuration.inAppBrowser"),
        ("4 setRequestor:", "Configuration.defaultService Configuration.noConfiguration Authentication.elsewhere"),
        (
            "5 serviceProviders:",
            "Configuration.severalServices Configuration.boundService Configuration.stalledService"
        ),
        ("6 7 13 19 deprecated", "Integrator.deprecated Integrator.login"),
        ("8 setRequestorComplete:", "Configuration.queue Configuration.noConfiguration Preauthorization.notConfigured"),
        ("9 checkAuthentication", "Authentication.check"),
        ("10 getAuthentication", "Authentication.login Authentication.again"),
        ("11 withData:", "Authentication.again Authentication.data Integrator.login"),
        ("12 filter", "PlatformSignOn.filter PlatformSignOn.noProvider Integrator.login"),
        ("14 displayProviderDialog:", "Authentication.login Authentication.leavesPicker Authentication.noDelegate"),
        (
            "15 setSelectedProvider:",
            "Authentication.changesMind Authentication.onlyTempPass Authentication.noSuchProvider"
        ),
        ("16 navigateToUrl:", "Authentication.login Authentication.externalURL Wire.browser"),
        ("17 navigateToUrl:useSVC:", "Configuration.inAppBrowser"),
        ("18 handleExternalURL:", "Authentication.externalURL Authentication.wrongPassword"),
        ("20 setAuthenticationStatus:", "Authentication.login Authentication.check Logout.logout Integrator.goesBack"),
        ("21 presentTvProviderDialog:", "PlatformSignOn.signedOn Integrator.login"),
        ("22 dismissTvProviderDialog:", "PlatformSignOn.left Integrator.login"),
        ("23 getSelectedProvider", "Authentication.selectedProvider"),
        ("24 selectedProvider:", "Authentication.selectedProvider"),
        ("25 MVPD", "Authentication.selectedProvider Integrator.journey"),
        ("26 logout", "Logout.logout Logout.secondScreen Logout.browserFails PlatformSignOn.signedOn"),
        ("27 checkPreauthorizedResources:", "Preauthorization.allowed Preauthorization.tooMany"),
        ("28 cache:", "Preauthorization.cache"), ("29 preauthorizedResources:", "Preauthorization.allowed"),
        ("30 preauthorize:didCompleteWith:", "Preauthorization.callback Integrator.sample"),
        ("31 PreauthorizeRequest.Builder", "Integrator.builder Preauthorization.spelling"),
        ("32 PreauthorizeRequest.Feature", "Preauthorization.cache Preauthorization.remoteCache"),
        ("33 AccessEnablerCallback", "Preauthorization.callback Integrator.sample"),
        ("34 PreauthorizeResponse", "Preauthorization.decisions Integrator.sample"),
        ("35 Status", "Preauthorization.decisions Preauthorization.throttled Code.unknown Integrator.sample"),
        ("36 Decision", "Preauthorization.decisions Integrator.sample"),
        ("37 38 39 40 bodies", "Body.`has the documented shapes of a service` Preauthorization.decisions"),
        ("41 failures", "Body.`has the documented failures of clients` Preauthorization.clientFailure"),
        ("42 checkAuthorization:", "Authorization.token Authorization.notAuthenticated Authorization.data"),
        ("43 getAuthorization:", "Authorization.authenticatesFirst Authorization.newToken Authorization.data"),
        ("43a setToken:forResource:", "Authorization.token Authorization.fragment"),
        ("43b tokenRequestFailed:", "Authorization.refused Authorization.notAuthenticated Authorization.fault"),
        ("44 getMetadata:", "Metadata.own Metadata.deviceID Metadata.none"), ("44a user metadata", "Metadata.user"),
        ("45 setMetadataStatus:", "Metadata.encrypted Metadata.encryption"),
        ("46 sendTrackingData:", "Authentication.login Authorization.tracking"),
        ("46a TRACKING_AUTHENTICATION", "Authentication.check Vocabulary.`of a viewer's steps`"),
        ("46b TRACKING_AUTHORIZATION", "Authorization.tracking"),
        ("46c TRACKING_GET_SELECTED_PROVIDER", "Authentication.changesMind"),
        ("47 status:", "Authorization.degradation Authorization.tempPass Configuration.noConfiguration"),
        ("A callbacks", "Integrator.journey"), ("B startup", "Authentication.check Configuration.queue"),
        ("C login", "Authentication.login"), ("D single sign-on", "PlatformSignOn.signedOn"),
        ("E second screen", "Authentication.secondScreen Authentication.codeExpires"),
        ("F authorization", "Authorization.token Authorization.authenticatesFirst"), ("H logout", "Logout.logout"),
        ("I logout of the platform", "PlatformSignOn.signedOn"),
    ]

    /// The tests of a file: the functions after `@Test`.
    private static func tests(in file: String) throws -> Set<String> {
        let folder = ["Body", "Vocabulary"].contains(file) ? "EntitlementsTests" : "AccessEnablerTests"
        let text = try String(contentsOfFile: "\(repository)/Tests/\(folder)/\(file)Tests.swift", encoding: .utf8)
        let names = text.matches(of: /@Test(?:(?!@Test)[\s\S])*?\bfunc (`[^`]+`|\w+)/).map { String($0.output.1) }
        return Set(names)
    }

    @Test("each has tests", arguments: rows.indices)
    func row(index: Int) throws {
        let (row, tests) = Self.rows[index]
        let names = tests.matches(of: /(\w+)\.(`[^`]+`|\w+)/)
        #expect(!names.isEmpty)
        for name in names {
            let (file, function) = (String(name.output.1), String(name.output.2))
            #expect(try Self.tests(in: file).contains(function), "\(row): there is no test \(file).\(function)")
        }
    }

    @Test("no row is missing, and the documentation has each")
    func all() throws {
        let listed = Self.rows.flatMap { $0.row.split(separator: " ").prefix { $0.first?.isNumber ?? false } }
        // Row 2, `init` without a software statement, has no meaning any more.
        let numbers = ([1] + Array(3...47)).map { "\($0)" } + ["3a", "3b", "43a", "43b", "44a", "46a", "46b", "46c"]
        #expect(Set(listed.map(String.init)) == Set(numbers))
        #expect(Set(Self.rows.map(\.row.first)).isSuperset(of: Set("ABCDEFHI")))
        let documentation = try String(
            contentsOfFile: repository + "/docs/reference/entitlement-calls.md",
            encoding: .utf8
        )
        for row in Self.rows where row.row.hasSuffix(":") {
            let name = try #require(row.row.split(separator: " ").last)
            #expect(documentation.contains(name), "docs/reference/entitlement-calls.md has no \(name)")
        }
    }
}
