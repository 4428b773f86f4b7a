// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import GateTestSupport
import Platform
import Testing

@testable import AccessEnabler

@Suite struct `Storage of logins` {
    private static var records: TokenRecords {
        var records = TokenRecords()
        records.device = "0011"
        records.requestors["REF30"] = .init(
            provider: "A",
            viewers: ["A": .init(userID: "u", expires: 1, kind: "regular", service: "http://a")],
            authorizations: ["A": [.init(resource: "TNT", expires: 2)]]
        )
        return records
    }

    @Test("what is kept comes back; the file is for its owner alone")
    func file() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("logins")
        let storage = FileTokenStorage(path: path)
        #expect(try await storage.load() == TokenRecords())
        try await storage.save(Self.records)
        #expect(try await FileTokenStorage(path: path).load() == Self.records)
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        #expect(facts[.posixPermissions] as? Int == 0o600)
        try await storage.save(TokenRecords())
        #expect(try await storage.load() == TokenRecords())
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["logins"])
        #expect("\(Self.records)" == "TokenRecords(1 requestors)")
    }

    /// A change to the file, and the expected error code.
    private static let damages: [(name: String, TokenStorageError.Code, @Sendable (String) throws -> Void)] = [
        ("another text", .damaged, { try Data("hello".utf8).write(to: URL(fileURLWithPath: $0)) }),
        ("nothing", .damaged, { try Data().write(to: URL(fileURLWithPath: $0)) }),
        (
            "a later end", .damaged,
            { path in
                let text = try String(contentsOfFile: path, encoding: .utf8)
                let changed = text.replacingOccurrences(of: #""expires":1,"#, with: #""expires":9,"#)
                try #require(changed != text)
                // Written in place, so that the mode is kept.
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                file.write(Data(changed.utf8))
                try file.close()
            }
        ),
        ("readable by others", .exposed, { setMode(of: $0, to: 0o644) }),
        (
            "a link", .exposed,
            { path in
                try FileManager.default.moveItem(atPath: path, toPath: path + "2")
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "2")
            }
        ),
        (
            "a folder", .exposed,
            { path in
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        ),
    ]

    @Test("a file that was tampered with is not believed", arguments: damages.indices)
    func damaged(index: Int) async throws {
        let (name, code, damage) = Self.damages[index]
        let folder = try TemporaryFolder()
        let path = folder.file("logins")
        try await FileTokenStorage(path: path).save(Self.records)
        setMode(of: path, to: 0o600)
        try damage(path)
        if code == .damaged { setMode(of: path, to: 0o600) }
        await #expect(throws: TokenStorageError.self, "\(name)") { try await FileTokenStorage(path: path).load() }
        do { _ = try await FileTokenStorage(path: path).load() } catch { #expect(error.code == code, "\(name)") }
        // With CLEAR, the client has no records, and a new login replaces them.
        let clearing = FileTokenStorage(path: path, integrityCheck: .clear)
        #expect(try await clearing.load() == TokenRecords())
    }

    @Test("a folder that is not there: the client goes on in memory, and says so")
    func volatile() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let storage = FileTokenStorage(path: "/nonexistent/logins")
            let enabler = await sandbox.client(application, storage: storage)
            #expect(await enabler.getAuthorization("TNT").token != nil)
            await enabler.finishCallbacks()
            #expect(application.events("status").contains("status LS011 warning"))
        }
    }

    @Test("logins outlive a client, by requestor and provider")
    func outlives() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("logins")
        try await SandboxFixture.with { sandbox in
            let first = await sandbox.client(
                Application(.provider("SandboxMVPD"), user: "alice"),
                storage: FileTokenStorage(path: path)
            )
            _ = await first.getAuthentication()
            let second = await sandbox.client(storage: FileTokenStorage(path: path))
            #expect(await second.checkAuthentication().viewer?.mvpd == "SandboxMVPD")
            #expect(await second.checkAuthorization("TNT").token != nil)
            let other = await sandbox.client(requestor: "QUIET", storage: FileTokenStorage(path: path))
            #expect(await other.checkAuthentication().viewer == nil)
        }
    }

    @Test("inventory 1, flow B: the documented initializer keeps logins in a file of the platform's folder for state")
    func standard() async throws {
        let path = { (environment: [String: String]) in
            FileTokenStorage.standardPath(for: "statement") { environment[$0] }
        }
        #if !canImport(Darwin)
            #expect(path(["XDG_STATE_HOME": "/s", "HOME": "/h"])?.hasPrefix("/s/playgate/logins-") == true)
        #endif
        let home = try #require(path(["HOME": "/h", "XDG_STATE_HOME": "relative"]))
        #expect(home.hasPrefix("/h/") && home.hasSuffix(".json"))
        #expect(path([:]) == nil)
        let folder = try TemporaryFolder()
        let own = folder.file("a/b/logins.json")
        let storage = FileTokenStorage(path: own, integrityCheck: .clear, createsFolder: true)
        try await storage.save(Self.records)
        #expect(try await FileTokenStorage(path: own).load() == Self.records)
        let modes = try [own, folder.file("a/b"), folder.file("a")].map { path in
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(modes == [0o600, 0o700, 0o700])
    }

    @Test("authorizations are bounded, and of one login")
    func bounded() {
        var records = TokenRecords()
        let now = Timestamp(millisecondsSince1970: 0)
        for number in 1...400 {
            records.remember(
                grantOf: "R",
                mvpd: "A",
                for: "resource-\(number)",
                until: .init(millisecondsSince1970: Int64(number)),
                at: now
            )
        }
        #expect(records.requestors["R"]?.authorizations["A"]?.count == TokenRecords.maximumGrants)
        #expect(records.grant(of: "R", mvpd: "A", for: "resource-400", at: now) != nil)
        #expect(records.grant(of: "R", mvpd: "A", for: "resource-1", at: now) == nil)
        #expect(records.grant(of: "R", mvpd: "A", for: "resource-400", at: .init(millisecondsSince1970: 400)) == nil)
        // Two Unicode spellings of a character are two resources.
        records.remember(grantOf: "R", mvpd: "A", for: "caf\u{E9}", until: .init(millisecondsSince1970: 9), at: now)
        #expect(records.grant(of: "R", mvpd: "A", for: "cafe\u{301}", at: now) == nil)
        records.forgetViewer(of: "R", mvpd: "A")
        #expect(records.grant(of: "R", mvpd: "A", for: "resource-400", at: now) == nil)
    }
}

private func setMode(of path: String, to mode: Int) {
    try? FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}
