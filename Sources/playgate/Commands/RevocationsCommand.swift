// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import Encodings
import GateAPI
import Platform

struct RevocationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revocations",
        abstract: "Revoke viewers, tokens and playbacks at a running gate, list that, and lift it.",
        subcommands: [List.self, Add.self, Lift.self],
        defaultSubcommand: List.self
    )

    /// The gate, and the key of its caller.
    struct GateOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The gate's configuration file (YAML).", valueName: "file"), completion: .file())
        var config = "/etc/playgate/gate.yaml"

        @Option(
            name: .customLong("key-file"),
            help: ArgumentHelp(
                "A file with the key of a caller with the scope revoke; by default the variable PLAYGATE_KEY, or no key.",
                valueName: "file"
            ),
            completion: .file()
        )
        var keyFile: String?

        @Flag(help: "Print a JSON object.")
        var json = false

        func client() throws(CommandFailure) -> RevocationClient {
            var key = ProcessEnvironment.value("PLAYGATE_KEY")
            if let keyFile {
                do throws(FileFault) { key = try keyFile.contentsOfFile(limit: 4096) } catch {
                    throw CommandFailure("\(keyFile): \(error.reason)")
                }
            }
            do throws(ConfigurationError) {
                return try RevocationClient(
                    configurationFile: config,
                    key: key.flatMap { $0.split(whereSeparator: \.isWhitespace).first.map(String.init) }
                )
            } catch { throw CommandFailure("\(error)", code: "configuration_invalid") }
        }

        /// Prints the answer of the gate. Throws the exit code of a refusal.
        func report(
            at address: String,
            ask: () async throws(ListenerClient.Failure) -> RevocationClient.Answer,
            text: (JSON) -> String
        ) async throws {
            let answer: RevocationClient.Answer
            do throws(ListenerClient.Failure) { answer = try await ask() } catch {
                throw CommandFailure("no gate answers at \(address): \(error.reason)", code: "gate_unreachable")
            }
            if json {
                Terminal.output.write(answer.body.line + "\n")
            } else if answer.isDone {
                Terminal.output.write(text(answer.body))
            } else {
                let facts = ["message", "details", "code"].compactMap { answer.body[$0]?.text }
                Terminal.error.write(Style.red("✘") + " " + facts.joined(separator: "; ") + "\n")
            }
            if !answer.isDone { throw ExitCode.refused }
        }
    }

    /// The subject of a revocation: one of the options.
    struct SubjectOptions: ParsableArguments {
        @Option(help: ArgumentHelp("A provider, with all its viewers.", valueName: "id"))
        var mvpd: String?

        @Option(help: ArgumentHelp("A viewer's session: sessionGUID of its tokens.", valueName: "guid"))
        var session: String?

        @Option(help: ArgumentHelp("A playback: 32 hexadecimal digits, as in the log.", valueName: "id"))
        var playback: String?

        @Option(help: ArgumentHelp("A media token: its SHA-256, as playgate inspect shows it.", valueName: "hex"))
        var fingerprint: String?

        /// The member of the body.
        var members: [JSON.Member] {
            [("mvpd", mvpd), ("sessionGUID", session), ("playback", playback), ("fingerprint", fingerprint)]
                .compactMap { name, value in value.map { (name, .string($0)) } }
        }
    }

    struct List: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "List the newest revocations in force.",
            discussion: "Stores keep neither session GUIDs nor names of providers: lift by the id, or by the subject."
        )

        @OptionGroup var gate: GateOptions

        var answersInJSON: Bool { gate.json }

        func run() async throws {
            let client = try gate.client()
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in try await client.list() }
            ) {
                answer in
                guard case .array(let all)? = answer["revocations"], !all.isEmpty else { return "nothing is revoked\n" }
                return all.map { record in
                    var until = ""
                    if case .number(let end)? = record["until"] {
                        until = Timestamp(millisecondsSince1970: end).iso8601
                    }
                    let reason = record["reason"]?.text.map { ", \($0)" } ?? ""
                    let kind = (record["kind"]?.text ?? "session or mvpd") + reason
                    return "\(record["id"]?.text ?? "")  \(kind)  until \(until)\n"
                }.joined()
            }
        }
    }

    struct Add: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a subject: its tokens are refused, and its grants end within seconds.",
            discussion: """
                An MVPD that no policy of the gate names is refused, because it may be misspelt; --force revokes it all the same, \
                such as the proxy of others.
                """
        )

        @OptionGroup var gate: GateOptions
        @OptionGroup(title: "Subject") var subject: SubjectOptions

        @Flag(help: "Revoke an MVPD that no policy names.")
        var force = false

        var answersInJSON: Bool { gate.json }

        func validate() throws {
            guard subject.members.count == 1 else { throw ValidationError("name one subject, such as --mvpd <id>") }
        }

        func run() async throws {
            let client = try gate.client()
            let members = subject.members + (force ? [("force", .bool(true))] : [])
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in try await client.add(members) },
                text: { "revoked: \($0["revoked"]?.text ?? "")\nid: \($0["id"]?.text ?? "")\n" }
            )
        }
    }

    struct Lift: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "Lift a revocation: the subject may start again."
        )

        @OptionGroup var gate: GateOptions
        @OptionGroup(title: "Subject") var subject: SubjectOptions

        @Option(
            help: ArgumentHelp("The id of the revocation, as the list has it, in place of a subject.", valueName: "hex")
        )
        var id: String?

        var answersInJSON: Bool { gate.json }

        func validate() throws {
            guard subject.members.count + (id == nil ? 0 : 1) == 1 else {
                throw ValidationError("name one subject or an id, such as --mvpd <id>")
            }
        }

        func run() async throws {
            let client = try gate.client()
            let (members, id) = (subject.members, id)
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in
                    if let id { return try await client.lift(id: id.percentEncoded) }
                    return try await client.lift(members)
                },
                text: { "lifted: \($0["id"]?.text ?? "")\n" }
            )
        }
    }
}
