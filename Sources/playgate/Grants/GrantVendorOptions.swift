// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import VendorTokens

/// The options for the key and the settings of a vendor's format.
struct GrantVendorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A file with the secret that the edge has; - is standard input.", valueName: "file"),
        completion: .file()
    )
    var secret: String?

    @Option(help: "The form of the secret; that of the vendor by default.")
    var secretForm: SecretFormArgument?

    @Option(
        help: ArgumentHelp("A private key in PEM, for CloudFront and Media CDN.", valueName: "file"),
        completion: .file()
    )
    var privateKey: String?

    @Option(
        help: ArgumentHelp(
            "A setting of the format, as in docs/reference/vendors.md; may be repeated.",
            valueName: "name=value"
        )
    )
    var set: [SettingArgument] = []

    /// The name of an option that was given; `nil` if none was.
    var given: String? {
        if secret != nil { return "--secret" }
        if secretForm != nil { return "--secret-form" }
        if privateKey != nil { return "--private-key" }
        return set.isEmpty ? nil : "--set"
    }

    func validate() throws {
        if secret != nil, privateKey != nil {
            throw ValidationError("--secret and --private-key are mutually exclusive")
        }
        if secretForm != nil, secret == nil { throw ValidationError("--secret-form requires --secret") }
        let names = set.map(\.name)
        guard Set(names).count == names.count else { throw ValidationError("--set names one setting twice") }
    }

    /// The settings by name.
    var settings: [String: String] { Dictionary(set.map { ($0.name, $0.value) }) { $1 } }

    /// Throws if the key is missing.
    func demandKey(_ format: VendorFormat) throws {
        let options =
            format.secretForm == nil ? "--private-key" : format == .mediaCDN ? "--secret or --private-key" : "--secret"
        guard format.secretForm == nil ? privateKey != nil : secret != nil || format == .mediaCDN && privateKey != nil
        else { throw ValidationError("--format \(format.rawValue) requires \(options)") }
    }

    /// Reads the key.
    func key(_ format: VendorFormat) throws(CommandFailure) -> VendorKey {
        do throws(SigningError) {
            if let privateKey {
                let text = try Self.read(privateKey)
                return .privateKey(try SigningPrivateKey(pem: Array(text.utf8)))
            }
            let text = try Self.read(secret ?? "-")
            return .secret(try SigningSecret(text, form: secretForm?.form ?? format.secretForm ?? .text))
        } catch {
            // A file that cannot be read says so itself.
            if let name = error.value, error.code == .missing { _ = try InputFile.text(name) }
            throw CommandFailure("the key cannot be used: \(error.words(format))", code: error.code.rawValue)
        }
    }

    private static func read(_ path: String) throws(SigningError) -> String {
        do { return try InputFile.text(path) } catch { throw SigningError(.missing, value: path) }
    }
}

/// The options for a new grant in a vendor's format.
struct GrantVendorScopeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The file that the player starts with, below --scope.", valueName: "path"))
    var file: String?

    @Flag(help: "Sign for the file alone instead of the folder.")
    var single = false

    @Option(help: ArgumentHelp("The other parameters of the file's URL, without ?.", valueName: "query"))
    var query: String?

    @Option(
        help: ArgumentHelp("The address or network of the client that the token is bound to.", valueName: "network")
    )
    var client: NetworkArgument?

    @Option(
        help: ArgumentHelp("The id of the session that the token shows; a random one with --session.", valueName: "id")
    )
    var sessionID: String?

    /// The name of an option that was given; `nil` if none was.
    var given: String? {
        if file != nil { return "--file" }
        if single { return "--single" }
        if query != nil { return "--query" }
        if client != nil { return "--client" }
        return sessionID == nil ? nil : "--session-id"
    }

    func validate() throws {
        if file == nil, single || query != nil { throw ValidationError("--single and --query require --file") }
    }
}

/// A form of secrets on the command line.
enum SecretFormArgument: String, ExpressibleByArgument, CaseIterable {
    case text, hex, base64

    var form: SigningSecret.Form {
        switch self {
        case .text: .text
        case .hex: .hexadecimal
        case .base64: .base64
        }
    }
}

/// A name and a value.
struct SettingArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let mark = argument.utf8.firstIndex(of: UInt8(ascii: "=")), mark > argument.startIndex else { return nil }
        name = String(argument[..<mark])
        value = String(argument[argument.utf8.index(after: mark)...])
    }
}

extension SigningError {
    /// The problem and its remedy, for people.
    func words(_ format: VendorFormat) -> String {
        let value = (value ?? "value").printable(limit: 80)
        return switch code {
        case .key: "\(format.rawValue) takes another type, form or size of key: see docs/reference/vendors.md"
        case .weak: "\(value) is weak (MD5 or SHA-1); --set weak=true accepts it"
        case .character:
            "\(value) has \(printableCharacter), which \(format.rawValue) cannot hold there: nothing is escaped silently"
        case .missing: "\(value) is missing"
        case .value: "\(value) is not one that \(format.rawValue) has: see docs/reference/vendors.md"
        case .setting: "\(format.rawValue) has no setting \(value): see docs/reference/vendors.md"
        case .scope:
            "\(value) is no path in one reading, or not of the kind that \(format.rawValue) signs: see docs/reference/vendors.md"
        case .times: "--at and --life give no times that \(format.rawValue) can say"
        case .template: "the template is not complete, or has an unknown placeholder: \(value)"
        case .size: "the token would have more than 4,096 bytes"
        @unknown default: "the token cannot be issued"
        }
    }

    private var printableCharacter: String {
        guard let character else { return "a character" }
        return 0x21..<0x7F ~= character.value
            ? "'\(character)'" : "U+\(String(character.value, radix: 16, uppercase: true))"
    }
}
