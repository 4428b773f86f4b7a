// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import CommonAccessTokens
import Encodings
import Keys
import Platform
import RequestTargets
import VendorTokens

// The issue of grants in vendors' formats.

extension GrantCommand.Issue {
    /// Throws if an option does not belong to the format.
    func validateFormat() throws {
        guard let vendor = format.vendor else {
            if let option = vendor.given ?? vendorScope.given {
                throw ValidationError("\(option) is for vendors' formats, not for \(format.rawValue)")
            }
            for (name, value) in [("keys <file>", keys), ("kid <id>", kid), ("issuer <name>", issuer)]
            where value.isEmpty {
                throw ValidationError("Missing expected argument '--\(name)'")
            }
            return
        }
        let others = [
            ("--keys", !keys.isEmpty), ("--kid", !kid.isEmpty), ("--issuer", !issuer.isEmpty),
            ("--renew", renew != .none),
            ("--method", !restrictions.method.isEmpty), ("--audience", !restrictions.audience.isEmpty),
            ("--address", !restrictions.address.isEmpty), ("--asn", !restrictions.asn.isEmpty),
            ("--country", !restrictions.country.isEmpty), ("--once", restrictions.once),
        ]
        if let option = others.first(where: \.1)?.0 {
            throw ValidationError("--format \(vendor.rawValue) has no \(option)")
        }
        try self.vendor.demandKey(vendor)
    }

    /// Issues and prints a grant in a vendor's format.
    func runVendor(_ format: VendorFormat) throws {
        let now = (at?.time ?? .now()).wholeSeconds
        let key = try vendor.key(format)
        let (request, delivery): (SigningRequest, SignedDelivery)
        do throws(SigningError) {
            let issuer = try format.issuer(with: key, settings: vendor.settings)
            for warning in issuer.warnings { Terminal.error.write("\(format.rawValue): \(warning.words)\n") }
            request = try signingRequest(at: now)
            delivery = try issuer.issue(request)
        } catch { throw CommandFailure(error.words(format), code: error.code.rawValue) }
        Terminal.output.write(
            json ? delivery.json(request, scope: restrictions.scopeURL, at: now).line + "\n" : delivery.report(at: now)
        )
    }

    private func signingRequest(at now: Timestamp) throws(SigningError) -> SigningRequest {
        let life = min(life.milliseconds, session?.milliseconds ?? .max)
        guard let scope = restrictions.scope else { throw SigningError(.missing, value: "scope") }
        var request = SigningRequest(
            path: vendorScope.single ? vendorScope.file ?? scope : scope,
            issued: now,
            expires: now.advanced(byMilliseconds: life)
        )
        request.host = restrictions.host
        request.file = vendorScope.file
        request.query = vendorScope.query ?? ""
        if let client = vendorScope.client { request.client = ClientNetwork(client.address, length: client.length) }
        request.session = vendorScope.sessionID
        if request.session == nil, session != nil {
            guard let bytes = try? CATIssuer.randomIdentifier() else { throw SigningError(.missing, value: "session") }
            request.session = bytes.hexadecimal
        }
        return request
    }
}

extension SigningWarning {
    /// The weakness, for people.
    var words: String {
        switch self {
        case .shortSecret: "the secret has fewer than 32 bytes"
        case .weakAlgorithm: "the algorithm is weak; use it only where the edge has no other"
        @unknown default: rawValue
        }
    }
}

extension SignedDelivery {
    /// The token in all its carriers, for people.
    func report(at now: Timestamp) -> String {
        var text = ""
        func row(_ name: String, value: String?) {
            guard let value else { return }
            text += "\(name)\(String(repeating: " ", count: 9 - name.count))\(value)\n"
        }
        row("token", value: token)
        row("query", value: query)
        for cookie in cookies { row("cookie", value: cookie.line(until: expires, at: now)) }
        row("path", value: path)
        row("url", value: url)
        row("expires", value: "\(expires)")
        return text
    }

    /// The token in all its carriers, for programs.
    func json(_ request: SigningRequest, scope: String?, at now: Timestamp) -> JSON {
        .object([
            ("format", .string(format.rawValue)), ("token", .string(token)), ("expires", .time(expires)),
            ("session", .optional(request.session)), ("scope", .array(scope.map { [.string($0)] } ?? [])),
            ("setCookies", .strings(cookies.compactMap { $0.line(until: expires, at: now) })),
            ("query", .optional(query)), ("path", .optional(path)), ("url", .optional(url)),
        ])
    }
}
