// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import Keys
import Platform

extension GrantCommand {
    struct Keys: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "keys",
            abstract: "Make keys for grants, or publish the public ones.",
            discussion: """
                With --out, writes new keys twice: each in a file of its own, as the gate's configuration takes it, and all in \
                keys.json, a JWK Set for the other grant commands. Writes subject.key too, unless it exists: the secret by \
                which gates name sessions, and which is not rotated. Prints the lines for the configuration. All files but \
                public ones have mode 0600.

                With --public and --keys, prints the public keys of a key set for others. Secrets of HS256 have no public \
                part: whoever verifies with one can issue, too.
                """
        )

        @Option(
            help: ArgumentHelp("The folder to write new keys to; created if it is missing.", valueName: "folder"),
            completion: .directory
        )
        var out: String?

        @Option(
            help:
                "An algorithm; may be repeated. Symmetric between edges of one operator, others towards other organisations."
        )
        var algorithm: [GrantAlgorithmArgument] = []

        @Option(help: ArgumentHelp("The id of the new key; the day and the algorithm by default.", valueName: "id"))
        var kid: String?

        @Flag(help: "Replace keys that exist.")
        var force = false

        @Flag(name: .customLong("public"), help: "Write or print the public keys alone, for others.")
        var isPublic = false

        @Option(help: ArgumentHelp("The key set to publish with --public.", valueName: "file"), completion: .file())
        var keys: String?

        @Option(help: "The format of public keys.")
        var format = KeySetFormatArgument.jwk

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            guard (out == nil) != (keys == nil) else {
                throw ValidationError("give --out to make keys, or --public with --keys to publish keys")
            }
            if keys != nil, !isPublic { throw ValidationError("--keys requires --public") }
            if keys != nil, kid != nil || force || !algorithm.isEmpty {
                throw ValidationError("--kid, --algorithm and --force require --out")
            }
            if Set(algorithm).count != algorithm.count { throw ValidationError("an --algorithm is repeated") }
            guard let kid else { return }
            guard algorithm.count <= 1 else {
                throw ValidationError(
                    "--kid is for one key: give one --algorithm, and run the command again for another"
                )
            }
            guard KeyID(kid) != nil, kid.printable(limit: 64) == kid else {
                throw ValidationError("--kid takes 1 to 64 bytes in one printable line")
            }
        }

        func run() throws {
            if let keys { return try publish(keys) }
            guard let out else { return }
            let chosen = algorithm.isEmpty ? [.hs256] : algorithm
            let folder = try NewFolder(out)
            let files = chosen.map(\.file) + ["keys.json"] + (isPublic ? [format.file] : [])
            for name in files where !force && folder.contains(name) {
                throw CommandFailure(
                    "\(folder.path(name)): already exists; name another folder, or replace the keys with --force",
                    code: "keys_exist"
                )
            }
            let made = try chosen.map { (algorithm) throws(CommandFailure) in try generate(algorithm, at: .now()) }
            let published = try isPublic ? Self.published(made.map(\.key), as: format) : nil
            for (algorithm, key) in zip(chosen, made) {
                try folder.write(algorithm.file, content: key.content, isSecret: true, replaces: force)
            }
            try folder.write("keys.json", content: try Self.jwkSet(made), isSecret: true, replaces: force)
            if let published { try folder.write(format.file, content: published, isSecret: false, replaces: force) }
            let isNew = !folder.contains(Self.subjectFile)
            if isNew { try folder.write(Self.subjectFile, content: try Self.subjectKey(), isSecret: true) }
            report(on: folder, keys: zip(chosen, made).map { ($0, $1.key) }, files: files, isSubjectNew: isNew)
        }

        /// The name of the file with the key that names sessions.
        static let subjectFile = "subject.key"

        private func generate(
            _ algorithm: GrantAlgorithmArgument,
            at now: Timestamp
        ) throws(CommandFailure) -> GeneratedKey {
            let id = kid ?? "pg-\(now.iso8601.prefix(10))-\(algorithm.rawValue.lowercased())"
            let binding = KeyBinding(issuer: "", format: .cat)
            do throws(KeySetError) {
                return try TokenKey.generate(algorithm.algorithm, id: KeyID(id), binding: binding)
            } catch { throw CommandFailure("\(error)", code: error.code.rawValue) }
        }

        private static func jwkSet(_ made: [GeneratedKey]) throws(CommandFailure) -> [UInt8] {
            let keys = made.compactMap(\.jwk)
            guard keys.count == made.count else { throw CommandFailure("a key cannot be written as a JWK") }
            return [UInt8]((JSON.object([("keys", .array(keys))]).line + "\n").utf8)
        }

        /// 32 random bytes in the text form of the configuration.
        static func subjectKey() throws(CommandFailure) -> [UInt8] {
            let binding = KeyBinding(issuer: "", format: .cat)
            guard let made = try? TokenKey.generate(.hs256, id: nil, binding: binding) else {
                throw CommandFailure("the system gives no random bytes")
            }
            return made.content
        }

        // MARK: Publishing

        private func publish(_ path: String) throws {
            let published = try Self.published(try GrantKeySet(path).keys(of: "").keys, as: format)
            // Bytes are not written to a terminal.
            let isText = format == .cose && Terminal.output.isInteractive
            Terminal.output.write(isText ? [UInt8]((published.hexadecimal + "\n").utf8) : published)
        }

        private static func published(
            _ keys: [TokenKey],
            as format: KeySetFormatArgument
        ) throws(CommandFailure) -> [UInt8] {
            guard keys.contains(where: { !$0.algorithm.isMAC }), let set = try? KeySet(keys) else {
                throw CommandFailure(
                    "there is no public key: a symmetric key is never published; add --algorithm ES256 to make a pair",
                    code: KeySetError.Code.noUsableKey.rawValue
                )
            }
            switch format {
            case .jwk: return [UInt8]((set.publishedJWKSet + "\n").utf8)
            case .cose: return set.publishedCOSEKeySet
            }
        }

        // MARK: Report

        private func report(
            on folder: NewFolder,
            keys made: [(GrantAlgorithmArgument, TokenKey)],
            files: [String],
            isSubjectNew: Bool
        ) {
            let lines = configuration(for: folder, keys: made)
            let written = files + (isSubjectNew ? [Self.subjectFile] : [])
            if json {
                let keys: [JSON] = made.map { algorithm, key in
                    .object([
                        ("kid", .optional(key.id?.text)), ("algorithm", .string(algorithm.rawValue)),
                        ("file", .string(folder.path(algorithm.file))),
                    ])
                }
                let object: [JSON.Member] = [
                    ("keys", .array(keys)), ("files", .array(written.map { .string(folder.path($0)) })),
                    ("configuration", .string(lines)),
                ]
                return Terminal.output.write(JSON.object(object).line + "\n")
            }
            var text = written.map { folder.path($0) + "\n" }.joined()
            if !isSubjectNew { text += "\(folder.path(Self.subjectFile)) stays: a new one would end all sessions\n" }
            Terminal.output.write(text + "For the gate's configuration:\n" + lines)
        }

        private func configuration(for folder: NewFolder, keys made: [(GrantAlgorithmArgument, TokenKey)]) -> String {
            let keys = made.map { algorithm, key in
                let source = algorithm == .hs256 ? "secret" : "private"
                let file = Self.scalar(folder.path(algorithm.file))
                return "  \(Self.scalar(key.id?.text ?? "")): "
                    + "{ \(source): { file: \(file) }, algorithm: \(algorithm.rawValue) }\n"
            }
            return "keys:\n" + keys.joined() + "grants:\n"
                + "  subjectKey: { file: \(Self.scalar(folder.path(Self.subjectFile))) }\n"
        }

        /// A text as a scalar of YAML, in quotes unless it is plain.
        static func scalar(_ text: String) -> String {
            let isPlain = text.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "/") }
            let begins = text.utf8.first.map { $0.isASCIILetter || $0 == UInt8(ascii: "/") } ?? false
            return isPlain && begins ? text : JSON.string(text).line
        }
    }
}

extension GeneratedKey {
    /// The secret part as the gate's configuration reads it from a file: one line of URL-safe Base64, or PEM.
    fileprivate var content: [UInt8] {
        switch secret {
        case .bytes(let bytes): [UInt8]((Base64.encodeURLSafe(bytes) + "\n").utf8)
        case .pem(let text): [UInt8](text.utf8)
        }
    }
}

/// An algorithm of new keys.
enum GrantAlgorithmArgument: String, ExpressibleByArgument, CaseIterable {
    case hs256 = "HS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
    case ps256 = "PS256"

    var algorithm: KeyAlgorithm {
        switch self {
        case .hs256: .hs256
        case .es256: .es256
        case .edDSA: .edDSA
        case .ps256: .ps256
        }
    }

    /// The name of the file with only the key.
    var file: String {
        switch self {
        case .hs256: "grant.key"
        case .es256, .edDSA, .ps256: "\(rawValue.lowercased()).pem"
        }
    }
}

/// A format of published key sets.
enum KeySetFormatArgument: String, ExpressibleByArgument, CaseIterable {
    /// A JWK Set (RFC 7517).
    case jwk
    /// A COSE key set (RFC 9052), in CBOR.
    case cose

    /// The name of the file with the public keys.
    var file: String { self == .jwk ? "public.json" : "public.cose" }
}
