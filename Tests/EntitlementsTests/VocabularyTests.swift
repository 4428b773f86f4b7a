// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Testing

@Suite struct `Codes of enhanced errors` {
    /// The documented lists: codes by origin, with their action and their HTTP statuses.
    private static let lists: [(StatusCode.Origin, StatusAction, [Int], String)] = [
        (
            .v2, .noAction, [400],
            """
            invalid_parameter_service_provider invalid_parameter_mvpd invalid_parameter_code invalid_parameter_resources \
            invalid_parameter_redirect_url invalid_parameter_partner invalid_parameter_saml_response \
            invalid_header_device_info invalid_header_device_identifier invalid_header_identity_for_temporary_access \
            invalid_header_pfs_permission_access_not_present invalid_header_pfs_permission_access_not_determined \
            invalid_header_pfs_permission_access_not_granted invalid_header_pfs_provider_id_not_determined \
            invalid_header_pfs_provider_id_mismatch invalid_header_pfs_provider_info_expired invalid_integration \
            invalid_authentication_session
            """
        ),
        (
            .v2, .noAction, [403],
            """
            preauthorization_denied_by_mvpd authorization_denied_by_mvpd authorization_denied_by_parental_controls \
            authorization_denied_by_degradation_rule
            """
        ),
        (.v2, .noAction, [500], "internal_server_error"), (.v2, .configuration, [403], "too_many_resources"),
        (
            .v2, .configuration, [500],
            """
            invalid_configuration_user_metadata_certificate invalid_configuration_temporary_access \
            invalid_configuration_platform invalid_configuration_platform_id invalid_configuration_platform_trait \
            invalid_configuration_platform_category_trait invalid_configuration_platform_services \
            invalid_configuration_mvpd_platform invalid_configuration_mvpd_platform_boarding_status \
            invalid_configuration_mvpd_platform_profile_exchange
            """
        ),
        (
            .v2, .applicationRegistration, [401],
            "invalid_access_token_service_provider invalid_access_token_client_application"
        ),
        (
            .v2, .authentication, [403],
            """
            authenticated_profile_missing authenticated_profile_expired authenticated_profile_invalidated \
            temporary_access_duration_limit_exceeded temporary_access_resources_limit_exceeded \
            authorization_denied_by_hba_policies authorization_denied_by_session_invalidated \
            identity_not_recognized_by_mvpd
            """
        ),
        (.v2, .retry, [403], "network_received_error network_connection_timeout maximum_execution_time_exceeded"),
        (.v1, .noAction, [400], "invalid_requestor invalid_device_info invalid_device_id bad_request"),
        (.v1, .noAction, [400, 412], "missing_resource malformed_authz_request"),
        (
            .v1, .noAction, [403],
            "preauthorization_denied_by_mvpd authorization_denied_by_mvpd authorization_denied_by_parental_controls"
        ),
        (.v1, .noAction, [400, 405, 500], "internal_error"), (.v1, .configuration, [400, 412], "unknown_integration"),
        (.v1, .configuration, [403], "too_many_resources"),
        (.v1, .authentication, [400], "authentication_session_issuer_mismatch"),
        (
            .v1, .authentication, [403],
            """
            authorization_denied_by_hba_policies authorization_denied_by_session_invalidated \
            identity_not_recognized_by_mvpd authentication_session_invalidated
            """
        ),
        (.v1, .authentication, [403, 412], "authentication_session_missing authentication_session_expired"),
        (
            .v1, .authentication, [412],
            "preauthorization_authentication_session_missing preauthorization_authentication_session_expired"
        ),
        (.v1, .authorization, [403, 404], "authorization_not_found"),
        (.v1, .authorization, [410], "authorization_expired"),
        (.v1, .retry, [403], "network_received_error network_connection_timeout maximum_execution_time_exceeded"),
        (.client, .retry, [0], "requestor_not_configured"),
        (.client, .authentication, [0], "authentication_session_expired authentication_session_missing"),
        (.client, .noAction, [0], "access_token_unavailable server_response_format_unknown network_error"),
    ]

    @Test func `are the documented ones, with action and status, and no others`() throws {
        var documented: [StatusCode.Origin: Set<StatusCode>] = [:]
        for (origin, action, statuses, codes) in Self.lists {
            for name in codes.split(separator: " ") {
                let code = try #require(StatusCode(rawValue: String(name)), "\(name)")
                let documentation = try #require(code.documentation(origin), "\(name)")
                #expect(documentation.action == action && documentation.statuses == statuses, "\(name)")
                #expect(Status(code, by: origin)?.status == statuses[0])
                documented[origin, default: []].insert(code)
            }
        }
        for origin in StatusCode.Origin.allCases {
            let said = StatusCode.allCases.filter { $0.documentation(origin) != nil }
            #expect(Set(said) == documented[origin])
        }
        for code in StatusCode.allCases {
            #expect(StatusCode.Origin.allCases.contains { code.documentation($0) != nil }, "\(code)")
        }
    }

    @Test func `may be new ones`() throws {
        let json = #"{"status":418,"code":"teapot","action":"pour","later":{"added":[1]}}"#
        let status = try EntitlementBody.read(Status.self, json: [UInt8](json.utf8))
        #expect(status.code == "teapot" && status.knownCode == nil && status.action?.rawValue == "pour")
        #expect(Status(.requestorNotConfigured, by: .v2) == nil)
        #expect(StatusAction.documented.count == 8)
    }
}

@Suite struct `What a client tells` {
    private static let device = TrackingEvent.Device(kind: .computer, client: "html5", operatingSystem: "Linux")
    private static let viewer = TrackingEvent.Viewer(
        mvpd: "SandboxMVPD",
        hashedGUID: "00112233445566778899aabbccddeeff",
        isCached: false
    )

    @Test func `of a viewer's steps`() {
        let (device, viewer) = (Self.device, Self.viewer)
        let authentication = TrackingEvent.authentication(viewer, device)
        #expect(authentication.name == "authenticationDetection")
        #expect(
            authentication.data == [
                "true", "SandboxMVPD", "00112233445566778899aabbccddeeff", "false", "computer", "html5", "Linux",
            ]
        )
        #expect(TrackingEvent.authentication(nil, device).data == ["false"])
        let refused = TrackingEvent.authorization(
            isSuccess: false,
            viewer,
            error: "User not Authorized Error",
            details: "",
            device
        )
        #expect(refused.name == "authorizationDetection")
        #expect(
            refused.data == [
                "false", "SandboxMVPD", "00112233445566778899aabbccddeeff", "false", "User not Authorized Error", "",
                "computer", "html5", "Linux",
            ]
        )
        let chosen = TrackingEvent.providerSelection(mvpd: "SandboxMVPD", device)
        #expect(chosen.name == "mvpdSelection" && chosen.data == ["SandboxMVPD", "computer", "html5", "Linux"])
        #expect(
            TrackingEvent.Device.Kind.allCases.map(\.rawValue) == [
                "computer", "tablet", "mobile", "gameconsole", "unknown",
            ]
        )
    }

    @Test func `beside its answers`() {
        let levels: [AdvancedStatus.Level: String] = [
            .info: "VSA203 VSA404 VSA503 N000 N003 N004 N005 N011 Z011", .warning: "N010 N111 Z010 LS011",
            .error: """
            500 SEC403 CFG400 CFG404 CFG410 CFG429 CFG5xx N130 N500 R400 R401 REG500 Z100 Z120 Z130 Z169 Z500 P100
            """,
            .success: "REGCODE",
        ]
        for level in AdvancedStatus.Level.allCases {
            let ids = AdvancedStatus.DocumentedID.allCases.filter { $0.level == level }.map(\.rawValue)
            #expect(Set(ids) == Set((levels[level] ?? "").split(separator: " ").map(String.init)))
        }
        #expect(
            AdvancedStatus(.notAuthorized, resource: "TNT")
                == AdvancedStatus(errorID: "Z100", level: .error, resource: "TNT")
        )
    }
}
