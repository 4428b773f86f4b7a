// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ArgumentParser
internal import CommandLineSupport
internal import ConfigurationReading
internal import Platform
internal import Sandbox

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the sandbox.",
        discussion: """
            Prints its address on standard error once it listens: "playgate-sandbox: listening on http://HOST:PORT". \
            On SIGTERM and SIGINT it finishes requests in flight and exits with 0.
            """
    )

    @Option(
        help: ArgumentHelp("The configuration file (YAML); see: playgate-sandbox config", valueName: "file"),
        completion: .file()
    )
    var config: String?

    @Option(
        help: ArgumentHelp("The file that keeps logins across restarts; in memory by default.", valueName: "file"),
        completion: .file()
    )
    var state: String?

    @Option(
        help: ArgumentHelp(
            "The folder with signer.pem and signer.key, as `playgate keys new` creates it; new keys in memory by default.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var keys: String?

    @Option(help: ArgumentHelp("The address to listen on; port 0 is any free port.", valueName: "host:port"))
    var listen = "127.0.0.1:8070"

    @Option(
        help: ArgumentHelp(
            "The folder of a web application to serve at /, such as examples/demo-tv.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var pages: String?

    @Flag(help: "Accept other machines too. Every client there can log in as any user.")
    var allowRemote = false

    @Flag(help: "Log each request on standard error: method, path and status, without ids and secrets.")
    var verbose = false

    func validate() throws {
        guard let address = ListenAddress(listen) else {
            throw ValidationError("--listen takes HOST:PORT, such as 127.0.0.1:8070 or [::1]:8070")
        }
        guard address.isLoopback || allowRemote else {
            throw ValidationError("\(listen) is not a loopback address; add --allow-remote to accept other machines")
        }
    }

    func run() async throws {
        guard let address = ListenAddress(listen) else { return }
        do {
            let configuration = try config.map { try SandboxConfiguration(file: $0) } ?? SandboxConfiguration()
            let server = try SandboxServer(
                configuration,
                keys: signingKeys(),
                state: state.map { .file($0) } ?? .memory,
                pages: try pages.map { try ApplicationPages(folder: $0) },
                isVerbose: verbose
            )
            try await server.run(host: address.host, port: address.port) { port in
                let host = address.host.contains(":") ? "[\(address.host)]" : address.host
                Terminal.error.write("playgate-sandbox: listening on http://\(host):\(port)\n")
            }
        } catch let error as ConfigurationError {
            throw CommandFailure("\(error)")
        } catch let error as SandboxError {
            throw CommandFailure("\(error)")
        }
    }

    private func signingKeys() throws -> SandboxKeys {
        if let keys { return try SandboxKeys(folder: keys, at: .now()) }
        Terminal.error.write(
            "playgate-sandbox: no --keys: new keys in memory; their certificate is at /sandbox/keys\n"
        )
        return try SandboxKeys.development(at: .now())
    }
}

/// The address of the listener.
struct ListenAddress: Sendable {
    let host: String
    let port: Int

    /// Parses `HOST:PORT` or `[HOST]:PORT`; `nil` if it is neither.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = Int(port)
    }

    /// True if only this machine can connect to the address.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
