// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import MediaResources

struct CatalogueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalogue",
        abstract: "Read a catalogue of protected media.",
        subcommands: [Read.self]
    )

    struct Read: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "read",
            abstract: "List the resources of a Media RSS feed.",
            discussion: """
                Prints a line for each item, with the reason if it is refused. Exits with 1 if items are refused, and with \
                2 if the feed cannot be read to its end.
                """
        )

        @Argument(help: ArgumentHelp("The feed; - is standard input.", valueName: "feed"))
        var feed: String

        @Option(help: ArgumentHelp("The channel; the title of the feed by default.", valueName: "title"))
        var channel: String?

        @Flag(help: "Print one JSON object per line.")
        var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            let file = try InputFile(feed)
            defer { file.close() }
            var listing = Listing(json: json)
            var progress = ProgressBar(total: file.size)
            var reader = FeedReader(channel: channel)
            var bytesRead = 0
            var fault: FeedError?
            while fault == nil {
                let chunk = try file.read(upTo: 64 * 1024)
                bytesRead += chunk.count
                do throws(FeedError) {
                    if chunk.isEmpty {
                        try reader.finish { listing.add($0) }
                    } else {
                        try reader.read(chunk.span) { listing.add($0) }
                    }
                } catch { fault = error }
                listing.flush()
                if chunk.isEmpty { break }
                progress.show(done: bytesRead, note: "\(listing.found + listing.refused) items")
            }
            progress.clear()
            Terminal.error.write("\(listing.found) items found, \(listing.refused) refused\n")
            for name in reader.foreignElements { Terminal.error.write("not read: \(name), which is not Media RSS\n") }
            if let fault {
                throw CommandFailure(
                    "\(feed): \(fault)\nThe feed is malformed or incomplete: discard its items.",
                    code: fault.code.rawValue
                )
            }
            if listing.refused > 0 { throw ExitCode.refused }
        }
    }
}

/// The output for a chunk of the feed.
private struct Listing {
    let json: Bool
    private(set) var found = 0
    private(set) var refused = 0
    private var output = ""

    init(json: Bool) { self.json = json }

    mutating func add(_ item: FeedItem) {
        switch item {
        case .entry(let entry):
            found += 1
            output += json ? Self.json(entry).line : Self.text(entry)
        case .refused(let refusal):
            refused += 1
            output += json ? Self.json(refusal).line : Self.text(refusal)
        }
        output += "\n"
    }

    mutating func flush() {
        Terminal.output.write(output)
        output = ""
    }

    private static func json(_ entry: CatalogueEntry) -> JSON {
        .object([
            ("line", .number(Int64(entry.line))), ("mediaID", .string(entry.mediaID)),
            ("paths", .array(entry.streamPaths.map { .string($0) })),
            ("urls", .array(entry.streamURLs.map { .string($0) })), ("resource", .string(entry.resource.text)),
            ("ratings", .array(entry.ratings.map { JSON($0) })),
            (
                "restrictions",
                .array(
                    entry.restrictions.map {
                        .object([
                            ("relationship", .string($0.relationship)), ("type", .string($0.type)),
                            ("value", .string($0.value)),
                        ])
                    }
                )
            ), ("refused", .null),
        ])
    }

    private static func json(_ refusal: FeedRefusal) -> JSON {
        .object([
            ("line", .number(Int64(refusal.line))), ("mediaID", .null), ("name", .optional(refusal.name)),
            ("refused", .string(refusal.reason.rawValue)), ("detail", .string(refusal.detail)),
        ])
    }

    private static func text(_ entry: CatalogueEntry) -> String {
        let title = entry.resource.itemTitle.map { "  " + $0.printable(limit: 60) } ?? ""
        let paths =
            entry.streamPaths.isEmpty ? "" : "  " + entry.streamPaths.joined(separator: " ").printable(limit: 200)
        return Style.green("✔") + " line \(entry.line)  \(entry.mediaID.printable(limit: 100))\(title)\(paths)"
    }

    private static func text(_ refusal: FeedRefusal) -> String {
        let name = refusal.name.map { "  \($0)" } ?? ""
        return Style.red("✘") + " line \(refusal.line)\(name)  \(refusal.reason.rawValue)  \(refusal.detail)"
    }
}
