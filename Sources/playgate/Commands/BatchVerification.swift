// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import Encodings
import MediaResources
import MediaTokens
import Platform

/// The verification of a file of tokens, one on a line, on all cores and in constant memory.
///
/// Blocks of lines are verified concurrently and written in the order of the file.
struct BatchVerification: Sendable {
    let verifier: Verifier
    /// The resource for lines that name none.
    let resource: MediaResource?
    /// True if lines without a resource are checked for authenticity only.
    let authenticityOnly: Bool
    /// The time of verification; `nil` for the time at which each block is verified.
    let fixedTime: Timestamp?

    /// Verifies the file at `path`, or standard input for `-`. Returns true if every token is valid.
    func run(_ path: String, jobs: Int?) async throws -> Bool {
        // A percent-encoded token has up to three times its size.
        let lines = BatchLines(tokenSize: 3 * Verifier.maximumEncodedSize, resourceSize: MediaResource.maximumSize)
        let counts = try await LineBatch.run(on: path, lines: lines, jobs: jobs) { verify($0) }
        Terminal.error.write(Self.summary(counts))
        return counts.keys.allSatisfy { $0 == VerificationStatus.validToken.rawValue }
    }

    private func verify(_ lines: LineBatch.Lines) -> LineBatch.Block {
        let now = fixedTime ?? .now()
        var block = LineBatch.Block()
        block.output.reserveCapacity(lines.text.count)
        var known: (text: ArraySlice<UInt8>, resource: Result<MediaResource, ResourceError>)?
        lines.forEach { number, line in
            switch verification(of: line, at: now, known: &known) {
            case .success(let answer): block.add(answer, line: number)
            case .failure(let fault): block.add(fault.status.rawValue, line: number, members: fault.members)
            }
        }
        return block
    }

    /// A line that is refused before its token is examined.
    private struct LineFault: Error {
        let status = VerificationStatus.invalidResourceID
        let code: String

        var members: [JSON.Member] { JSON.members(valid: false, status, code: code) }
    }

    private func verification(
        of line: ArraySlice<UInt8>,
        at now: Timestamp,
        known: inout (text: ArraySlice<UInt8>, resource: Result<MediaResource, ResourceError>)?
    ) -> Result<Verification, LineFault> {
        let tab = line.span.firstIndex(of: UInt8(ascii: "\t"), from: 0).map { line.startIndex + $0 }
        let token = Self.decoded(line[..<(tab ?? line.endIndex)])
        var wanted = resource
        if let tab {
            let text = line[(tab + 1)...]
            // Neighbouring lines often have the same resource.
            if known == nil || known?.text != text {
                known = (text, Result { () throws(ResourceError) in try MediaResource(utf8: Array(text)) })
            }
            switch known?.resource {
            case .success(let resource): wanted = resource
            case .failure(let error): return .failure(LineFault(code: error.code.rawValue))
            case nil: break
            }
        }
        if let wanted { return .success(verifier.verify(token.span, for: wanted, at: now)) }
        guard authenticityOnly else { return .failure(LineFault(code: "resource_missing")) }
        return .success(verifier.authenticate(String(decoding: token, as: UTF8.self), at: now))
    }

    /// Returns a token, decoded once if it is percent-encoded.
    private static func decoded(_ token: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard token.span.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil,
            let text = String(validating: token, as: UTF8.self)
        else { return token }
        return Array(text[...].percentDecodedToken.utf8)[...]
    }

    private static func summary(_ counts: [String: Int]) -> String {
        let rows = VerificationStatus.allCases.map(\.rawValue).compactMap { status in
            counts[status].map { "  \(status)\(String(repeating: " ", count: 22 - status.count))\($0)\n" }
        }
        return "\(counts.values.reduce(0, +)) tokens\n" + rows.joined()
    }
}

extension LineBatch.Block {
    /// Adds the result of a verification.
    fileprivate mutating func add(_ answer: Verification, line: Int) {
        output.append("{\"line\":")
        output += String(line).utf8
        JSON.writeMembers(answer, to: &output)
        output.append("}\n")
        counts[answer.status.rawValue, default: 0] += 1
    }
}
