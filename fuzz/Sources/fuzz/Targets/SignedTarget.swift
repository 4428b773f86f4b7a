// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import RequestTargets
@testable import VendorTokens

/// A verifier of a vendor's format with a key that no input has, and a token that it accepts.
private struct SignedFixture: Sendable {
    let verifier: any VendorVerifier
    let token: [UInt8]
    let request: SignedRequest
    static let now = Timestamp(secondsSince1970: 1_925_000_130)

    static let all: [SignedFixture] = [
        make(.edgeAuth, settings: ["salt": "pepper", "escape": "true"], path: "/live/tnt/"),
        make(.edgeAuth, settings: [:], path: "/live/tnt/a.m4s"),
        make(
            .secureLink,
            settings: ["weak": "true", "template": "{expires}{scope}{address}{secret}"],
            path: "/live/tnt/"
        ),
        make(
            .secureLink,
            settings: ["weak": "true", "template": "{expires}{path}{address}{secret}"],
            path: "/live/tnt/a.m4s"
        ),
        make(.accessControl, settings: ["kid": "k", "algorithm": "sha512"], path: "/live/tnt/"),
    ]

    private static func make(_ format: VendorFormat, settings: [String: String], path: String) -> SignedFixture {
        var random = SystemRandomNumberGenerator()
        // Printable, as the secrets of files are.
        let secret = (0..<32).map { _ in UInt8.random(in: 0x21...0x7E, using: &random) }
        var request = SigningRequest(
            path: path,
            issued: Timestamp(secondsSince1970: 1_925_000_120),
            expires: Timestamp(secondsSince1970: 1_925_000_420)
        )
        let address = IPAddress("203.0.113.9")
        request.client = format == .accessControl ? nil : address.map { ClientNetwork($0) }
        request.session = "s-1"
        guard let key = try? VendorKey.secret(SigningSecret(bytes: secret)),
            let token = try? format.issuer(with: key, settings: settings).issue(request).token,
            let verifier = try? format.verifier(with: key, settings: settings)
        else { fatalError("no verifier") }
        let isFolder = path.hasSuffix("/")
        let presented = SignedRequest(
            path: isFolder ? path + "a.m4s" : path,
            scope: isFolder ? path : nil,
            client: address
        )
        return SignedFixture(verifier: verifier, token: Array(token.utf8), request: presented)
    }
}

extension Target {
    /// Vendors' tokens: the input as a token, as a change of an issued one, and as the path of a request.
    static let signed = Target(name: "signed") { input in
        var input = input
        let fixture = SignedFixture.all[Int(input.choice()) % SignedFixture.all.count]
        let (verifier, request, now) = (fixture.verifier, fixture.request, SignedFixture.now)
        let issued = String(decoding: fixture.token, as: UTF8.self)
        demand(verifier.verify(issued, for: request, at: now).grant != nil, or: "an issued token is refused")
        demand(
            verifier.verify(issued, for: request, at: Timestamp(millisecondsSince1970: .max)).code == .expired,
            or: "not expired"
        )

        let start = Int(input.choice()) % fixture.token.count
        let length = Int(input.choice()) % 4
        let bytes = input.bytes
        let text = String(decoding: bytes, as: UTF8.self)
        demand(
            verifier.verify(text, for: request, at: now).grant == nil || text == issued,
            or: "a foreign token is accepted"
        )

        var changed = fixture.token
        changed.replaceSubrange(start..<min(start + length, changed.count), with: bytes)
        let other = String(decoding: changed, as: UTF8.self)
        demand(
            verifier.verify(other, for: request, at: now).grant == nil || changed == fixture.token,
            or: "\(changed.debugText) is accepted"
        )

        var elsewhere = request
        elsewhere.path = text
        guard verifier.format != .accessControl, verifier.verify(issued, for: elsewhere, at: now).grant != nil else {
            return
        }
        // Every path that is accepted is, once it is decoded, the file or below the folder.
        let decoded = try? SigningPath(text).decoded
        demand(decoded?.hasPrefix("/live/tnt/") == true, or: "\(bytes.debugText) is another path")
    }
}
