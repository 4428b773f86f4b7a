// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import ArgumentParser
internal import CommandLineSupport
internal import Encodings
internal import Entitlements
internal import ViewerTools

struct ViewCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "view",
        abstract: "Run the flow of a viewer: provider, login, locks, media token, gate.",
        discussion: """
            Acts as an application of an entitlement service, and prints the outcome of every step. With the sandbox:

                playgate-sandbox serve
                playgate-sandbox view --user alice --password alice --provider SandboxMVPD --resource TNT

            Without --user, prints the URL of the login to open in a browser, and continues when you press Return. With \
            --gate, presents the token to a gate, which consumes it. Exit codes: 0 every step succeeded, 1 refused, \
            2 a step failed.
            """
    )

    @Option(help: ArgumentHelp("The entitlement service.", valueName: "url"))
    var service = "http://127.0.0.1:8070"

    @Option(help: ArgumentHelp("The interface of the service: v1 or v2.", valueName: "version"))
    var interface = InterfaceArgument.v2

    @Option(help: ArgumentHelp("The programmer.", valueName: "id"))
    var requestor = "REF30"

    @Option(
        help: ArgumentHelp(
            "The software statement: @FILE, or - for standard input. Without it, one that only the sandbox accepts.",
            valueName: "statement"
        )
    )
    var statement: String?

    @Option(help: ArgumentHelp("The TV provider; asked for on a terminal.", valueName: "id"))
    var provider: String?

    @Option(help: ArgumentHelp("Log in by the form of the sandbox.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("With --user: the password, @FILE, or - for standard input.", valueName: "password"))
    var password: String?

    @Option(
        name: .customLong("show"),
        help: ArgumentHelp("A resource to preauthorize; may be repeated.", valueName: "resource")
    )
    var shown: [String] = []

    @Option(help: ArgumentHelp("The resource to play: an identifier, a fragment, or @FILE.", valueName: "resource"))
    var resource: String?

    @Option(help: ArgumentHelp("The URL of the gate's API, to present the token to.", valueName: "url"))
    var gate: String?

    @Option(help: ArgumentHelp("The media id in the gate's catalogue; the resource by default.", valueName: "id"))
    var media: String?

    @Option(help: ArgumentHelp("The caller's key at the gate: @FILE, or - for standard input.", valueName: "key"))
    var gateKey: String?

    @Option(help: ArgumentHelp("The file for logins; by default they end with the command.", valueName: "file"))
    var storage: String?

    @Option(help: ArgumentHelp("The URL to which the service redirects at the end of a login.", valueName: "url"))
    var redirectURL = AccessEnablerOptions.documentedRedirectURL

    @Flag(help: "Log out at the end.")
    var logout = false

    @Flag(help: "Print the media token too. Any reader of the output can use it.")
    var printToken = false

    @Flag(help: "Print a JSON object.")
    var json = false

    var answersInJSON: Bool { json }

    func validate() throws {
        if (user == nil) != (password == nil) { throw ValidationError("--user and --password require each other") }
        if gate != nil, resource == nil { throw ValidationError("--gate requires --resource") }
        if json, user == nil, storage == nil {
            throw ValidationError(
                "--json cannot prompt: give --user and --password, or a --storage with a login"
            )
        }
        guard service.hasPrefix("http://") || service.hasPrefix("https://") else {
            throw ValidationError("--service takes a URL that begins with http:// or https://")
        }
    }

    func run() async throws {
        let report = ViewReport(isJSON: json)
        let journey = ViewJourney(
            report: report,
            delegate: ViewDelegate(
                provider: provider,
                login: try user.map { user in (user, try InputFile.argument(password ?? "")) },
                redirectURL: redirectURL,
                isSilent: json
            ),
            requestor: requestor,
            service: ServiceProvider(url: service.withoutSlashAtEnd, interface: interface.value),
            statement: try statement.map { try InputFile.argument($0) } ?? ViewJourney.standInStatement,
            storage: storage.map { FileTokenStorage(path: $0) } ?? MemoryTokenStorage(),
            options: AccessEnablerOptions(redirectURL: redirectURL),
            printsToken: printToken
        )
        let outcome = await journey.run(
            shown: try shown.map { try InputFile.argument($0) },
            resource: try resource.map { try InputFile.argument($0) },
            gate: try gate.map { gate in
                (
                    PlaybackClient(url: gate.withoutSlashAtEnd, key: try gateKey.map { try InputFile.argument($0) }),
                    media
                )
            },
            logsOut: logout
        )
        report.finish()
        switch outcome {
        case .done: break
        case .refused: throw ExitCode.refused
        case .failed: throw ExitCode(2)
        }
    }
}

/// The interface of an entitlement service on the command line.
enum InterfaceArgument: String, ExpressibleByArgument, CaseIterable {
    case v1, v2

    var value: ServiceProvider.Interface { self == .v1 ? .v1 : .v2 }
}

extension String {
    fileprivate var withoutSlashAtEnd: String { hasSuffix("/") ? String(dropLast()) : self }
}
