// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import Platform
import Testing

/// Returns a JSON body in canonical form, for a comparison without regard to order and white space.
private func canonical(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8))
    let data = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: data, as: UTF8.self)
}

private func canonical(_ value: some Encodable) throws -> String {
    try canonical(String(decoding: try EntitlementBody.json(value), as: UTF8.self))
}

private let time = Timestamp(millisecondsSince1970: 1_925_000_000_000)
private let later = Timestamp(millisecondsSince1970: 1_925_000_420_000)

@Suite struct `Preauthorization` {
    /// The four documented shapes of a service, with their values.
    static let shapes: [(name: String, json: String, response: PreauthorizeResponse)] = [
        (
            "all allowed",
            #"{"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":true}]}"#,
            PreauthorizeResponse(decisions: [
                PreauthorizeResponse.Decision(id: "resource1", isAuthorized: true),
                PreauthorizeResponse.Decision(id: "resource2", isAuthorized: true),
            ])
        ),
        (
            "some denied, reporting off",
            #"{"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":false}]}"#,
            PreauthorizeResponse(decisions: [
                PreauthorizeResponse.Decision(id: "resource1", isAuthorized: true),
                PreauthorizeResponse.Decision(id: "resource2", isAuthorized: false),
            ])
        ),
        (
            "some denied, reporting on",
            #"""
            {"resources":[{"id":"resource1","authorized":true},{"id":"resource2","authorized":false,"error":{"status":403,
            "code":"authorization_denied_by_mvpd","message":"User not authorized",
            "details":"Your subscription package does not include the \"resource2\" channel.",
            "helpUrl":"https://help.example/errors","trace":"12f6fef9-d2e0-422b-a9d7-60d799abe353","action":"none"}}]}
            """#,
            PreauthorizeResponse(decisions: [
                PreauthorizeResponse.Decision(id: "resource1", isAuthorized: true),
                PreauthorizeResponse.Decision(
                    id: "resource2",
                    isAuthorized: false,
                    error: Status(
                        status: 403,
                        code: "authorization_denied_by_mvpd",
                        message: "User not authorized",
                        details: #"Your subscription package does not include the "resource2" channel."#,
                        helpURL: "https://help.example/errors",
                        trace: "12f6fef9-d2e0-422b-a9d7-60d799abe353",
                        action: .noAction
                    )
                ),
            ])
        ),
        (
            "an error of the service",
            #"""
            {"resources":[],"status":{"status":400,"code":"bad_request","message":"Missing required parameter : deviceId",
            "details":"","helpUrl":"https://help.example/errors","trace":"12f6fef9-d2e0-422b-a9d7-60d799abe353",
            "action":"none"}}
            """#,
            PreauthorizeResponse(
                decisions: [],
                status: Status(
                    status: 400,
                    code: "bad_request",
                    message: "Missing required parameter : deviceId",
                    details: "",
                    helpURL: "https://help.example/errors",
                    trace: "12f6fef9-d2e0-422b-a9d7-60d799abe353",
                    action: .noAction
                )
            )
        ),
    ]

    /// The failures of a client, which are flat: the fifth shape.
    private static let failures: [(code: StatusCode, action: String)] = [
        (.requestorNotConfigured, "retry"), (.authenticationSessionExpired, "authentication"),
        (.authenticationSessionMissing, "authentication"), (.accessTokenUnavailable, "none"),
        (.serverResponseFormatUnknown, "none"), (.networkError, "none"),
    ]

    @Test(arguments: failures.indices)
    func `has the documented failures of clients`(index: Int) throws {
        let (code, action) = Self.failures[index]
        let status = try #require(Status(code, by: .client))
        let message = try #require(status.message)
        let json = #"{"status":0,"code":"\#(code.rawValue)","message":"\#(message)","action":"\#(action)"}"#
        let response = PreauthorizeResponse(decisions: [], status: status)
        #expect(try canonical(response) == canonical(json))
        #expect(try EntitlementBody.read(PreauthorizeResponse.self, json: [UInt8](json.utf8)) == response)
        #expect(Status(code, by: .client, message: "the cause")?.message == message + " (the cause)")
        // A status of a service is never flat.
        let refused = json.replacing(#""status":0"#, with: #""status":400"#)
        #expect(throws: EntitlementBodyError.self) {
            try EntitlementBody.read(PreauthorizeResponse.self, json: [UInt8](refused.utf8))
        }
    }

    @Test(arguments: shapes.indices)
    func `has the documented shapes of a service`(index: Int) throws {
        let shape = Self.shapes[index]
        let read = try EntitlementBody.read(PreauthorizeResponse.self, json: [UInt8](shape.json.utf8))
        #expect(read == shape.response, "\(shape.name)")
        #expect(try canonical(read) == canonical(shape.json), "\(shape.name)")
    }

    @Test func `builds a new request each time, from one builder`() {
        let builder = PreauthorizeRequest.Builder()
        builder.setResources(["TNT", "TBS"])
        let first = builder.build()
        #expect(builder.disableFeatures([.remoteCache]) === builder && builder.setResources(["TNT"]) === builder)
        #expect(first == PreauthorizeRequest(resources: ["TNT", "TBS"]))
        #expect(builder.build() == PreauthorizeRequest(resources: ["TNT"], disabling: [.remoteCache]))
        #expect(builder.build() == builder.build())
        #expect(PreauthorizeRequest.Feature.allCases.map(\.rawValue) == ["LOCAL_CACHE", "REMOTE_CACHE"])
    }
}

@Suite struct `Bodies of REST API v2` {
    @Test func `permit and deny`() throws {
        let json = #"""
            {"decisions":[{"resource":"TNT","serviceProvider":"REF30","mvpd":"SandboxMVPD","source":"mvpd","authorized":true,
            "token":{"issuedAt":1925000000000,"notBefore":1925000000000,"notAfter":1925000420000,"serializedToken":"PHNp"},
            "notBefore":1925000000000,"notAfter":1925000420000},
            {"resource":"TBS","serviceProvider":"REF30","mvpd":"SandboxMVPD","source":"degradation","authorized":false,
            "error":{"action":"none","status":403,"code":"authorization_denied_by_degradation_rule"}}]}
            """#
        let read = try EntitlementBody.read(AuthorizationDecisions.self, json: [UInt8](json.utf8))
        let token = AuthorizedToken(
            requestor: "REF30",
            mvpd: "SandboxMVPD",
            resource: "TNT",
            issued: time,
            notBefore: time,
            expires: later,
            serializedToken: "PHNp"
        )
        #expect(
            read.decisions == [
                AuthorizationDecision(
                    resource: "TNT",
                    serviceProvider: "REF30",
                    mvpd: "SandboxMVPD",
                    source: .mvpd,
                    isAuthorized: true,
                    notBefore: time,
                    notAfter: later,
                    token: token
                ),
                AuthorizationDecision(
                    resource: "TBS",
                    serviceProvider: "REF30",
                    mvpd: "SandboxMVPD",
                    source: .degradation,
                    isAuthorized: false,
                    error: Status(.authorizationDeniedByDegradationRule, by: .v2)
                ),
            ]
        )
        #expect(try canonical(read) == canonical(json))
    }

    @Test func `have profiles with metadata`() throws {
        let json = #"""
            {"profiles":{"SandboxMVPD":{"notBefore":1925000000000,"notAfter":1925000420000,"issuer":"SandboxMVPD",
            "type":"regular","attributes":{"userID":{"value":"user-1","state":"plain"},
            "zip":{"value":["12345","23456"],"state":"enc"},"maxRating":{"value":{"MPAA":"PG-13"},"state":"plain"}}}}}
            """#
        let read = try EntitlementBody.read(Profiles.self, json: [UInt8](json.utf8))
        let profile = Profile(
            notBefore: time,
            notAfter: later,
            issuer: "SandboxMVPD",
            kind: .regular,
            attributes: [
                "userID": Profile.Attribute(.text("user-1")),
                "zip": Profile.Attribute(.list([.text("12345"), .text("23456")]), state: .encrypted),
                "maxRating": Profile.Attribute(.map(["MPAA": .text("PG-13")])),
            ]
        )
        #expect(read.profiles == ["SandboxMVPD": profile])
        #expect(try canonical(read) == canonical(json))
    }

    @Test func `begin sessions, with times as texts`() throws {
        let json = #"""
            {"actionName":"authenticate","actionType":"interactive","reasonType":"none","code":"8AB12CD",
            "url":"/api/v2/authenticate/REF30/8AB12CD","sessionId":"s-1","mvpd":"SandboxMVPD","serviceProvider":"REF30",
            "notBefore":"1925000000000","notAfter":"1925000420000"}
            """#
        let read = try EntitlementBody.read(AuthenticationSession.self, json: [UInt8](json.utf8))
        #expect(read.action == .authenticate && read.code == "8AB12CD" && read.notAfter == later)
        #expect(try canonical(read) == canonical(json))
        let numbers = json.replacing(#""1925000000000""#, with: "1925000000000")
        #expect(try EntitlementBody.read(AuthenticationSession.self, json: [UInt8](numbers.utf8)) == read)
    }

    @Test func `register applications`() throws {
        let json = #"""
            {"client_id":"id","client_secret":"secret","redirect_uris":["adobepass://com.programmer"],
            "grant_types":["client_credentials"],"scopes":["api:client:v2"],"client_id_issued_at":1925000000}
            """#
        let read = try EntitlementBody.read(ClientRegistration.self, json: [UInt8](json.utf8))
        #expect(
            read
                == ClientRegistration(
                    clientID: "id",
                    clientSecret: "secret",
                    redirectURIs: ["adobepass://com.programmer"],
                    issued: time
                )
        )
        #expect(try canonical(read) == canonical(json))
        let token = #"""
            {"id":"u-1","access_token":"a.b.c","created_at":1925000000000,"expires_in":21600,"token_type":"bearer"}
            """#
        let access = try EntitlementBody.read(AccessToken.self, json: [UInt8](token.utf8))
        #expect(access == AccessToken(id: "u-1", accessToken: "a.b.c", created: time, expiresIn: 21_600))
        #expect(try canonical(access) == canonical(token))
        for text in ["\(read)", "\(access)", String(reflecting: read), String(reflecting: access)] {
            #expect(!text.contains("secret") && !text.contains("a.b.c"))
        }
        #expect(try canonical(RegistrationError.invalidClient) == canonical(#"{"error":"invalid_client"}"#))
    }

    @Test func `log out`() throws {
        let json = #"""
            {"logouts":{"SandboxMVPD":{"actionName":"logout","actionType":"interactive","mvpd":"SandboxMVPD",
            "url":"/api/v2/logout"}}}
            """#
        let read = try EntitlementBody.read(Logouts.self, json: [UInt8](json.utf8))
        #expect(read.logouts["SandboxMVPD"]?.actionName == "logout")
        #expect(try canonical(read) == canonical(json))
    }

    @Test func `say what works with a programmer`() throws {
        let json = #"""
            {"requestor":{"id":"REF30","name":"Reference","domains":[{"name":"example.com","mvpdInitiated":false}],
            "mvpds":[{"id":"SandboxMVPD","displayName":"Sandbox TV","logoUrl":"https://sandbox.example/logo.png",
            "enablePlatformServices":true,"boardingStatus":"SUPPORTED"},
            {"id":"TempPass","displayName":"A free day","isTempPass":true},
            {"id":"Odd","displayName":"Odd","boardingStatus":"LATER"}]}}
            """#
        let read = try EntitlementBody.read(ServiceConfiguration.self, json: [UInt8](json.utf8))
        #expect(read.mvpds.map(\.id) == ["SandboxMVPD", "TempPass", "Odd"])
        #expect(read.mvpds.map(\.supportsPlatformSSO) == [true, false, false])
        #expect(read.mvpds[2].boardingStatus?.rawValue == "LATER")
        #expect(try canonical(read) == canonical(json))
    }
}

@Suite struct `Bodies of REST API v1` {
    private static let authentication = Authentication(
        requestor: "REF30",
        mvpd: "SandboxMVPD",
        userID: "user-1",
        expires: time
    )
    private static let authorization = Authorization(
        requestor: "REF30",
        mvpd: "SandboxMVPD",
        proxyMVPD: "Behind",
        resource: #"<rss version="2.0"><channel><title>T&amp;T</title></channel></rss>"#,
        expires: time
    )
    private static let token = AuthorizedToken(
        requestor: "REF30",
        mvpd: "SandboxMVPD",
        resource: "TNT",
        userID: "user-1",
        expires: time,
        serializedToken: "PHNp"
    )

    @Test func `are the same in JSON and in XML`() throws {
        #expect(
            try canonical(Self.authentication)
                == canonical(
                    #"{"requestor":"REF30","mvpd":"SandboxMVPD","userId":"user-1","expires":"1925000000000"}"#
                )
        )
        #expect(
            try Self.token.xml
                == "<play><expires>1925000000000</expires><mvpdId>SandboxMVPD</mvpdId><requestor>REF30</requestor>"
                + "<resource>TNT</resource><serializedToken>PHNp</serializedToken><userId>user-1</userId></play>"
        )
        #expect(try Authentication(xml: [UInt8](Self.authentication.xml.utf8)) == Self.authentication)
        #expect(try Authorization(xml: [UInt8](Self.authorization.xml.utf8)) == Self.authorization)
        #expect(try AuthorizedToken(xml: [UInt8](Self.token.xml.utf8)) == Self.token)
        let authorization = try EntitlementBody.json(Self.authorization)
        #expect(try EntitlementBody.read(Authorization.self, json: authorization) == Self.authorization)
        let token = try EntitlementBody.json(Self.token)
        #expect(try EntitlementBody.read(AuthorizedToken.self, json: token) == Self.token)
        let number = #"{"requestor":"R","mvpd":"M","userId":"u","expires":1925000000000}"#
        #expect(try EntitlementBody.read(Authentication.self, json: [UInt8](number.utf8)).expires == time)
    }

    @Test func `have errors, old and new`() throws {
        let status = Status(
            .invalidRequestor,
            by: .v1,
            message: "The requestor parameter is missing or <invalid>.",
            trace: "t-1"
        )
        let error = try #require(status)
        #expect(
            try error.xml
                == "<error><action>none</action><status>400</status><code>invalid_requestor</code>"
                + "<message>The requestor parameter is missing or &lt;invalid&gt;.</message><trace>t-1</trace></error>"
        )
        #expect(try Status(xml: [UInt8](error.xml.utf8)) == error)
        let old = "<error><status>403</status><message>Authentication token expired</message></error>"
        #expect(
            try Status(xml: [UInt8](old.utf8))
                == Status(status: 403, code: "", message: "Authentication token expired")
        )
        let json = #"{"status":412,"message":"User not authenticated","details":null}"#
        #expect(
            try EntitlementBody.read(Status.self, json: [UInt8](json.utf8))
                == Status(status: 412, code: "", message: "User not authenticated")
        )
    }

    @Test func `have configurations`() throws {
        let document = """
            <ns2:config xmlns:ns2="http://pass.adobe.com/config">
              <requestor><id>REF30</id><name>Reference</name>
                <domains><domain><name>example.com</name></domain><domain>example.org</domain></domains>
                <mvpds>
                  <mvpd><id>SandboxMVPD</id><displayName>Sandbox &amp; TV</displayName><logoUrl>https://l</logoUrl>
                    <boardingStatus>PICKER</boardingStatus><enablePlatformServices>true</enablePlatformServices></mvpd>
                  <mvpd><id>Bare</id></mvpd>
                </mvpds>
              </requestor>
            </ns2:config>
            """
        let read = try ServiceConfiguration(xml: [UInt8](document.utf8))
        #expect(read.domains.map(\.name) == ["example.com", "example.org"])
        #expect(
            read.mvpds == [
                MVPD(
                    id: "SandboxMVPD",
                    displayName: "Sandbox & TV",
                    logoURL: "https://l",
                    enablePlatformServices: true,
                    boardingStatus: .picker
                ), MVPD(id: "Bare", displayName: "Bare"),
            ]
        )
        #expect(try ServiceConfiguration(xml: [UInt8](read.xml.utf8)) == read)
        #expect(try read.xml.hasPrefix(#"<ns2:config xmlns:ns2="http://pass.adobe.com/config"><requestor><id>REF30"#))
    }

    @Test func `have metadata`() throws {
        let json = #"""
            {"updated":1925000000,"encrypted":["zip"],"data":{"zip":["12345"],"maxRating":{"MPAA":"PG-13","VCHIP":"TV-Y"},
            "householdID":"3456","channelID":["channel-1","channel-2"],"is_hoh":true,"age":9007199254740993,"none":null}}
            """#
        let read = try EntitlementBody.read(UserMetadata.self, json: [UInt8](json.utf8))
        #expect(read.updated == time && read.encrypted == ["zip"])
        #expect(read.data["maxRating"] == .map(["MPAA": .text("PG-13"), "VCHIP": .text("TV-Y")]))
        #expect(read.data["is_hoh"] == .truth(true) && read.data["age"] == .number(9_007_199_254_740_993))
        #expect(read.data["none"] == .null)
        #expect(try canonical(read) == canonical(json))
    }
}

@Suite struct `Bodies of any shape` {
    private struct Item: Codable, Equatable {
        var text: String?
        var truth: Bool?
        var double: Double?
        var float: Float?
        var int: Int?
        var int8: Int8?
        var int16: Int16?
        var int32: Int32?
        var uint: UInt?
        var uint8: UInt8?
        var uint16: UInt16?
        var uint32: UInt32?
        var uint64: UInt64?
        var list: [Int64?]?
        var lists: [[String]]?
        var map: [String: [Bool]]?
        var items: [Item]?
    }

    private static let bodies = [
        "{}", "null", "[]", "1", #""a""#, #"{"text":"a\u00e9\ud83d\ude00","truth":false,"double":3,"float":-4}"#,
        #"{"int":-1,"int8":-128,"int16":-32768,"int32":-2147483648,"uint":0,"uint8":255,"uint16":65535,"uint32":4294967295}"#,
        #"{"int":9223372036854775807,"uint64":9223372036854775807}"#, #"{"int8":128}"#, #"{"int16":32768}"#,
        #"{"int32":2147483648}"#, #"{"uint":-1}"#, #"{"uint8":256}"#, #"{"uint16":-1}"#, #"{"uint32":4294967296}"#,
        #"{"uint64":-1}"#, #"{"text":1}"#, #"{"text":null,"other":{}}"#, #"{"truth":1}"#, #"{"truth":"true"}"#,
        #"{"int":"1"}"#, #"{"int":true}"#, #"{"list":[1,null,3]}"#, #"{"list":[1,"2"]}"#, #"{"list":{}}"#,
        #"{"lists":[[],["a"],["b","c"]]}"#, #"{"lists":[null]}"#, #"{"map":{"a":[true],"":[]}}"#, #"{"map":[]}"#,
        #"{"items":[{"items":[{"text":"deep"}]},{}]}"#, #"{"items":[{"items":[{"text":0}]}]}"#,
    ]

    @Test(arguments: bodies) func `are decoded as by Foundation`(body: String) {
        let read = try? EntitlementBody.read(Item.self, json: [UInt8](body.utf8))
        #expect(read == (try? JSONDecoder().decode(Item.self, from: Data(body.utf8))))
        let value = try? EntitlementBody.read(MetadataValue.self, json: [UInt8](body.utf8))
        #expect(value == (try? JSONDecoder().decode(MetadataValue.self, from: Data(body.utf8))))
    }

    @Test func `say where they are wrong`() {
        let bodies = [
            (#"{"items":[{},{"map":{"a":[1]}}]}"#, "items.Index 1.map.a.Index 0 has the wrong type"),
            ("[]", "the body has the wrong type"), (#"{"items":[null]}"#, "items.Index 0 has the wrong type"),
        ]
        for (body, message) in bodies {
            let error = #expect(throws: EntitlementBodyError.self) {
                try EntitlementBody.read(Item.self, json: [UInt8](body.utf8))
            }
            #expect(error?.message == message)
        }
        let error = #expect(throws: EntitlementBodyError.self) {
            try EntitlementBody.read(PreauthorizeResponse.self, json: [UInt8](#"{"resources":[{"id":"a"}]}"#.utf8))
        }
        #expect(error?.message == "resources.Index 0 has no authorized")
    }
}

@Suite struct `Bodies that are not as they should be` {
    private typealias Broken = (body: String, code: EntitlementBodyError.Code)

    private static let json: [Broken] = [
        ("", .malformed), ("{", .malformed), ("<xml/>", .malformed), ("null", .unexpected), ("[]", .unexpected),
        ("{}", .unexpected), (#"{"resources":null}"#, .unexpected),
        (#"{"resources":[{"id":1,"authorized":true}]}"#, .unexpected),
        (#"{"resources":[{"id":"a","authorized":"true"}]}"#, .unexpected),
        (#"{"resources":[{"id":"a","authorized":true},]}"#, .malformed),
        (#"{"resources":[],"status":{"status":"400","code":"x"}}"#, .unexpected),
        (#"{"resources":[],"resources":[]}"#, .malformed),
        (#"{"resources":[],"status":{"status":1.5,"code":"x"}}"#, .unexpected),
        (#"{"resources":[],"status":{"status":1e159,"code":"x"}}"#, .unexpected),
        (#"{"resources":[],"status":{"status":0.\#(zeros)1e159,"code":"x"}}"#, .unexpected),
        (#"{"resources":[],"é":1,"e\u0301":2}"#, .malformed),
        (#"{"resources":[\#(String(repeating: "[],", count: 60_000))[]]}"#, .malformed),
        (#"{"resources":[\#(String(repeating: "[1,[]],", count: 20_000))[]]}"#, .unexpected),
        (String(repeating: "[", count: 100_000), .malformed),
        ("{\"resources\":[{\"id\":\"\u{0}\",\"authorized\":true}]}", .malformed),
    ]
    private static let zeros = String(repeating: "0", count: 140)

    @Test(arguments: json.indices) func `in JSON`(index: Int) {
        let (json, code) = Self.json[index]
        let error = #expect(throws: EntitlementBodyError.self) {
            try EntitlementBody.read(PreauthorizeResponse.self, json: [UInt8](json.utf8))
        }
        #expect(error?.code == code, "\(error.map { "\($0)" } ?? "")")
    }

    private static let xml: [Broken] = [
        ("", .malformed), ("<play>", .malformed), ("{}", .malformed), ("<other/>", .unexpected),
        ("<play/>", .unexpected),
        ("<play><expires>soon</expires></play>", .unexpected),
        ("<!DOCTYPE play [<!ENTITY a 'b'>]><play>&a;</play>", .malformed),
        (String(repeating: "<play>", count: 40) + String(repeating: "</play>", count: 40), .malformed),
        ("<play \((0..<200_000).map { "a\($0)=''" }.joined(separator: " "))/>", .malformed),
        ("<play><requestor>a</requestor><requestor>b</requestor></play>", .unexpected),
        ("<play><userId>&secret;</userId></play>", .malformed),
        (handedOut("TNT<!-- -->Sports"), .malformed), (handedOut("TNT<?a?><![CDATA[Sports]]>"), .malformed),
        (handedOut("TNT<a/>Sports"), .malformed), (handedOut("TNT<a/>"), .malformed),
        (handedOut("T") + "<!--", .malformed),
        ("<play>\(String(repeating: "<a/>", count: 60_000))</play>", .malformed),
        (
            "<play><expires>1.5</expires><mvpdId>m</mvpdId><requestor>r</requestor><resource>t</resource>"
                + "<serializedToken>s</serializedToken><userId>u</userId></play>", .unexpected
        ),
    ]

    private static func handedOut(_ resource: String) -> String {
        "<play><expires>1</expires><mvpdId>m</mvpdId><requestor>r</requestor><resource>\(resource)</resource>"
            + "<serializedToken>s</serializedToken><userId>u</userId></play>"
    }

    /// A text is the same for every reader, or it is refused: comments beside it and CDATA sections have no effect.
    @Test(arguments: ["TNTSports", "TNT<![CDATA[Sports]]>", "<!-- a -->TNTSports<?b?>", "TNT&#83;ports"])
    func `but not in XML of another spelling`(resource: String) throws {
        let document = "<!-- a -->" + Self.handedOut(resource).replacing("<mvpdId>", with: "\n<!-- b --> <mvpdId>")
        #expect(try AuthorizedToken(xml: [UInt8](document.utf8)).resource == "TNTSports")
    }

    @Test(arguments: xml.indices) func `in XML`(index: Int) {
        let (document, code) = Self.xml[index]
        let error = #expect(throws: EntitlementBodyError.self) { try AuthorizedToken(xml: [UInt8](document.utf8)) }
        #expect(error?.code == code, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func `or too large`() {
        let large = [UInt8](repeating: UInt8(ascii: " "), count: EntitlementBody.maximumSize + 1)
        let json = #expect(throws: EntitlementBodyError.self) { try EntitlementBody.read(Profiles.self, json: large) }
        let xml = #expect(throws: EntitlementBodyError.self) { try Status(xml: large) }
        #expect(json?.code == .tooLarge && xml?.code == .tooLarge)
    }

    @Test func `say nothing of what is in them`() {
        let forged = #"{"updated":1,"data":{"x\nFAKE LINE"# + String(repeating: "y", count: 5000) + #"":1,"":[[1.5]]}}"#
        let json = #expect(throws: EntitlementBodyError.self) {
            try EntitlementBody.read([String: Status].self, json: [UInt8](forged.replacing("1.5", with: "2").utf8))
        }
        let xml = #expect(throws: EntitlementBodyError.self) {
            try Authentication(xml: [UInt8]("<authentication><userId>&secret;</userId></authentication>".utf8))
        }
        for message in [json?.description ?? "\n", xml?.description ?? "\n"] {
            #expect(!message.contains("\n") && message.utf8.count < 200 && !message.contains("secret"), "\(message)")
        }
        let bell = Status(status: 400, code: "x", message: "\u{7}")
        #expect(throws: EntitlementBodyError.self) { try bell.xml }
    }

    /// A body that is truncated or has any byte changed is read or refused, without a crash.
    @Test func `by accident`() throws {
        let json = [UInt8](Preauthorization.shapes[2].json.utf8)
        let xml = [UInt8](
            #"<ns2:config xmlns:ns2="http://pass.adobe.com/config"><requestor><id>R</id><mvpds/></requestor></ns2:config>"#
                .utf8
        )
        for position in json.indices {
            _ = try? EntitlementBody.read(PreauthorizeResponse.self, json: Array(json[..<position]))
        }
        for position in xml.indices {
            #expect(throws: EntitlementBodyError.self) { try ServiceConfiguration(xml: Array(xml[..<position])) }
            for byte in [0, 0x22, 0x26, 0x3C, 0x3E, 0x80, 0xFF] as [UInt8] {
                var damaged = xml
                damaged[position] = byte
                _ = try? ServiceConfiguration(xml: damaged)
            }
        }
    }
}
