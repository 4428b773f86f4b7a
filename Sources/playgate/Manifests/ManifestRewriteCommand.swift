// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import Manifests

extension ManifestCommand {
    struct Rewrite: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "rewrite",
            abstract: "Rewrite a manifest so that every reference to a protected host carries a grant.",
            discussion: """
                Reads an HLS playlist or a DASH MPD, and prints it with the grant in every reference to a protected host. \
                All other bytes stay as they are. The output is kept in memory until the manifest is complete: one that is \
                refused prints nothing.

                  playgate manifest rewrite master.m3u8 --grant-file grant.txt \\
                    --url https://cdn.example/live/tnt/master.m3u8 > with-grant.m3u8
                """
        )

        @Argument(
            help: ArgumentHelp("A playlist or an MPD; - is standard input.", valueName: "file"),
            completion: .file()
        )
        var file: String

        @Option(
            help: ArgumentHelp(
                "The URL by which the player asks for the manifest; an old grant is cut from it.",
                valueName: "url"
            )
        )
        var url: String

        @Option(
            help: ArgumentHelp(
                "The URL of the manifest, if the origin has redirected the player's; references are relative to it.",
                valueName: "url"
            )
        )
        var source: String?

        @Option(
            help: ArgumentHelp(
                "The beginning of the player's path that a proxy takes off, such as /watch; --url begins with it.",
                valueName: "path"
            )
        )
        var publicPath = "/"

        @Option(
            help: ArgumentHelp(
                "The grant. Other users of the machine can see it in the list of processes: prefer --grant-file.",
                valueName: "grant"
            )
        )
        var grant: String?

        @Option(
            help: ArgumentHelp("A file with the grant; - is standard input.", valueName: "file"),
            completion: .file()
        )
        var grantFile: String?

        @Option(help: "The place of the grant: the first segment of the path, or a parameter of the query.")
        var mode = ManifestModeArgument.segment

        @Option(
            help: ArgumentHelp(
                "The beginning of the segment, or the name of the parameter; ~cat= and cat by default.",
                valueName: "name"
            )
        )
        var name: String?

        @Option(
            help: ArgumentHelp(
                "A protected host, with its port if that is not the scheme's; may be repeated. The URL's by default.",
                valueName: "host"
            )
        )
        var host: [String] = []

        @Flag(help: "Write no grant into the references of keys of a playlist.")
        var keysWithoutGrant = false

        @Flag(help: "Write the grant once, as a variable, into a playlist of EXT-X-VERSION 8 or later.")
        var defineGrant = false

        @Option(help: "The format; detected by default.")
        var format: ManifestFormatArgument?

        @Option(help: ArgumentHelp("The largest manifest, in bytes.", valueName: "bytes"))
        var maxSize = ManifestLimits().size

        @Option(help: ArgumentHelp("The most references.", valueName: "number"))
        var maxReferences = ManifestLimits().references

        @Flag(help: "Print a refusal as a JSON object on standard output.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            guard (grant == nil) != (grantFile == nil) else {
                throw ValidationError("either --grant or --grant-file is needed")
            }
            if grantFile == "-", file == "-" {
                throw ValidationError("standard input is either the manifest or the grant: give one of them as a file")
            }
            guard maxSize > 0, maxReferences > 0 else {
                throw ValidationError("--max-size and --max-references take a number from 1")
            }
        }

        func run() throws {
            let rules = try readRules()
            let input = try InputFile(file)
            defer { input.close() }
            // A pipe may give less than the first line at once.
            var head: [UInt8] = []
            while head.count < 1024 {
                let piece = try input.read(upTo: Self.piece)
                guard !piece.isEmpty else { break }
                head += piece
            }
            do {
                var output: [UInt8] = []
                switch format?.format ?? ManifestFormat(detecting: head.span) {
                case .hls: try rewrite(with: HLSRewriter(rules: rules), head: head, from: input, to: &output)
                case .dash: try rewrite(with: MPDRewriter(rules: rules), head: head, from: input, to: &output)
                case .steering: try rewrite(with: SteeringRewriter(rules: rules), head: head, from: input, to: &output)
                case .thumbnails:
                    try rewrite(with: ThumbnailRewriter(rules: rules), head: head, from: input, to: &output)
                case nil:
                    throw ManifestFault(
                        .malformed,
                        line: 1,
                        reason: "neither an HLS playlist, a DASH MPD, a steering manifest nor WebVTT"
                    )
                }
                Terminal.output.write(output)
            } catch let fault as ManifestFault {
                if json { Terminal.output.write(fault.json.line + "\n") }
                Terminal.error.write("playgate: \(file == "-" ? "standard input" : file): \(fault)\n")
                throw ExitCode.refused
            }
        }

        private var options: ManifestRules.Options {
            var options: ManifestRules.Options = []
            if keysWithoutGrant { options.insert(.sparingKeys) }
            if defineGrant { options.insert(.definingGrant) }
            return options
        }

        /// The largest piece that is read at once, in bytes.
        private static let piece = 64 * 1024

        private func readRules() throws(CommandFailure) -> ManifestRules {
            let grant = if let grant { grant } else { try InputFile.text(grantFile ?? "-") }
            var limits = ManifestLimits()
            limits.size = maxSize
            limits.references = maxReferences
            // A manifest has at most one line for each byte.
            limits.lines = max(limits.lines, maxSize)
            let mode: ManifestRules.Mode =
                switch mode {
                case .segment: name.map { .segment(prefix: $0) } ?? .segment()
                case .query: name.map { .query(name: $0) } ?? .query()
                }
            do throws(ManifestRulesError) {
                return try ManifestRules(
                    url: url,
                    source: source,
                    publicPath: publicPath,
                    grant: grant,
                    options: options,
                    mode: mode,
                    hosts: host.isEmpty ? nil : host,
                    limits: limits
                )
            } catch {
                throw CommandFailure(error.reason, code: error.code.rawValue)
            }
        }

        private func rewrite<Rewriter: ManifestRewriting & ~Copyable>(
            with rewriter: consuming Rewriter,
            head: [UInt8],
            from input: InputFile,
            to output: inout [UInt8]
        ) throws {
            var piece = head
            while !piece.isEmpty {
                try rewriter.append(piece.span, to: &output)
                piece = try input.read(upTo: Self.piece)
            }
            try rewriter.finish(to: &output)
        }
    }
}

extension ManifestFault {
    /// The refusal for programs.
    fileprivate var json: JSON {
        .object([
            ("error", .string(code.rawValue)), ("line", line.map { .number(Int64($0)) } ?? .null),
            ("message", .string(reason)),
        ])
    }
}
