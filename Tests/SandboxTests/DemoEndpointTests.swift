// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `What anybody may see` {
    private static let demoFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("examples/demo-tv").path

    @Test(
        "is there, with its type",
        arguments: [
            ("/", "text/html;charset=UTF-8"), ("/demo.js", "text/javascript;charset=UTF-8"),
            ("/stream.js", "text/javascript;charset=UTF-8"), ("/tokens.js", "text/javascript;charset=UTF-8"),
            ("/demo.css", "text/css;charset=UTF-8"),
            ("/sandbox.css", "text/css;charset=UTF-8"), ("/sandbox/demo.json", "application/json;charset=UTF-8"),
            ("/sandbox/keys", "application/x-pem-file"), ("/sandbox/errors", "text/html;charset=UTF-8"),
        ]
    )
    func page(path: String, type: String) async throws {
        try await InProcessSandbox.with(pages: try ApplicationPages(folder: Self.demoFolder)) { (sandbox) throws in
            let answer = try sandbox.get(path)
            #expect(answer.status == 200)
            #expect(answer.headers["content-security-policy"] != nil || !type.hasPrefix("text/"))
            #expect(answer.headers["content-type"] == type)
            #expect(answer.headers["playgate-sandbox"] == "stand-in")
        }
    }

    @Test func `has no page that the folder does not have`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("index.html", contents: "<p>start</p>")
        try folder.write("secret.txt", contents: "secret")
        try folder.write(".hidden.html", contents: "secret")
        try folder.write("two words.html", contents: "secret")
        try folder.write("{name}.html", contents: "secret")
        try folder.write(":name.html", contents: "secret")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: folder.file("link.html"), withDestinationPath: folder.file("secret.txt"))
        try files.createDirectory(atPath: folder.file("vendor.js"), withIntermediateDirectories: false)
        try await InProcessSandbox.with(pages: try ApplicationPages(folder: folder.path)) { (sandbox) throws in
            #expect(try sandbox.get("/").body == "<p>start</p>")
            for path in [
                "/secret.txt", "/.hidden.html", "/link.html", "/vendor.js", "/two%20words.html", "/other.html",
                "/..%2Findex.html",
                "/../etc/passwd",
                "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/./index.html", "/index.html/..", "/%7Bname%7D.html",
            ] {
                let answer = try sandbox.get(path)
                #expect(answer.status == 404, "\(path)")
                #expect(!answer.body.contains("secret"))
            }
        }
        try await InProcessSandbox.with { (sandbox) throws in
            for path in ["/", "/demo.js", "/index.html"] { #expect(try sandbox.get(path).status == 404) }
        }
    }

    @Test func `is refused at the start if the folder cannot be served`() throws {
        let folder = try TemporaryFolder()
        func reason() -> String? {
            #expect(throws: SandboxError.self) { try ApplicationPages(folder: folder.path) }?.description
        }
        #expect(reason()?.contains("has no index.html") == true)
        try folder.write("index.html", contents: String(repeating: " ", count: 1 << 20 + 1))
        #expect(reason()?.contains("is larger than") == true)
        try folder.write("index.html", contents: "")
        _ = try ApplicationPages(folder: folder.path)
        try folder.write("sandbox.css", contents: "")
        #expect(reason()?.contains("the service's own") == true)
        #expect(throws: SandboxError.self) { try ApplicationPages(folder: folder.file("none")) }
    }

    @Test func `is all that HEAD asks about`() async throws {
        try await InProcessSandbox.with(pages: try ApplicationPages(folder: Self.demoFolder)) { (sandbox) throws in
            for path in [
                "/", "/demo.js", "/stream.js", "/sandbox.css", "/sandbox/demo.json", "/sandbox/keys", "/sandbox/errors",
            ] {
                #expect(try sandbox.send("HEAD", path: path).status == 200, "\(path)")
            }
            let device = try sandbox.device()
            try device.logIn("alice")
            for path in [
                "/api/v2/REF30/logout/SandboxMVPD?redirectUrl=adobepass%3A%2F%2Fios.app", "/sandbox/control",
                "/adobe-services/logout?requestor_id=REF30&mso_id=SandboxMVPD&device_id=\(device.name)",
            ] {
                let answer = try sandbox.send("HEAD", path: path, headers: device.headers)
                #expect(answer.status == 405, "\(path)")
                #expect(answer.headers["allow"] == "GET")
            }
            #expect(try device.token(for: "TNT") != nil)
        }
    }

    @Test func `is for those who ask by a name of this machine, or one that is configured`() async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "mediaToken:",
            with: "hosts: [sp.auth.adobe.com]\nmediaToken:"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            for host in ["evil.example", "evil.example:8070", "gate", "127.0.0.1.evil.example", "", "auth.adobe.com"] {
                for path in ["/", "/sandbox/keys", "/api/v1/config/REF30", "/nothing"] {
                    let answer = try sandbox.send("GET", path: path, host: host)
                    #expect(answer.status == 421, "\(host)")
                    #expect(answer.headers["content-type"] == "text/plain;charset=UTF-8")
                }
            }
            for host in ["localhost:1", "127.0.0.1", "[::1]:80", "SP.auth.adobe.com", "sp.auth.adobe.com:443"] {
                #expect(try sandbox.send("GET", path: "/sandbox/keys", host: host).status == 200, "\(host)")
            }
        }
    }

    @Test func `of the demo is enough to log in and play`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let demo = try sandbox.get("/sandbox/demo.json").json
            #expect(demo["requestor"] as? String == "REF30")
            let items = try #require(demo["items"] as? [[String: Any]])
            #expect(items.count == 6)
            let bearer = try sandbox.bearer(statement: demo["softwareStatement"] as? String ?? "")
            let device = TestDevice(sandbox: sandbox, name: "browser", bearer: bearer)
            try device.logIn("alice")
            for item in items where item["protected"] as? Bool == true {
                let resource = try #require(item["resource"] as? String)
                #expect(try device.token(for: resource) != nil, "\(resource)")
            }
        }
    }

    @Test func `inventory G: the certificate is the one that verifies`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            #expect(try sandbox.get("/sandbox/keys").body == sandbox.keys.certificate)
        }
    }
}
