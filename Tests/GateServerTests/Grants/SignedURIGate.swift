// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// A gate with the configuration that docs/how-to/sign-uris.md prints, and keys in files.
struct SignedURIGate: Sendable {
    typealias Object = [String: Any]

    let gate: RunningGate

    static let partnerSecret = [UInt8](0x60..<0x80)
    static let encryptionSecret = [UInt8](0x40..<0x60)
    static let address = "203.0.113.9"

    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    /// Runs a gate, with changes of the printed text.
    static func with(
        changes: [(String, String)] = [],
        body: @escaping @Sendable (SignedURIGate) throws -> Void
    ) async throws {
        let page = try String(contentsOfFile: repository + "/docs/how-to/sign-uris.md", encoding: .utf8)
        let yaml = try #require(page.components(separatedBy: "```yaml\n").dropFirst().first)
        var printed = try #require(yaml.components(separatedBy: "```").first)
        for (old, new) in changes {
            try #require(printed.contains(old), "\(old)")
            printed = printed.replacing(old, with: new)
        }
        let configuration = """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }] }
            api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate, g] }
            admin: { listen: "127.0.0.1:0" }
            watch: false
            replayStore: { advanced: { capacity: 1000 } }
            \(printed)
            """
        let files = [
            "grant.key": secret, "subject.key": secret, "rs256.pem": try PrivateKey(generating: .rsa(bits: 2048)).pem(),
            "es512.pem": try PrivateKey(generating: .ellipticCurve(.p521)).pem(),
            "encryption.key": Base64.encode(encryptionSecret), "partner.key": Base64.encode(partnerSecret),
        ]
        try await RunningGate.with(configuration, files: files) { gate in try body(SignedURIGate(gate: gate)) }
    }

    /// The key of the partner, which the gate does not issue by.
    static func partnerKey(_ secret: [UInt8] = partnerSecret) throws -> TokenKey {
        let binding = KeyBinding(issuer: "partner", format: .uriSigning)
        return try TokenKey(secret: secret, id: KeyID("partner-1"), binding: binding)
    }

    static func encryptionKey(of secret: [UInt8] = encryptionSecret, name: String = "enc-1") throws -> EncryptionKey {
        try EncryptionKey(secret: secret, id: KeyID(name), use: .a256kw)
    }

    /// A token of the partner with a payload, in which `%` stands for a time in the future.
    func partnerToken(_ payload: String, omitsHeader: Bool = false) throws -> String {
        let end = gate.now.millisecondsSince1970 / 1000 + 300
        let text = payload.replacing("%", with: "\(end)")
        return try Self.partnerKey().signJWS([UInt8](text.utf8), form: JWSForm(omitsHeader: omitsHeader))
    }

    /// Starts a playback, and returns its grants by their profiles.
    func start(_ path: String, client: String? = nil) throws -> [String: Object] {
        let token = try gate.token(GateSample.claims(session: path))
        var body: Object = ["path": path, "token": token, "playbackID": "7f1c"]
        body["client"] = client
        let answer = try post("/v1/playback", body: body)
        try #require(answer.status == 200, "\(answer)")
        let grants = answer.json["grants"] as? [Object] ?? [answer.json["grant"] as? Object].compactMap { $0 }
        return Dictionary(grants.map { ($0["profile"] as? String ?? "", $0) }) { first, _ in first }
    }

    /// Starts a playback of an entry with one profile, and returns the token of its grant.
    func token(_ path: String, client: String? = nil, profile: String) throws -> String {
        try #require(try start(path, client: client)[profile]?["token"] as? String)
    }

    func post(_ path: String, body: Object) throws -> HTTPConnection.Response {
        try gate.post(path, body: String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self))
    }

    /// Asks for a target of `cdn.example` as an edge does.
    func check(
        _ target: String,
        token: String? = nil,
        client: String? = nil,
        cookie: String? = nil,
        method: String = "GET",
        nginx: Bool = false
    ) throws -> HTTPConnection.Response {
        let separator = target.contains("?") ? "&" : "?"
        let whole = target + (token.map { "\(separator)URISigningPackage=\($0)" } ?? "")
        var headers =
            nginx
            ? [
                "X-Original-URI": whole, "X-Original-Method": method, "X-Original-Host": "cdn.example",
                "X-Original-URL": "https://cdn.example\(whole)",
            ]
            : [
                "X-Forwarded-Uri": whole, "X-Forwarded-Method": method, "X-Forwarded-Host": "cdn.example",
                "X-Forwarded-Proto": "https",
            ]
        headers["X-Forwarded-For"] = client
        headers["Cookie"] = cookie.map { "URISigningPackage=\($0)" }
        return try HTTPConnection(gate.edge).request(
            "GET",
            path: "/v1/check/\(nginx ? "nginx" : "forward")",
            headers: headers
        )
    }

    /// The code of the answer to a check.
    func code(for target: String, token: String? = nil, client: String? = nil) throws -> String {
        try check(target, token: token, client: client).values("X-Playgate-Code").first ?? ""
    }

    /// The claims of a token, verified by nobody.
    static func claims(_ token: String) throws -> Object {
        let parts = token.split(separator: ".")
        let payload = try #require(Base64.decodeURLSafe(String(parts.count == 2 ? parts[0] : parts[1])))
        return try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? Object)
    }
}
