// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import MediaResources
import MediaTokens
import Platform

struct VerifyCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a media token, or a file of media tokens.",
        discussion: """
            Reads a token from standard input, --token-file or the command line, which other users of the machine can \
            see in the list of processes. With --batch FILE, verifies one token per line, each with an optional tab \
            and its resource, and prints one JSON object per line.

            With --starts CONFIG, verifies an access token of an identity provider, by the section starts of a \
            configuration. Keys are fetched as the gate fetches them. Nothing is consumed.

            A check for playback requires --resource. Authenticity alone does not authorize a playback.
            """
    )

    @OptionGroup var token: TokenArgument

    @Option(
        help: ArgumentHelp(
            "The resource to play: an identifier or a Media RSS fragment; @FILE reads it from a file.",
            valueName: "resource"
        )
    )
    var resource: String?

    @Flag(help: "Check only signature, requestor and time, for diagnosis.")
    var authenticityOnly = false

    @OptionGroup var trust: TrustOptions

    @Option(
        help: ArgumentHelp("Verify one token per line of this file; - is standard input.", valueName: "file"),
        completion: .file()
    )
    var batch: String?

    @Option(
        help: ArgumentHelp(
            "The number of lines to verify at once with --batch; all cores by default.",
            valueName: "number"
        )
    )
    var jobs: Int?

    @Flag(help: "Print a JSON object.")
    var json = false

    var answersInJSON: Bool { json || batch != nil }

    func validate() throws {
        if resource != nil, authenticityOnly {
            throw ValidationError("--resource and --authenticity-only are mutually exclusive")
        }
        if batch == nil, resource == nil, !authenticityOnly {
            throw ValidationError("--resource is missing; add it, or --authenticity-only for diagnosis")
        }
        if batch != nil, token.token != nil || token.tokenFile != nil {
            throw ValidationError("--batch and a token are mutually exclusive")
        }
        if trust.starts != nil, batch != nil || authenticityOnly {
            throw ValidationError("--starts needs --resource, and excludes --batch and --authenticity-only")
        }
        if let jobs, jobs < 1 { throw ValidationError("--jobs takes a number from 1") }
        if jobs != nil, batch == nil { throw ValidationError("--jobs requires --batch") }
    }

    func run() async throws {
        let now = trust.now
        if let file = trust.starts {
            let check = StartVerification(file: file, resource: try Self.resource(resource ?? ""), now: now)
            return try await check.run(try token.readMediaToken(), inJSON: json)
        }
        let verifier = try trust.verifier(at: now)
        let wanted = try resource.map { argument throws(CommandFailure) in try Self.resource(argument) }
        if let batch {
            let job = BatchVerification(
                verifier: verifier,
                resource: wanted,
                authenticityOnly: authenticityOnly,
                fixedTime: trust.at?.time
            )
            guard try await job.run(batch, jobs: jobs) else { throw ExitCode.refused }
            return
        }
        let text = try token.readMediaToken()
        let answer: Verification
        if let wanted {
            answer = verifier.verify(text, for: wanted, at: now)
        } else {
            answer = verifier.authenticate(text, at: now)
        }
        Terminal.output.write(
            json ? JSON.object(JSON.members(answer)).line + "\n" : report(answer, wanted: wanted, at: now)
        )
        guard answer.isValid else { throw answer.reason == .internalFailure ? ExitCode(2) : .refused }
    }

    private static func resource(_ argument: String) throws(CommandFailure) -> MediaResource {
        let text = try InputFile.argument(argument)
        do throws(ResourceError) { return try MediaResource(text) } catch {
            throw CommandFailure("--resource is not a resource: \(error)", code: error.code.rawValue)
        }
    }

    // MARK: For people

    private func report(_ answer: Verification, wanted: MediaResource?, at now: Timestamp) -> String {
        var text = ""
        let failed = answer.reason?.step.flatMap { VerificationStep.allCases.firstIndex(of: $0) }
        for (index, step) in VerificationStep.allCases.enumerated() {
            let name = step.rawValue + String(repeating: " ", count: 11 - step.rawValue.count)
            if answer.reason == .internalFailure || failed.map({ index > $0 }) ?? false {
                text += Style.faint("  · \(name)not checked") + "\n"
            } else if index == failed {
                text += Style.red("  ✘ \(name)\(answer.reason?.meaning ?? "")") + "\n"
            } else if step == .resource, wanted == nil {
                text += Style.yellow("  – \(name)not checked: this does not authorize a playback") + "\n"
            } else {
                text += Style.green("  ✔ ") + name + detail(of: step, in: answer, wanted: wanted) + "\n"
            }
        }
        if let token = answer.token { text += "\n" + token.table }
        let verdict = answer.isValid ? Style.green(answer.status.rawValue) : Style.red(answer.status.rawValue)
        text +=
            "\n" + Style.bold(verdict) + (answer.reason.map { " (\($0.rawValue)) at \(now)" } ?? " at \(now)") + "\n"
        if let reason = answer.reason { text += reason.advice + "\n" }
        return text
    }

    private func detail(of step: VerificationStep, in answer: Verification, wanted: MediaResource?) -> String {
        switch step {
        case .envelope: "a media token"
        case .signature: "made by the trusted key \((answer.key ?? "").printable(limit: 100))"
        case .fields: "complete"
        case .requestor: (answer.token?.requestorID ?? "").printable(limit: 100)
        case .time: answer.token.map { "until \($0.expires)" } ?? ""
        case .resource: (wanted?.text ?? "").printable(limit: 200)
        }
    }
}
