// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import Keys
import MediaTokens
import Platform

extension KeysCommand {
    struct New: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "new",
            abstract: "Create a key for grants, in a set whose keys follow each other.",
            discussion: """
                Writes keys.json (mode 0600), a JWK Set with one key that signs at once; playgate keys rotate adds the next. \
                With --grant, writes subject.key too, unless it exists: the secret by which gates name sessions. Prints the \
                lines for the gate's configuration, and no part of a key. Overwrites no file.

                Without --algorithm and --grant, makes development keys, as playgate keys development does.
                """
        )

        @Option(
            help: ArgumentHelp("The folder to write to; created if it is missing.", valueName: "folder"),
            completion: .directory
        )
        var out: String

        @Option(
            help:
                "The algorithm of the key. HS256 between gates and edges of one operator, others towards other organisations."
        )
        var algorithm: KeyAlgorithmArgument?

        @Flag(help: "Make what a gate with grants needs: HS256 unless --algorithm says otherwise, and subject.key.")
        var grant = false

        @Option(help: ArgumentHelp("The id of the new key; the day and the algorithm by default.", valueName: "id"))
        var kid: String?

        @Option(help: "The size of the RSA keys of development keys, from 1024 to 8192.")
        var bits = 2048

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        private var isDevelopment: Bool { algorithm == nil && !grant }

        func validate() throws {
            guard 1024...8192 ~= bits else { throw ValidationError("--bits takes a number from 1024 to 8192") }
            if isDevelopment, kid != nil || json {
                throw ValidationError("--kid and --json require --algorithm or --grant")
            }
            if !isDevelopment, bits != 2048 { throw ValidationError("--bits is for development keys") }
            if let kid { try KeyAlgorithmArgument.check(kid) }
        }

        func run() throws {
            if isDevelopment { return try DevelopmentKeyFiles.write(to: out, bits: bits) }
            let folder = try NewFolder(out)
            guard !folder.contains(KeyRingFile.name) else {
                throw CommandFailure(
                    "\(folder.path(KeyRingFile.name)): already exists; playgate keys rotate adds a key to it",
                    code: "keys_exist"
                )
            }
            let (key, jwk) = try (algorithm ?? .hs256).makeKey(kid, besides: [], at: .now())
            let subject = grant && !folder.contains(GrantCommand.Keys.subjectFile)
            try folder.write(KeyRingFile.name, content: KeyRingFile.text([jwk]), isSecret: true)
            if subject {
                try folder.write(
                    GrantCommand.Keys.subjectFile,
                    content: try GrantCommand.Keys.subjectKey(),
                    isSecret: true
                )
            }
            report(on: folder, key: key, isSubjectNew: subject)
        }

        private func report(on folder: NewFolder, key: TokenKey, isSubjectNew: Bool) {
            let file = GrantCommand.Keys.scalar(folder.path(KeyRingFile.name))
            var lines = "keys:\n  playgate: { set: \(file) }\n"
            if grant {
                let subject = GrantCommand.Keys.scalar(folder.path(GrantCommand.Keys.subjectFile))
                lines += "grants:\n  subjectKey: { file: \(subject) }\n"
            }
            let files = [KeyRingFile.name] + (isSubjectNew ? [GrantCommand.Keys.subjectFile] : [])
            if json {
                let members: [JSON.Member] = [
                    ("kid", .optional(key.id?.text)), ("algorithm", .string(key.algorithm.rawValue)),
                    ("files", .array(files.map { .string(folder.path($0)) })), ("configuration", .string(lines)),
                ]
                return Terminal.output.write(JSON.object(members).line + "\n")
            }
            Terminal.output.write(
                files.map { folder.path($0) + "\n" }.joined() + "For the gate's configuration:\n" + lines
            )
        }
    }

    struct Development: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "development",
            abstract: "Create a development CA, a signing certificate and its key.",
            discussion: """
                Writes ca.pem (the certificate of the CA, whose key is discarded), signer.pem (to trust) and \
                signer.key (to sign with, mode 0600). Overwrites no file. Not for production, in which the issuer has \
                the key and you have its certificate.
                """
        )

        @Option(
            help: ArgumentHelp("The folder to write to; created if it is missing.", valueName: "folder"),
            completion: .directory
        )
        var out: String

        @Option(help: "The size of the RSA keys, from 1024 to 8192.")
        var bits = 2048

        func validate() throws {
            guard 1024...8192 ~= bits else { throw ValidationError("--bits takes a number from 1024 to 8192") }
        }

        func run() throws { try DevelopmentKeyFiles.write(to: out, bits: bits) }
    }
}

/// The files of a development issuer of media tokens.
enum DevelopmentKeyFiles {
    static func write(to out: String, bits: Int) throws {
        let folder = try NewFolder(out)
        let files = [("ca.pem", false), ("signer.pem", false), ("signer.key", true)]
        for (name, _) in files where folder.contains(name) {
            throw CommandFailure(
                "\(folder.path(name)): already exists, and keys are never overwritten; remove it or name another folder"
            )
        }
        let keys: DevelopmentKeys
        do throws(TrustError) { keys = try DevelopmentKeys(bits: bits, at: .now()) } catch {
            throw CommandFailure("\(error)")
        }
        let contents = [keys.authorityCertificate, keys.signerCertificate, keys.signerKey]
        for ((name, isSecret), content) in zip(files, contents) {
            try folder.write(name, content: [UInt8](content.utf8), isSecret: isSecret)
            Terminal.output.write("\(folder.path(name))\n")
        }
    }
}

/// An algorithm of new keys.
enum KeyAlgorithmArgument: String, ExpressibleByArgument, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case ed25519 = "Ed25519"
    case edDSA = "EdDSA"
    case ps256 = "PS256"
    case rs256 = "RS256"

    var algorithm: KeyAlgorithm {
        switch self {
        case .hs256: .hs256
        case .hs384: .hs384
        case .hs512: .hs512
        case .es256: .es256
        case .es384: .es384
        case .es512: .es512
        case .ed25519, .edDSA: .edDSA
        case .ps256: .ps256
        case .rs256: .rs256
        }
    }

    /// Throws if `kid` cannot name a new key.
    static func check(_ kid: String) throws(ValidationError) {
        guard KeyID(kid) != nil, kid.printable(limit: 64) == kid else {
            throw ValidationError("--kid takes 1 to 64 bytes in one printable line")
        }
    }

    /// Makes a key, whose id is `kid`, or else the day and the algorithm, with a number if there is one of this name.
    func makeKey(
        _ kid: String?,
        besides present: [KeyID],
        at now: Timestamp
    ) throws(CommandFailure) -> (key: TokenKey, jwk: JSON) {
        var name = kid ?? "pg-\(now.iso8601.prefix(10))-\(rawValue.lowercased())"
        let base = name
        var number = 2
        while kid == nil, let id = KeyID(name), present.contains(id) {
            name = "\(base)-\(number)"
            number += 1
        }
        guard let id = KeyID(name), !present.contains(id) else {
            throw CommandFailure("a key \(name) is there already; give another --kid", code: "keys_exist")
        }
        let made: GeneratedKey
        do throws(KeySetError) {
            made = try TokenKey.generate(algorithm, id: id, binding: KeyBinding(issuer: "", format: .cat))
        } catch { throw CommandFailure("\(error)", code: error.code.rawValue) }
        guard let jwk = made.jwk else { throw CommandFailure("the key cannot be written as a JWK") }
        return (made.key, jwk)
    }
}
