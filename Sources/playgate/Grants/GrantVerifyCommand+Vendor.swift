// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import EdgeTokens
import Encodings
import Platform
import VendorTokens

// The verification of grants in vendors' formats.

extension GrantCommand.Verify {
    /// Throws if an option does not belong to the format.
    func validateFormat() throws {
        guard let vendor = format.vendor else {
            if let option = vendor.given ?? (scope == nil ? nil : "--scope") {
                throw ValidationError("\(option) is for vendors' formats, not for \(format.rawValue)")
            }
            return try keys.demand()
        }
        guard vendor.isVerified else {
            let known = VendorFormat.allCases.filter(\.isVerified).map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--format \(vendor.rawValue) is issued, and not verified; verified are cat, \(known)")
        }
        let others = [
            ("--keys", !keys.keys.isEmpty), ("--issuer", keys.issuer != nil), ("--audience", !audience.isEmpty),
            ("--batch", batch != nil), ("--private-key", self.vendor.privateKey != nil),
        ]
        if let option = others.first(where: \.1)?.0 {
            throw ValidationError("--format \(vendor.rawValue) has no \(option)")
        }
        try self.vendor.demandKey(vendor)
        try token.demandInput(besides: self.vendor.secret)
    }

    /// Verifies a grant in a vendor's format. Throws if it is refused.
    func runVendor(_ format: VendorFormat) throws {
        let now = at?.time ?? .now()
        let key = try vendor.key(format)
        let verifier: (any VendorVerifier)?
        do throws(SigningError) { verifier = try format.verifier(with: key, settings: vendor.settings) } catch {
            throw CommandFailure(error.words(format), code: error.code.rawValue)
        }
        guard let verifier, let url = facts.url else { throw ExitCode.validationFailure }
        let token = try token.read()
        try facts.demandURLWithout(token)
        let request = SignedRequest(path: url.path, scope: scope, client: facts.client?.address)
        let verdict = verifier.verify(token, for: request, at: now)
        Terminal.output.write(json ? verdict.json.line + "\n" : verdict.report(at: now))
        guard verdict.grant != nil else { throw ExitCode.refused }
    }
}

extension SignedVerdict {
    /// The verdict for programs.
    var json: JSON {
        let verdict = JSON.grantVerdict(isValid: grant != nil, code.map { GrantRefusal($0) })
        return .object(
            verdict + [
                ("keyID", .optional(grant?.keyID)), ("expires", .time(grant?.expires)),
                ("session", .optional(grant?.session)),
            ]
        )
    }

    /// The verdict for people.
    func report(at now: Timestamp) -> String {
        if let code {
            return "\(Style.bold(Style.red("refused"))): \(code.rawValue) at \(now)\n\(code.message)\n"
        }
        var text = "\(Style.bold(Style.green("valid"))) at \(now)\n"
        if let key = grant?.keyID { text += "  key        \(key.printable(limit: 64))\n" }
        if let expires = grant?.expires { text += "  expires    \(expires)\n" }
        if let session = grant?.session { text += "  session    \(session.printable(limit: 256))\n" }
        return text
    }
}
