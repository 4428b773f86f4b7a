// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessTokens
import ArgumentParser
import CommandLineSupport
import ConfigurationReading
internal import Cryptography
internal import EdgeTokens
import Encodings
import GateConfiguration
import GateServer
internal import KeySources
import MediaResources
import Platform

/// The verification of an access token by the section `starts` of a configuration. Nothing is consumed.
struct StartVerification {
    /// The path of the configuration.
    let file: String
    let resource: MediaResource
    let now: Timestamp

    func run(_ token: String, inJSON: Bool) async throws {
        let starts: GateLoader.StartParts?
        do throws(ConfigurationError) {
            starts = try GateLoader(try GateConfiguration(file: file), at: now).starts
        } catch { throw CommandFailure("\(error)", code: "configuration_invalid") }
        guard let parts = starts else {
            throw CommandFailure("\(file): it has no section starts", code: "starts_missing")
        }
        let fetched = await parts.fetchedKeys()
        for fault in fetched.faults {
            Terminal.error.write("the key set of \(fault.issuer): \(fault.fault.rawValue)\n")
        }
        guard let verifier = parts.verifier(with: fetched.keys) else {
            throw CommandFailure("two keys of an issuer have one identifier", code: "duplicate_key")
        }
        let answer = await parts.verify(token, by: verifier, for: resource, at: now)
        Terminal.output.write(inJSON ? Self.json(answer).line + "\n" : Self.text(answer))
        guard case .refused(let refusal, _) = answer else { return }
        throw refusal == .internalFailure ? ExitCode(2) : ExitCode.refused
    }

    private static func json(_ answer: AccessTokenVerification) -> JSON {
        switch answer {
        case .valid(let token):
            .object([
                ("valid", true), ("code", .null), ("provider", .string(token.provider)),
                ("viewer", .string(token.viewer)),
                ("issued", .number(token.issued.millisecondsSince1970)),
                ("expires", .number(token.expires.millisecondsSince1970)),
                ("fingerprint", .string(token.fingerprint.hexadecimal)), ("reusable", .bool(token.isReusable)),
                ("streams", token.streamLimit.map { .number(Int64($0)) } ?? .null),
                ("until", token.sessionEnd.map { .number($0.millisecondsSince1970) } ?? .null),
            ])
        case .refused(let refusal, let provider):
            .object([
                ("valid", false), ("code", .string(refusal.rawValue)), ("provider", .optional(provider)),
                ("action", .string(refusal.action.rawValue)), ("message", .string(refusal.message)),
            ])
        }
    }

    private static func text(_ answer: AccessTokenVerification) -> String {
        switch answer {
        case .valid(let token):
            Style.green("valid") + ": viewer \(token.viewer.printable(limit: 200)) of \(token.provider)\n"
        case .refused(let refusal, _):
            Style.red("refused") + " (\(refusal.rawValue)): \(refusal.message)\n\(refusal.operatorHint)\n"
        }
    }
}
