// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import Keys
import Platform

extension KeysCommand {
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Write the keys of a set as an edge or another verifier takes them.",
            discussion: """
                jwk and cose have the public keys. ats is the configuration of Traffic Server's uri_signing, with public keys, \
                and with secrets where the set has HS256; nginx is a line with the secret of secure_link_md5, and akamai the \
                hexadecimal key of EdgeAuth: both of the one key that signs, or of --kid. What has a secret goes to a file \
                with mode 0600 (--out), and never to a terminal.
                """
        )

        @Argument(help: ArgumentHelp("The set, or its folder; playgate keys new makes one.", valueName: "keys.json"))
        var keys: String

        @Option(help: "The format.")
        var format = Format.jwk

        @Option(help: ArgumentHelp("The issuer that Traffic Server expects, for ats.", valueName: "name"))
        var issuer = "playgate"

        @Option(
            help: ArgumentHelp(
                "The key; by default all that are in use, or for nginx and akamai the one that signs.",
                valueName: "id"
            )
        )
        var kid: String?

        @Option(help: ArgumentHelp("The file to write, which is replaced.", valueName: "file"), completion: .file())
        var out: String?

        @Option(help: ArgumentHelp("The present time; that of the clock by default.", valueName: "time"))
        var at: TimeArgument?

        /// A format of exported keys.
        enum Format: String, ExpressibleByArgument, CaseIterable {
            case jwk, cose, ats, nginx, akamai
        }

        func run() throws {
            let ring = try KeyRingFile(keys)
            let now = at?.time ?? .now()
            let chosen = try indices(ring, at: now)
            let (content, isSecret) = try content(of: ring, members: chosen, at: now)
            if let out {
                do throws(FileFault) { try out.replaceFile(with: content) } catch {
                    throw CommandFailure("\(out): \(error.reason)")
                }
                return Terminal.output.write(out + "\n")
            }
            guard !isSecret else {
                throw CommandFailure(
                    "the \(format.rawValue) export has a secret, which is never printed: name a file with --out",
                    code: "secret_not_printed"
                )
            }
            // Bytes are not written to a terminal.
            let isText = format == .cose && Terminal.output.isInteractive
            Terminal.output.write(isText ? [UInt8]((content.hexadecimal + "\n").utf8) : content)
        }

        /// The indices of the keys that are exported.
        private func indices(_ ring: KeyRingFile, at now: Timestamp) throws(CommandFailure) -> [Int] {
            if let kid {
                let index = ring.members.firstIndex { $0.key.id == KeyID(kid) }
                guard let index else { throw CommandFailure("\(ring.path): has no key \(kid)", code: "key_unknown") }
                return [index]
            }
            if format == .nginx || format == .akamai {
                guard let index = ring.signer(at: now) else {
                    throw CommandFailure("\(ring.path): no key signs now; name one with --kid", code: "no_signer")
                }
                return [index]
            }
            return ring.members.indices.filter { ring.role($0, at: now) != .expired }
        }

        private func content(
            of ring: KeyRingFile,
            members indices: [Int],
            at now: Timestamp
        ) throws(CommandFailure) -> (bytes: [UInt8], isSecret: Bool) {
            let members = indices.map { ring.members[$0].key }
            switch format {
            case .jwk, .cose:
                let pairs = members.filter { !$0.algorithm.isMAC }
                guard !pairs.isEmpty, let set = try? KeySet(pairs) else {
                    throw CommandFailure(
                        "there is no public key: a symmetric key is never published",
                        code: KeySetError.Code.noUsableKey.rawValue
                    )
                }
                let text = [UInt8]((set.publishedJWKSet + "\n").utf8)
                return (format == .jwk ? text : set.publishedCOSEKeySet, false)
            case .ats: return try trafficServer(for: ring, members: indices, at: now)
            case .nginx, .akamai:
                let secret = try secret(in: ring, at: indices[0])
                // nginx has the text of the secret, as the configuration of a gate has it.
                let text =
                    format == .akamai ? secret.hexadecimal : "set $playgate_secret \"\(Base64.encodeURLSafe(secret))\";"
                return ([UInt8]((text + "\n").utf8), true)
            }
        }

        /// The configuration of uri_signing: exactly one key renews, which is the one that signs.
        private func trafficServer(
            for ring: KeyRingFile,
            members indices: [Int],
            at now: Timestamp
        ) throws(CommandFailure) -> (bytes: [UInt8], isSecret: Bool) {
            let known: [KeyAlgorithm] = [.hs256, .es256, .ps256, .rs256]
            let indices = indices.filter { known.contains(ring.members[$0].key.algorithm) }
            let signer = ring.signer(at: now).flatMap { indices.contains($0) ? $0 : nil } ?? indices.first
            guard let signer, let renewal = ring.members[signer].key.id?.text else {
                throw CommandFailure(
                    "\(ring.path): has no key for Traffic Server, which knows HS256, ES256, PS256 and RS256",
                    code: KeySetError.Code.noUsableKey.rawValue
                )
            }
            let keys = indices.compactMap { index -> JSON? in
                let key = ring.members[index].key
                return key.algorithm.isMAC ? ring.entries[index].members(["kty", "kid", "alg", "k"]) : key.publicJWK
            }
            let object = JSON.object([
                (
                    name: issuer,
                    value: .object([("renewal_kid", .string(renewal)), ("keys", .array(keys))])
                )
            ])
            return ([UInt8]((object.line + "\n").utf8), indices.contains { ring.members[$0].key.algorithm.isMAC })
        }

        private func secret(in ring: KeyRingFile, at index: Int) throws(CommandFailure) -> [UInt8] {
            guard case .object(let members)? = ring.entries[index].members(["k"]),
                case .string(let text)? = members.first?.value, let bytes = Base64.decodeURLSafe(text)
            else {
                throw CommandFailure(
                    "\(format.rawValue) takes a secret, such as of HS256, and no pair",
                    code: "key_unusable"
                )
            }
            return bytes
        }
    }
}

extension JSON {
    /// The members of these names, in the order of the names.
    fileprivate func members(_ names: [String]) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return .object(names.compactMap { name in members.first { $0.name == name } })
    }
}
