// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import Platform
internal import XML

/// Registration codes, which a device displays and a person types on a second screen.
extension SandboxCore {
    var registrationCodeEndpoints: [Endpoint] {
        [
            Endpoint(.post, path: "/reggie/v1/:requestor/regcode", operation: .regcode, dialect: .v1, answer: create),
            Endpoint(
                .get,
                path: "/reggie/v1/:requestor/regcode/:code",
                operation: .regcode,
                dialect: .v1,
                answer: show
            ),
            Endpoint(
                .delete,
                path: "/reggie/v1/:requestor/regcode/:code",
                operation: .regcode,
                dialect: .v1,
                answer: remove
            ),
        ]
    }

    private func create(_ call: EndpointRequest) async throws -> Response {
        let (requestor, client) = try await authorized(call)
        guard let device = call.deviceName else {
            if call.namesDevice { throw EndpointError.v1(.invalidDeviceID) }
            throw EndpointError(400, message: "Required 'deviceId' is not present")
        }
        let provider = call.parameter("mvpd", "mso_id")
        if let provider { _ = try self.provider(provider, of: requestor, in: call) }
        guard let seconds = Int64(call.parameter("ttl") ?? "1800"), 1...36_000 ~= seconds else {
            throw EndpointError(400, message: "'ttl' must be from 1 to 36000 seconds")
        }
        let refusal = EndpointError(400, message: "'redirect_url' is not registered for this application")
        let redirect = try call.redirect(
            to: call.parameter("redirect_url"),
            registered: client.redirectURIs,
            or: refusal
        )
        let session = LoginSession(
            requestor: requestor.id,
            device: Device(device),
            client: client.id,
            provider: provider,
            redirect: redirect,
            created: call.now,
            expires: call.now.advanced(byMilliseconds: seconds * 1000)
        )
        try await store.add(session, at: call.now)
        return try reply(
            with: session,
            to: call,
            device: device,
            status: .created,
            isJSON: call.wantsJSON(default: true)
        )
    }

    private func show(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        guard let session = try await store.session(call.segment("code"), of: requestor.id, at: call.now) else {
            throw EndpointError(404, message: "Not found")
        }
        // Only the device itself gets its identifier back. Others get the fingerprint.
        let device = session.device.fingerprint
        return try reply(with: session, to: call, device: device, status: .ok, isJSON: call.wantsJSON(default: false))
    }

    private func remove(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        guard try await store.removeSession(call.segment("code"), of: requestor.id) else {
            throw EndpointError(404, message: "Not found")
        }
        return .empty(.noContent)
    }

    private func reply(
        with session: LoginSession,
        to call: EndpointRequest,
        device: String,
        status: HTTPResponse.Status,
        isJSON: Bool
    ) throws -> Response {
        let agent = call.headers[.userAgent].flatMap { $0.isLegalXML ? $0 : nil } ?? ""
        let fields = [
            ("id", session.id), ("code", session.code), ("requestor", session.requestor), ("mvpd", session.provider),
        ]
        let times = [("generated", session.created), ("expires", session.expires)]
            .map { ($0, $1.millisecondsSince1970) }
        let info = [
            ("deviceId", device), ("userAgent", agent), ("originalUserAgent", agent), ("authorizationType", "OAUTH2"),
        ]
        guard isJSON else {
            let texts = fields.compactMap { name, text in text.map { (name, $0) } } + times.map { ($0, "\($1)") }
            let infoElement = XMLElement("info", children: info.map { XMLElement($0, text: $1) })
            let regcode = XMLElement(
                "regcode",
                namespace: "model.mvc.reggie.pass.adobe.com",
                children: texts.map { XMLElement($0, text: $1) } + [infoElement]
            )
            return .xml(try regcode.document(prefix: "ns2"), status: status)
        }
        let application: JSON = ["id": .optional(session.client), "name": "application", "version": "1.0"]
        let more: [JSON.Member] = [
            ("deviceInfo", .optional(call.header("X-Device-Info"))), ("sourceApplicationInformation", application),
        ]
        let members: [JSON.Member] = fields.map { ($0, .optional($1)) } + times.map { ($0, .number($1)) }
        let object = JSON.object(info.map { ($0, .string($1)) } + more)
        return .json(.object(members + [("info", object)]), status: status)
    }
}
