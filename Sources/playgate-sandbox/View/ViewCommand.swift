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
            --gate, presents the token to a gate, which consumes it; unprotected media plays without a login and a token. \
            If a stored login has ended, logs in again.

            Exit codes: 0 every step succeeded, 1 refused or failed, 2 the service or the gate did not respond, 64 wrong \
            usage.
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

    @Option(help: ArgumentHelp("The visitor's id in the programmer's analytics.", valueName: "id"))
    var visitorID: String?

    @Option(
        help: ArgumentHelp("The file for logins; by default they end with the command.", valueName: "file"),
        completion: .file()
    )
    var storage: String?

    @Option(help: ArgumentHelp("The URL to which the service redirects at the end of a login.", valueName: "url"))
    var redirectURL = AccessEnablerOptions.documentedRedirectURL

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup(title: "Login") var login: LoginOptions

    @OptionGroup(title: "Media") var viewing: MediaOptions

    var answersInJSON: Bool { json }

    /// A software statement that the sandbox accepts: without a valid signature, and without data of a real application.
    private static let standInStatement = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJwbGF5Z2F0ZSB2aWV3In0.c3RhbmQtaW4"

    func validate() throws {
        if json, login.user == nil, storage == nil, viewing.media == nil {
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
        let plan = try plan()
        let credentials = try login.credentials()
        let picker = ProviderPicker(provider: login.provider, isSilent: json)
        let delegate = ViewDelegate(
            report: report,
            picker: picker,
            login: credentials,
            redirectURL: redirectURL,
            secondScreen: { [requestor, redirectURL] code, provider in
                plan.service.secondScreen(code, requestor: requestor, provider: provider, redirectURL: redirectURL)
            }
        )
        let platform = credentials.map { credentials in
            SandboxPlatform(service: plan.service.url, login: credentials) { mvpds in
                picker.choose(mvpds, other: "another provider")
            }
        }
        let enabler = AccessEnabler(
            softwareStatement: try statement.map { try InputFile.argument($0) } ?? Self.standInStatement,
            options: options,
            storage: storage.map { FileTokenStorage(path: $0) } ?? MemoryTokenStorage(),
            delegate: delegate,
            platform: login.platformSSO ? platform : nil
        )
        delegate.use(enabler)
        let outcome = await ViewJourney(plan: plan, report: report, delegate: delegate, enabler: enabler).run()
        report.finish()
        if outcome != .done { throw ExitCode(outcome.rawValue) }
    }

    /// The options of the client.
    var options: AccessEnablerOptions {
        // The command does not delay its own second screen.
        let interval = Duration.seconds(login.user == nil ? 5 : 1)
        return AccessEnablerOptions(
            visitorID: visitorID,
            redirectURL: redirectURL,
            login: login.secondScreen ? .secondScreen(askingEvery: interval) : .browser,
            isDeviceIDAvailable: viewing.metadata.contains("device")
        )
    }

    private func plan() throws -> ViewPlan {
        ViewPlan(
            requestor: requestor,
            service: ServiceProvider(url: service.withoutSlashAtEnd, interface: interface.value),
            data: Dictionary(login.data.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            filter: login.providerFilter,
            forcesLogin: login.force,
            preauthorized: try viewing.preauthorized.map { try InputFile.argument($0) },
            metadata: viewing.metadata,
            resource: try viewing.resource.map { try InputFile.argument($0) },
            media: viewing.media,
            gate: try viewing.client(),
            printsToken: viewing.printToken,
            logsOut: login.logout
        )
    }
}

extension ServiceProvider {
    /// Returns the URL at which a browser on another screen logs in with a code.
    fileprivate func secondScreen(
        _ code: String,
        requestor: String,
        provider: String,
        redirectURL: String
    ) -> String {
        let (code, requestor) = (code.percentEncoded, requestor.percentEncoded)
        return switch interface {
        case .v2: "\(url)/api/v2/authenticate/\(requestor)/\(code)"
        case .v1:
            """
            \(url)/api/v1/authenticate?reg_code=\(code)&requestor_id=\(requestor)&mso_id=\(provider.percentEncoded)\
            &noflash=true&redirect_url=\(redirectURL.percentEncoded)
            """
        }
    }
}
