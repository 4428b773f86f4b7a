// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Foundation
import GateTestSupport
import MediaResources
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import Sandbox

/// A sandbox that runs in this process during a test, with a clock that the test sets.
final class InProcessSandbox: Sendable {
    /// `127.0.0.1:PORT`.
    let address: String
    let keys: SandboxKeys
    private let clock: TestClock

    static let statement = statement(#"{"sub":"test"}"#)

    /// Returns an unsigned software statement with these claims.
    static func statement(_ claims: String) -> String {
        [#"{"alg":"none"}"#, claims, "signature"].map { part in
            Data(part.utf8).base64EncodedString().replacing("=", with: "").replacing("+", with: "-")
                .replacing("/", with: "_")
        }.joined(separator: ".")
    }

    static let keys = Result { () throws(any Error) in
        let keys = try GateSample.trusted.get().keys
        return try SandboxKeys(certificate: keys.signerCertificate, key: keys.signerKey, at: GateSample.time)
    }

    private init(_ url: String, keys: SandboxKeys, clock: TestClock) {
        address = String(url.dropFirst("http://".count))
        self.keys = keys
        self.clock = clock
    }

    var url: String { "http://\(address)" }

    var now: Timestamp { clock.now }

    func advance(seconds: Int64) { clock.advance(seconds: seconds) }

    /// Runs a sandbox, and `body` on its own thread.
    static func with<Value: Sendable>(
        _ configuration: String? = nil,
        state: SandboxServer.State = .memory,
        pages: ApplicationPages? = nil,
        patience: Duration = SandboxServer.patience,
        body: @escaping @Sendable (InProcessSandbox) throws -> Value
    ) async throws -> Value {
        let clock = TestClock()
        let keys = try keys.get()
        let server = try SandboxServer(
            configuration.map { try SandboxConfiguration($0, file: ConfigurationFile(path: "test.yaml")) }
                ?? SandboxConfiguration(),
            keys: keys,
            state: state,
            pages: pages,
            clock: { clock.now }
        )
        return try await server.withServer(patience: patience) { url in
            let sandbox = InProcessSandbox(url, keys: keys, clock: clock)
            return try await onThread { try body(sandbox) }
        }
    }

    /// Runs a sandbox, and `body` with a device of a registered application, on which a user may have logged in.
    static func withDevice<Value: Sendable>(
        _ configuration: String? = nil,
        user: String? = nil,
        body: @escaping @Sendable (InProcessSandbox, TestDevice) throws -> Value
    ) async throws -> Value {
        try await with(configuration) { (sandbox) throws in
            let device = try sandbox.device()
            if let user { try device.logIn(user) }
            return try body(sandbox, device)
        }
    }

    /// Returns the default configuration with one text replaced.
    static func configuration(replacing text: String, with other: String) -> String {
        precondition(SandboxConfiguration.defaultText.contains(text), "not in the default: \(text)")
        return SandboxConfiguration.defaultText.replacing(text, with: other)
    }

    // MARK: Requests

    typealias Response = HTTPConnection.Response

    /// Sends a request, and reads the response.
    func send(
        _ method: String,
        path: String,
        headers: [String: String] = [:],
        body: String? = nil,
        host: String? = nil
    ) throws -> Response {
        let connection = try HTTPConnection(address)
        let path = path.hasPrefix(url) ? String(path.dropFirst(url.count)) : path
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? address)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        try connection.send(text + "\r\n" + (body ?? ""))
        return try connection.response(hasBody: method != "HEAD")
    }

    func get(_ path: String, headers: [String: String] = [:]) throws -> Response {
        try send("GET", path: path, headers: headers)
    }

    func form(to path: String, fields: [String: String], headers: [String: String] = [:]) throws -> Response {
        var headers = headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return try send("POST", path: path, headers: headers, body: Self.query(fields))
    }

    func json(to path: String, body: String, headers: [String: String] = [:]) throws -> Response {
        var headers = headers
        headers["Content-Type"] = "application/json"
        return try send("POST", path: path, headers: headers, body: body)
    }

    /// Sets switches of the sandbox, and returns the response.
    @discardableResult func control(_ body: String) throws -> Response { try json(to: "/sandbox/control", body: body) }

    static func query(_ fields: [String: String]) -> String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(
            separator: "&"
        )
    }

    // MARK: Registration

    /// Registers an application, and returns its access token.
    func bearer(statement: String = statement, redirect: String? = nil) throws -> String {
        var body = ["software_statement": statement]
        body["redirect_uri"] = redirect
        let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        let registration = try json(to: "/o/client/register", body: text).json
        let token = try form(
            to: "/o/client/token",
            fields: [
                "grant_type": "client_credentials", "client_id": registration["client_id"] as? String ?? "",
                "client_secret": registration["client_secret"] as? String ?? "",
            ]
        )
        return token.json["access_token"] as? String ?? ""
    }

    /// Creates a device with a registered application.
    func device(_ name: String = "device-1") throws -> TestDevice {
        TestDevice(sandbox: self, name: name, bearer: try bearer())
    }

    /// Verifies a token for a resource at the current time.
    func verify(_ token: String, resource: String, requestor: String = "REF30") throws -> Verification {
        let trust = try TrustStore([.pem(keys.certificate, name: "signer")], at: now)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: requestor))
        return verifier.verify(token, for: try MediaResource(resource), at: now)
    }

    /// Returns a gate that protects one programme by a resource, and trusts the sandbox.
    func gate(_ resource: String) throws -> Gate {
        var catalogue = Catalogue()
        try catalogue.add(
            Catalogue.Entry(
                key: .media("programme"),
                protection: .resource(try MediaResource(resource), requestor: "REF30")
            )
        )
        let trust = try TrustStore([.pem(keys.certificate, name: "signer")], at: now)
        return Gate(
            catalogue: catalogue,
            verifier: Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30")),
            store: MemoryReplayStore(capacity: 10)
        )
    }
}

extension String {
    /// Returns the value of the hidden field with that name in this page.
    func hidden(_ name: String) -> String? { between("name=\"\(name)\" value=\"", and: "\"") }

    /// Returns the text between two texts, if both are present.
    func between(_ start: String, and end: String) -> String? {
        guard let first = range(of: start), let last = self[first.upperBound...].range(of: end) else { return nil }
        return String(self[first.upperBound..<last.lowerBound])
    }
}

extension HTTPConnection.Response {
    /// Returns the objects in a list of the body.
    func list(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }

    /// The code of an error: at the top level, of the first decision, or of the whole preauthorization; also from XML.
    var anyCode: String? {
        if let code { return code }
        for name in ["decisions", "resources"] {
            if let error = list(name).first?["error"] as? [String: Any] { return error["code"] as? String }
        }
        if let status = json["status"] as? [String: Any] { return status["code"] as? String }
        if let error = json["error"] as? String { return error }
        return body.firstMatch(of: /<code>([^<]+)<\/code>/).map { String($0.1) }
    }

    var location: String { headers["location"] ?? "" }
}
