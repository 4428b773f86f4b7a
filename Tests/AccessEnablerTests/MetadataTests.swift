// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Entitlements
import GateTestSupport
import MediaTokens
import Testing

@testable import AccessEnabler

@Suite struct `Metadata` {
    private static let interfaces = ServiceProvider.Interface.allCases

    @Test("inventory 44, 45: the client's own values are texts, and not encrypted", arguments: interfaces)
    func own(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let options = AccessEnablerOptions(isDeviceIDAvailable: true)
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface, options: options)
            let authentication = await enabler.getMetadata(.authentication)
            #expect(authentication.value == .text("2031/02/01 10:04:05 GMT +0000"))
            #expect(await enabler.getMetadata(.authorization(resource: "TNT")).value == nil)
            _ = await enabler.checkAuthorization("TNT")
            #expect(
                await enabler.getMetadata(.authorization(resource: "TNT")).value
                    == .text("2031/01/02 16:04:05 GMT +0000")
            )
            let device = try #require(await enabler.getMetadata(.deviceID).value?.text)
            #expect(device.count == 32)
            await enabler.finishCallbacks()
            #expect(
                application.events("setMetadataStatus") == [
                    "setMetadataStatus false 0 METADATA_OPCODE_KEY=METADATA_AUTHENTICATION",
                    "setMetadataStatus false 1 METADATA_OPCODE_KEY=METADATA_AUTHORIZATION METADATA_RESOURCE_ID_KEY=TNT",
                    "setMetadataStatus false 1 METADATA_OPCODE_KEY=METADATA_AUTHORIZATION METADATA_RESOURCE_ID_KEY=TNT",
                    "setMetadataStatus false 2 METADATA_OPCODE_KEY=METADATA_DEVICE_ID",
                ]
            )
        }
    }

    /// A viewer, a name, and the value of the provider.
    private static let values: [(user: String, key: String, value: MetadataValue?)] = [
        ("alice", "zip", .list([.text("12345")])), ("bob", "zip", .list([.text("67890")])),
        ("alice", "householdID", .text("household-1")), ("carol", "householdID", .text("household-1")),
        ("carol", "userID", .text("user-carol")), ("alice", "userID", .text("household-1")),
        ("bob", "maxRating", .map(["VCHIP": .text("TV-PG"), "MPAA": .text("PG")])),
        ("bob", "channelID", .list([.text("TBS"), .text("TNT")])), ("alice", "shoeSize", nil),
    ]

    @Test("inventory 44a: what the provider tells of a viewer", arguments: values.indices, interfaces)
    func user(index: Int, interface: ServiceProvider.Interface) async throws {
        let (user, key, value) = Self.values[index]
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer(user, interface: interface)
            let answer = await enabler.getMetadata(.userMetadata(key: key))
            #expect(answer.value?.sorted == value?.sorted)
            #expect(!answer.isEncrypted)
            await enabler.finishCallbacks()
            #expect(
                application.events("setMetadataStatus") == [
                    "setMetadataStatus false 3 METADATA_OPCODE_KEY=METADATA_USER_META METADATA_USER_META_KEY=\(key)"
                ]
            )
        }
    }

    @Test("inventory 44: the id of the device is off by default")
    func deviceID() async throws {
        try await SandboxFixture.with { sandbox in
            #expect(await sandbox.client().getMetadata(.deviceID).value == nil)
        }
    }

    @Test("inventory 44: without a viewer, and where the service is asked too often, there is no value")
    func none() async throws {
        try await SandboxFixture.with { sandbox in
            let nobody = await sandbox.client()
            #expect(await nobody.getMetadata(.userMetadata(key: "zip")).value == nil)
            #expect(await nobody.getMetadata(.authentication).value == nil)
            let (enabler, _) = try await sandbox.viewer("alice", interface: .v1)
            try await sandbox.control(#"{"faults":[{"on":"userMetadata","status":429}]}"#)
            #expect(await enabler.getMetadata(.userMetadata(key: "zip")).value == nil)
        }
    }

    @Test("inventory 45: encrypted values are read with the programmer's key", arguments: MetadataKey.Padding.allCases)
    func encryption(padding: MetadataKey.Padding) throws {
        let (own, other) = (try DevelopmentKeys(at: GateSample.time), try DevelopmentKeys(at: GateSample.time))
        let certificate = try #require(MetadataCertificate(pem: own.signerCertificate, padding: padding))
        let key = try MetadataKey(pem: own.signerKey, padding: padding)
        // A short text, one of several blocks, and one with multi-byte characters.
        for text in ["12345", String(repeating: "0123456789", count: 60), "Zürich — 東京", ""] {
            let cipher = try #require(certificate.encrypt(text))
            #expect(key.decrypt(cipher) == text)
            #expect(try MetadataKey(pem: other.signerKey, padding: padding).decrypt(cipher) != text)
            #expect(key.decrypt(String(cipher.dropLast(4))) == nil)
        }
        for damaged in ["", "AAAA", "no Base64", String(repeating: "A", count: 344)] {
            #expect(key.decrypt(damaged) != "12345")
        }
        #expect("\(key)" == "<private key>")
    }

    @Test(
        "inventory 45: a service encrypts for the programmer; a client without the key says so",
        arguments: interfaces
    )
    func encrypted(interface: ServiceProvider.Interface) async throws {
        let folder = try TemporaryFolder()
        let keys = try DevelopmentKeys(at: GateSample.time)
        try folder.write("programmer.pem", contents: keys.signerCertificate)
        let configuration = """
            requestors:
              - id: REF30
                name: Reference
                domains: [a.example]
                encryptedMetadata: { certificate: \(folder.file("programmer.pem")), keys: [zip] }
            mvpds: [{ id: SandboxMVPD, displayName: TV }]
            packages: [{ id: all, channels: [TNT] }]
            households: [{ id: h, zip: "12345", packages: [all], users: [{ name: alice, password: alice, userID: h }] }]
            """
        try await SandboxFixture.with(configuration) { sandbox in
            let (blind, _) = try await sandbox.viewer("alice", interface: interface)
            let hidden = await blind.getMetadata(.userMetadata(key: "zip"))
            #expect(hidden.isEncrypted)
            #expect(hidden.value?.text != nil)
            #expect(await blind.getMetadata(.userMetadata(key: "householdID")).value == .text("h"))
            let options = AccessEnablerOptions(metadataKey: try MetadataKey(pem: keys.signerKey))
            let (seeing, _) = try await sandbox.viewer("alice", interface: interface, options: options)
            let metadata = await seeing.getMetadata(.userMetadata(key: "zip"))
            #expect(!metadata.isEncrypted)
            #expect(metadata.value == .list([.text("12345")]))
        }
    }
}

extension MetadataValue {
    /// The value with its lists sorted: they are sets of names.
    fileprivate var sorted: MetadataValue {
        if case .list(let list) = self { return .list(list.sorted { $0.text ?? "" < $1.text ?? "" }) }
        return self
    }
}
