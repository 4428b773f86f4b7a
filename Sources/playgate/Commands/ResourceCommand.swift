// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import MediaResources

struct ResourceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resource",
        abstract: "Show, match and build resources.",
        discussion:
            "A resource is an identifier or a Media RSS fragment; @FILE reads it from a file, - from standard input.",
        subcommands: [Show.self, Match.self, Build.self]
    )

    struct Show: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show the kind and the content of a resource."
        )

        @Argument(help: ArgumentHelp("An identifier, a fragment, @FILE or -.", valueName: "resource"))
        var resource: String

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            let text = try InputFile.argument(resource)
            do throws(ResourceError) {
                let resource = try MediaResource(text)
                Terminal.output.write(json ? Self.json(resource).line + "\n" : Self.text(resource))
            } catch {
                let object = JSON.object([
                    ("kind", .null), ("error", .string(error.code.rawValue)), ("message", .string(error.reason)),
                ])
                if json { Terminal.output.write(object.line + "\n") }
                Terminal.error.write("playgate: not a resource: \(error)\n")
                throw ExitCode.refused
            }
        }

        private static func json(_ resource: MediaResource) -> JSON {
            .object([
                ("kind", .string(resource.kind.rawValue)), ("canonical", .string(resource.canonicalForm)),
                ("channel", resource.kind == .opaque ? .null : .string(resource.channel)),
                ("title", .optional(resource.itemTitle)), ("guid", .optional(resource.guid)),
                ("ratings", .array(resource.ratings.map { JSON($0) })),
            ])
        }

        private static func text(_ resource: MediaResource) -> String {
            var rows = [("kind", resource.kind.rawValue), ("canonical", resource.canonicalForm)]
            if resource.kind != .opaque {
                rows.append(("channel", resource.channel))
                rows.append(("title", resource.itemTitle ?? "none"))
                rows.append(("guid", resource.guid ?? "none"))
                rows += resource.ratings.map { ("rating", "\($0.value) (\($0.scheme))") }
            }
            return rows.map { name, value in
                "\(name)\(String(repeating: " ", count: 11 - name.count))\(value.printable(limit: 10_000))\n"
            }.joined()
        }
    }

    struct Match: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "match",
            abstract: "Check if a token for one resource matches another.",
            discussion: "Exits with 0 if it matches, or prints the reason and exits with 1."
        )

        @Argument(help: ArgumentHelp("The resource of the token.", valueName: "granted"))
        var granted: String

        @Argument(help: ArgumentHelp("The resource to be played.", valueName: "wanted"))
        var wanted: String

        @OptionGroup var matching: MatchingOptions

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            if granted == "-", wanted == "-" { throw ValidationError("only one of the two can be standard input") }
            let mismatch = Self.mismatch(
                granted: try InputFile.argument(granted),
                wanted: try InputFile.argument(wanted),
                options: matching.options
            )
            if json {
                let object = JSON.object([
                    ("match", .bool(mismatch == nil)), ("code", .optional(mismatch?.rawValue)),
                ])
                Terminal.output.write(object.line + "\n")
            } else {
                Terminal.output.write(mismatch.map { "no: \($0.rawValue)\n" } ?? "yes\n")
            }
            if mismatch != nil { throw ExitCode.refused }
        }

        /// Compares as the verifier does. A wanted text that is not a resource still matches equal bytes.
        private static func mismatch(
            granted: String,
            wanted: String,
            options: MediaResource.MatchOptions
        ) -> ResourceMismatch? {
            if let wanted = try? MediaResource(wanted) {
                return wanted.mismatch(withGranted: granted, options: options)
            }
            guard let opaque = try? MediaResource(opaque: wanted) else { return .malformedWanted }
            return opaque.mismatch(withGranted: granted, options: options) == nil ? nil : .malformedWanted
        }
    }

    struct Build: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "build",
            abstract: "Build the Media RSS fragment for a channel or an asset.",
            discussion: "The same options always give the same bytes."
        )

        @Option(help: ArgumentHelp("The channel or network.", valueName: "title"))
        var channel: String

        @Option(help: ArgumentHelp("The title of the asset.", valueName: "title"))
        var title: String?

        @Option(help: ArgumentHelp("The identifier of the asset.", valueName: "guid"))
        var guid: String?

        @Option(
            help: ArgumentHelp(
                "A rating of the asset, such as urn:v-chip=TV-PG; may be repeated.",
                valueName: "scheme=value"
            )
        )
        var rating: [RatingArgument] = []

        func run() throws {
            do throws(ResourceError) {
                let resource = try MediaResource(
                    channel: channel,
                    itemTitle: title,
                    guid: guid,
                    ratings: rating.map(\.rating)
                )
                Terminal.output.write(resource.text + "\n")
            } catch { throw CommandFailure("\(error)") }
        }
    }
}

/// A rating on the command line.
struct RatingArgument: ExpressibleByArgument {
    let rating: Rating

    init?(argument: String) {
        // Split at the last sign: the scheme is a URI and may contain one.
        guard let sign = argument.lastIndex(of: "=") else { return nil }
        let value = argument[argument.index(after: sign)...]
        guard sign > argument.startIndex, !value.isEmpty else { return nil }
        rating = Rating(scheme: String(argument[..<sign]), value: String(value))
    }
}

extension JSON {
    init(_ rating: Rating) {
        self = .object([("scheme", .string(rating.scheme)), ("value", .string(rating.value))])
    }
}
