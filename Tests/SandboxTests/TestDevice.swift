// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport

/// A device with a registered application.
struct TestDevice: Sendable {
    let sandbox: InProcessSandbox
    let name: String
    let bearer: String
    /// The header field of the access token.
    let authorization: [String: String]

    typealias Response = HTTPConnection.Response

    init(sandbox: InProcessSandbox, name: String, bearer: String) {
        self.sandbox = sandbox
        self.name = name
        self.bearer = bearer
        authorization = ["Authorization": "Bearer \(bearer)"]
    }

    /// Returns the page on which a viewer logs in for a new session.
    func loginPage(_ mvpd: String? = "SandboxMVPD") throws -> String {
        try sandbox.get(session(mvpd).json["url"] as? String ?? "").location
    }

    /// Logs out by REST API v2, and returns what remains to do.
    func logOut(_ mvpd: String = "SandboxMVPD", path: String = "REF30/logout") throws -> [String: Any] {
        let answer = try get("/api/v2/\(path)/\(mvpd)?redirectUrl=\(Self.redirect.percentEncoded)")
        return (answer.json["logouts"] as? [String: [String: Any]])?[mvpd] ?? [:]
    }

    // MARK: REST API v2

    var headers: [String: String] {
        [
            "Authorization": "Bearer \(bearer)",
            "AP-Device-Identifier": "fingerprint \(Data(name.utf8).base64EncodedString())",
        ]
    }

    func get(_ path: String, headers more: [String: String] = [:]) throws -> Response {
        try sandbox.get(path, headers: headers.merging(more) { $1 })
    }

    func form(to path: String, fields: [String: String], headers more: [String: String] = [:]) throws -> Response {
        try sandbox.form(to: path, fields: fields, headers: headers.merging(more) { $1 })
    }

    static let redirect = "adobepass://ios.app"

    /// Starts a login.
    func session(
        _ mvpd: String? = "SandboxMVPD",
        redirect: String? = redirect,
        requestor: String = "REF30"
    ) throws -> Response {
        var fields = ["domainName": "adobe.com"]
        fields["mvpd"] = mvpd
        fields["redirectUrl"] = redirect
        return try form(to: "/api/v2/\(requestor)/sessions", fields: fields)
    }

    /// Logs a user in, as with a browser.
    @discardableResult func logIn(
        _ user: String,
        mvpd: String = "SandboxMVPD",
        requestor: String = "REF30"
    ) throws -> Response {
        let session = try session(mvpd, requestor: requestor).json
        return try submit(user, to: sandbox.get(session["url"] as? String ?? "").location)
    }

    /// Submits the form of a login page.
    func submit(_ user: String, password: String? = nil, to page: String) throws -> Response {
        let ticket = try sandbox.get(page).body.hidden("ticket") ?? ""
        return try sandbox.form(
            to: "/sandbox/idp/login",
            fields: ["ticket": ticket, "username": user, "password": password ?? user]
        )
    }

    func decide(
        _ kind: String,
        resources: [String],
        mvpd: String = "SandboxMVPD",
        requestor: String = "REF30",
        headers more: [String: String] = [:]
    ) throws -> Response {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: ["resources": resources]), as: UTF8.self)
        return try sandbox.json(
            to: "/api/v2/\(requestor)/decisions/\(kind)/\(mvpd)",
            body: body,
            headers: headers.merging(more) { $1 }
        )
    }

    func authorize(
        _ resource: String,
        mvpd: String = "SandboxMVPD",
        headers more: [String: String] = [:]
    ) throws -> Response {
        try decide("authorize", resources: [resource], mvpd: mvpd, headers: more)
    }

    /// Returns the media token for a resource; `nil` if there is none.
    func token(
        for resource: String,
        mvpd: String = "SandboxMVPD",
        headers more: [String: String] = [:]
    ) throws -> String? {
        let decision = try authorize(resource, mvpd: mvpd, headers: more).list("decisions").first
        return (decision?["token"] as? [String: Any])?["serializedToken"] as? String
    }

    // MARK: REST API v1

    /// Calls REST API v1 with its common parameters.
    func v1(
        _ path: String,
        parameters: [String: String] = [:],
        method: String = "GET",
        accept: String = "application/json",
        without missing: String? = nil
    ) throws -> Response {
        var fields = ["requestor": "REF30", "deviceId": name].merging(parameters) { $1 }
        if let missing { fields[missing] = nil }
        return try sandbox.send(
            method,
            // The commas of a list stay: an encoded comma is part of a resource.
            path: "\(path)?\(InProcessSandbox.query(fields).replacing("%2C", with: ","))",
            headers: ["Authorization": "Bearer \(bearer)", "Accept": accept]
        )
    }

    /// Gets a registration code.
    func code(_ fields: [String: String] = [:], requestor: String = "REF30") throws -> String {
        let answer = try sandbox.form(
            to: "/reggie/v1/\(requestor)/regcode",
            fields: ["deviceId": name, "format": "json"].merging(fields) { $1 },
            headers: ["Authorization": "Bearer \(bearer)"]
        )
        return answer.json["code"] as? String ?? ""
    }

    /// Returns the URL at which a browser starts a login with a registration code.
    func authenticateURL(_ code: String, mvpd: String = "SandboxMVPD", redirect: String = redirect) -> String {
        "/api/v1/authenticate?reg_code=\(code)&requestor_id=REF30&mso_id=\(mvpd)&domain_name=adobe.com"
            + "&noflash=true&no_iframe=true&redirect_url=\(redirect.percentEncoded)"
    }

    /// Logs a user in with a registration code.
    @discardableResult func logInByCode(_ user: String, mvpd: String = "SandboxMVPD") throws -> Response {
        try submit(user, to: sandbox.get(authenticateURL(try code(), mvpd: mvpd)).location)
    }

    // MARK: Native SDKs

    /// Gets the long-lived tokens that native SDKs store.
    func longLivedTokens(_ resource: String = "TNT", user: String = "alice") throws -> (authN: String, authZ: String) {
        let code = try code()
        _ = try submit(user, to: sandbox.get(authenticateURL(code)).location)
        let session = try legacy("session", fields: ["reg_code": code], isKnown: true)
        let authN = session.element("authnToken") ?? ""
        let authorize = try legacy("authorize", fields: ["resource_id": resource, "authentication_token": authN])
        return (authN, authorize.element("authzToken") ?? "")
    }

    func legacy(
        _ path: String,
        fields: [String: String],
        requestor: String = "REF30",
        isKnown: Bool = false
    ) throws -> Response {
        try sandbox.form(
            to: "/adobe-services/\(path)",
            fields: ["requestor_id": requestor].merging(fields) { $1 },
            headers: isKnown ? ["Authorization": "Bearer \(bearer)", "Ap_21": name] : [:]
        )
    }
}

extension HTTPConnection.Response {
    /// Returns the text of an element of the body, as native SDKs parse it: in one line, without attributes.
    func element(_ name: String) -> String? {
        guard let text = body.between("<\(name)>", and: "</\(name)>"), !text.isEmpty, !text.contains("\n") else {
            return nil
        }
        return text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&#13;", with: "\r")
            .replacing("&amp;", with: "&")
    }
}
