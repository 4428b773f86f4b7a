// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Keys

/// The options for the keys of grants and their issuer.
struct GrantKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A JWK Set, or a COSE key set in CBOR; playgate grant keys makes one.",
            valueName: "file"
        ),
        completion: .file()
    )
    var keys = ""

    @Option(
        help: ArgumentHelp(
            "The issuer of the keys; by default the name that the grant gives, which one of the keys must have made.",
            valueName: "name"
        )
    )
    var issuer: String?

    /// Throws if the keys are missing.
    func demand() throws {
        if keys.isEmpty { throw ValidationError("Missing expected argument '--keys <file>'") }
    }

    func validate() throws {
        if let issuer, !(1...256 ~= issuer.utf8.count) { throw ValidationError("--issuer takes 1 to 256 bytes") }
    }
}

/// A key set file, whose keys are bound to an issuer when they are used.
struct GrantKeySet: Sendable {
    private let name: String
    private let bytes: [UInt8]
    private let format: TokenFormat

    /// Reads the file, and says on standard error which of its keys cannot be used.
    init(_ path: String, for format: GrantFormatName = .cat) throws(CommandFailure) {
        self.format = format.tokenFormat
        let file = try InputFile(path)
        defer { file.close() }
        name = path == "-" ? "standard input" : path
        bytes = try file.bytes(limit: KeySetReading.maximumSize)
        if bytes.starts(with: "-----BEGIN".utf8) {
            throw CommandFailure(
                "\(name): PEM, not a key set; playgate grant keys writes a JWK Set beside its PEM files",
                code: KeySetError.Code.malformed.rawValue
            )
        }
        for skipped in try read(issuer: "").skipped {
            Terminal.error.write("\(name): key \(skipped.index + 1) is not used: \(skipped.reason)\n")
        }
    }

    /// Returns the keys as those of `issuer`.
    func keys(of issuer: String) throws(CommandFailure) -> KeySet {
        let keys = try read(issuer: issuer).keys
        do throws(KeySetError) { return try KeySet(keys) } catch {
            throw CommandFailure("\(name): \(error)", code: error.code.rawValue)
        }
    }

    private func read(issuer: String) throws(CommandFailure) -> KeySetReading {
        // For RSA, COSE has only PS256; a JWK for RS256 says so.
        let binding = KeyBinding(issuer: issuer, format: format, rsaAlgorithm: .ps256)
        do throws(KeySetError) { return try KeySetReading(bytes, source: .local, binding: binding) } catch {
            throw CommandFailure(
                "\(name): \(error)\nGive a JWK Set ({\"keys\":[…]}) or a COSE key set; playgate grant keys makes them.",
                code: error.code.rawValue
            )
        }
    }
}
