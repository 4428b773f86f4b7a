// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import Encodings
import Keys
import Platform

extension KeysCommand {
    struct Rotate: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Add the next key to a set, and let the present one sign until then.",
            discussion: """
                The new key is in the set, and published, at once; it signs after --after, in which time others fetch it. The \
                present key signs until then, and verifies for --session longer. Keys that do nothing any more leave the set. \
                Gates notice the change of the file by themselves. Does nothing while a next key is waiting.
                """
        )

        @Argument(help: ArgumentHelp("The set, or its folder; playgate keys new makes one.", valueName: "keys.json"))
        var keys: String

        @Option(help: "The algorithm of the new key; that of the present one by default.")
        var algorithm: KeyAlgorithmArgument?

        @Option(help: ArgumentHelp("The id of the new key; the day and the algorithm by default.", valueName: "id"))
        var kid: String?

        @Option(help: "The time until the new key signs: twice the hour for which others may keep the published keys.")
        var after = DurationArgument(milliseconds: 7_200_000)

        @Option(help: "The longest session of the grants: for so long, the present key verifies what it signed.")
        var session = DurationArgument(milliseconds: 43_200_000)

        @Option(help: ArgumentHelp("The present time; that of the clock by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            if let kid { try KeyAlgorithmArgument.check(kid) }
        }

        func run() throws {
            let ring = try KeyRingFile(keys)
            // Times in the file are whole seconds.
            let seconds = (at?.time ?? .now()).millisecondsSince1970 / 1000
            let now = Timestamp(secondsSince1970: seconds)
            if let next = ring.members.first(where: { $0.signFrom.map { now < $0 } ?? false }) {
                let start = next.signFrom?.iso8601 ?? ""
                throw CommandFailure(
                    "\(ring.path): the next key, \(next.key.id?.description ?? ""), signs from \(start) on; rotate after it",
                    code: "rotation_pending"
                )
            }
            let present = ring.signer(at: now).map { ring.members[$0].key }
            guard let chosen = algorithm ?? present.flatMap({ KeyAlgorithmArgument(rawValue: $0.algorithm.rawValue) })
            else {
                throw CommandFailure(
                    "\(ring.path): no key signs now; give the --algorithm of the next",
                    code: "no_signer"
                )
            }
            // If no key signs, nobody can wait for the next one.
            let start = present == nil ? now : now.advanced(byMilliseconds: after.milliseconds)
            let (key, jwk) = try chosen.makeKey(kid, besides: ring.members.compactMap(\.key.id), at: now)
            let (set, removed) = ring.rotated(to: jwk, from: start, life: session.duration, at: now)
            guard set.count <= KeySetReading.maximumKeys else {
                throw CommandFailure("\(ring.path): has \(set.count - 1) keys already", code: "too_many_keys")
            }
            try ring.replace(with: set)
            report(key, present: present, from: start, removed: removed)
        }

        private func report(_ key: TokenKey, present: TokenKey?, from start: Timestamp, removed: [KeyID]) {
            if json {
                let members: [JSON.Member] = [
                    ("added", .optional(key.id?.text)), ("algorithm", .string(key.algorithm.rawValue)),
                    ("signFrom", .number(start.millisecondsSince1970)), ("present", .optional(present?.id?.text)),
                    ("removed", .array(removed.map { .string($0.description) })),
                ]
                return Terminal.output.write(JSON.object(members).line + "\n")
            }
            var text = "\(key) signs from \(start.iso8601) on"
            if let id = present?.id { text += "; \(id) until then" }
            text += "\n" + removed.map { "\($0) has expired, and is removed\n" }.joined()
            Terminal.output.write(text)
        }
    }

    struct List: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the keys of a set, with what each does now.",
            discussion: "Prints no part of a key."
        )

        @Argument(help: ArgumentHelp("The set, or its folder; playgate keys new makes one.", valueName: "keys.json"))
        var keys: String

        @Option(help: ArgumentHelp("The present time; that of the clock by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object for each key.")
        var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            let ring = try KeyRingFile(keys)
            let now = at?.time ?? .now()
            for (index, member) in ring.members.enumerated() {
                let role = ring.role(index, at: now)
                Terminal.output.write(
                    (json ? Self.object(of: member, role: role).line : Self.line(of: member, role: role)) + "\n"
                )
            }
        }

        private static func object(of member: KeyRing.Member, role: KeyRingFile.Role) -> JSON {
            func time(_ time: Timestamp?) -> JSON { time.map { .number($0.millisecondsSince1970) } ?? .null }
            return .object([
                ("kid", .optional(member.key.id?.text)), ("algorithm", .string(member.key.algorithm.rawValue)),
                ("role", .string(role.rawValue)), ("signFrom", time(member.signFrom)),
                ("signUntil", time(member.signUntil)), ("verifyUntil", time(member.verifyUntil)),
            ])
        }

        private static func line(of member: KeyRing.Member, role: KeyRingFile.Role) -> String {
            let times = [
                ("signs from", member.signFrom), ("signs until", member.signUntil),
                ("verifies until", member.verifyUntil),
            ].compactMap { name, time in time.map { "\(name) \($0.iso8601)" } }
            let name = "\(role.rawValue) \(member.key)"
            return times.isEmpty ? name : "\(name): \(times.joined(separator: ", "))"
        }
    }
}
