// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import ArgumentParser
internal import CommandLineSupport
internal import ViewerTools

/// The options of `playgate-sandbox view` for the login and the logout.
struct LoginOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The TV provider; asked for on a terminal.", valueName: "id"))
    var provider: String?

    @Option(help: ArgumentHelp("Log in by the form of the sandbox.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("With --user: the password, @FILE, or - for standard input.", valueName: "password"))
    var password: String?

    @Flag(help: "Log in by the platform's single sign-on, with the sandbox as the platform (flow D). Requires --user.")
    var platformSSO = false

    @Option(help: ArgumentHelp("With --platform-sso: a provider of the picker; may be repeated.", valueName: "id"))
    var filter: [String] = []

    @Option(help: ArgumentHelp("With --filter: a provider to show first; may be repeated.", valueName: "id"))
    var featured: [String] = []

    @Flag(help: "Log in on a second screen, with a code (flow E). With --user, the command is that screen too.")
    var secondScreen = false

    @Flag(help: "Log in although a viewer is logged in.")
    var force = false

    @Option(help: ArgumentHelp("Data for the service, as promotional access requires.", valueName: "name=value"))
    var data: [DataArgument] = []

    @Flag(help: "Log out at the end (flows H and I).")
    var logout = false

    func validate() throws {
        if (user == nil) != (password == nil) { throw ValidationError("--user and --password require each other") }
        if platformSSO, user == nil { throw ValidationError("--platform-sso requires --user") }
        if !filter.isEmpty, !platformSSO { throw ValidationError("--filter requires --platform-sso") }
        if !featured.isEmpty, filter.isEmpty { throw ValidationError("--featured requires --filter") }
    }

    /// The user and the password, if there are any.
    func credentials() throws -> (user: String, password: String)? {
        try user.map { user in (user, try InputFile.argument(password ?? "")) }
    }

    /// The providers of the platform's picker, if they are named.
    var providerFilter: ProviderFilter? {
        filter.isEmpty ? nil : ProviderFilter(providers: filter, featured: featured)
    }
}

/// The options of `playgate-sandbox view` for resources and playback.
struct MediaOptions: ParsableArguments {
    @Option(
        name: .customLong("show"),
        help: ArgumentHelp("A resource to preauthorize; may be repeated.", valueName: "resource")
    )
    var preauthorized: [String] = []

    @Option(help: ArgumentHelp("The resource to play: an identifier, a fragment, or @FILE.", valueName: "resource"))
    var resource: String?

    @Option(
        help: ArgumentHelp(
            "The media in the gate's catalogue; the resource by default. Without --resource, the catalogue says if the "
                + "media is protected, and by which resource.",
            valueName: "id"
        )
    )
    var media: String?

    @Option(help: ArgumentHelp("The URL of the gate's API, to play at.", valueName: "url"))
    var gate: String?

    @Option(help: ArgumentHelp("The caller's key at the gate: @FILE, or - for standard input.", valueName: "key"))
    var gateKey: String?

    @Option(
        help: ArgumentHelp(
            "Metadata to print: authentication or authorization (their expiry), device, or a name such as zip; may be "
                + "repeated.",
            valueName: "name"
        )
    )
    var metadata: [String] = []

    @Flag(help: "Print the media token too. Any reader of the output can use it.")
    var printToken = false

    func validate() throws {
        if gate != nil, resource == nil, media == nil { throw ValidationError("--gate requires --media or --resource") }
        if media != nil, gate == nil { throw ValidationError("--media requires --gate") }
    }

    /// The client of the gate, if there is one.
    func client() throws -> PlaybackClient? {
        try gate.map { PlaybackClient(url: $0.withoutSlashAtEnd, key: try gateKey.map { try InputFile.argument($0) }) }
    }
}

/// A name and a value on the command line.
struct DataArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else { return nil }
        name = String(argument[..<equals])
        value = String(argument[argument.index(after: equals)...])
    }
}

/// The interface of an entitlement service on the command line.
enum InterfaceArgument: String, ExpressibleByArgument, CaseIterable {
    case v1, v2

    var value: ServiceProvider.Interface { self == .v1 ? .v1 : .v2 }
}

extension String {
    /// The URL without a slash at its end.
    var withoutSlashAtEnd: String { hasSuffix("/") ? String(dropLast()) : self }
}
