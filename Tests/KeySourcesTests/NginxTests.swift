// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Service
    import Foundation
    import GateTestSupport
    import Keys
    import Platform
    import Testing

    @testable import KeySources

    /// Fetching from a real nginx, with certificates of the openssl command line.
    @Suite(
        .enabled(
            if: Requirement.areInstalled("nginx", "openssl"),
            "nginx or openssl is not installed: run scripts/setup test"
        )
    )
    struct `Fetching a key set from nginx` {
        private static func certificate(by openssl: String, in folder: TemporaryFolder, for name: String) throws {
            let run = try CommandRun(
                openssl,
                arguments: [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
                    "subjectAltName=DNS:\(name)", "-keyout", folder.file("\(name).key"), "-out",
                    folder.file("\(name).pem"),
                ]
            )
            #expect(run.status == 0, "\(run.error)")
        }

        /// Starts nginx, with the set in `jwks.json` for two names, and returns it with its port.
        private static func start(_ nginx: String, in folder: TemporaryFolder) throws -> (Program, Int)? {
            try folder.write("jwks.json", contents: SetSample.set(["a"]))
            for _ in 0..<10 {
                let port = Int.random(in: 20_000..<60_000)
                let servers = ["keys.example", "other.example"].map { name in
                    """
                    server {
                        listen 127.0.0.1:\(port) ssl;
                        server_name \(name);
                        ssl_certificate \(folder.file("\(name).pem"));
                        ssl_certificate_key \(folder.file("\(name).key"));
                        root \(folder.path);
                        types { application/json json; }
                        location /moved { return 302 https://keys.example/jwks.json; }
                        add_header Cache-Control "max-age=3600";
                    }
                    """
                }
                let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map { "\($0)_temp_path \(folder.path);" }.joined(separator: " ")
                let file = try folder.write(
                    "nginx.conf",
                    contents: """
                        daemon off; pid \(folder.file("pid")); error_log stderr;
                        events { }
                        http { access_log off; \(temporary) \(servers.joined(separator: "\n")) }
                        """
                )
                let arguments = ["-p", folder.path, "-c", file, "-e", "stderr"]
                let program = try Program(nginx, arguments: arguments, log: folder.file("log"))
                let isUp = eventually {
                    !program.isRunning || (try? HTTPConnection("127.0.0.1:\(port)")) != nil
                }
                if isUp, program.isRunning { return (program, port) }
            }
            return nil
        }

        private static func fetcher(_ authorities: [UInt8]?) throws -> HTTPSKeySetFetcher {
            try HTTPSKeySetFetcher(
                try PermittedAddresses(["127.0.0.1"]),
                authorities: authorities,
                limits: .unreached
            ) { _ in ["127.0.0.1"] }
        }

        @Test func `verifies the certificate, and gets the set, its freshness and its tag`() async throws {
            let nginx = try #require(Program.installed("nginx"))
            let openssl = try #require(Program.installed("openssl"))
            let folder = try TemporaryFolder()
            for name in ["keys.example", "other.example"] {
                try Self.certificate(by: openssl, in: folder, for: name)
            }
            let (program, port) = try #require(try Self.start(nginx, in: folder))
            defer {
                program.signal(SIGTERM)
                _ = try? program.waitUntilExit()
            }
            func address(of name: String, path: String = "jwks.json") throws -> KeySetAddress {
                try KeySetAddress("https://\(name):\(port)/\(path)")
            }
            let good = try Self.fetcher(try folder.bytes("keys.example.pem"))
            let first = await good.fetch(KeySetRequest(try address(of: "keys.example")))
            let state = SetSample.state()
            #expect(state.next(at: SetSample.time) == .fetch(entityTag: nil))
            #expect(state.finish(first, at: SetSample.time, spread: 0) == .fetched)
            #expect(state.ids == ["a"] && state.wait(from: SetSample.time) == 2_880_000)
            let tag = try #require(state.entityTag)
            let again = await good.fetch(KeySetRequest(try address(of: "keys.example"), entityTag: tag))
            #expect(try again.get().status == 304)
            let moved = await good.fetch(KeySetRequest(try address(of: "keys.example", path: "moved")))
            #expect(try moved.get().status == 302)
            // Another name's certificate, and one that nobody in the system's list signed.
            let other = await good.fetch(KeySetRequest(try address(of: "other.example")))
            #expect(other == .failure(.tlsFailed))
            let usual = try await Self.fetcher(nil).fetch(KeySetRequest(try address(of: "keys.example")))
            #expect(usual == .failure(.tlsFailed))
        }
    }
#endif
