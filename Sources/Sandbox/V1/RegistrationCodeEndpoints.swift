// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import Platform
internal import XML

/// Registration codes, which a device shows and a person types on a second screen.
struct RegistrationCodeEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.post, "/reggie/v1/:requestor/regcode", .regcode, .v1, create),
            Endpoint(.get, "/reggie/v1/:requestor/regcode/:code", .regcode, .v1, show),
            Endpoint(.delete, "/reggie/v1/:requestor/regcode/:code", .regcode, .v1, remove),
        ]
    }

    private func requestor(_ call: EndpointRequest) async throws -> (SandboxConfiguration.Requestor, Client) {
        guard let requestor = core.configuration.requestor(call.segment("requestor")) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        return (requestor, try await core.caller(call, for: requestor))
    }

    private func create(_ call: EndpointRequest) async throws -> Response {
        let (requestor, client) = try await requestor(call)
        guard let device = call.deviceName else {
            if call.namesDevice { throw EndpointError.v1(.invalidDeviceID) }
            throw EndpointError(400, "Required 'deviceId' is not present")
        }
        let provider = call.parameter("mvpd", "mso_id")
        if let provider, core.configuration.provider(provider, of: requestor) == nil {
            throw EndpointError.v1(.unknownIntegration)
        }
        var lifetime: Int64 = 1800
        if let text = call.parameter("ttl") {
            guard let seconds = Int64(text), 1...36_000 ~= seconds else {
                throw EndpointError(400, "'ttl' must be from 1 to 36000 seconds")
            }
            lifetime = seconds
        }
        let redirect = try call.parameter("redirect_url").map { url in
            guard let target = RedirectTarget.allowed(url, registered: client.redirectURIs, host: call.host) else {
                throw EndpointError(400, "'redirect_url' is not registered for this application")
            }
            return target
        }
        let session = LoginSession(
            code: RandomText.code,
            id: RandomText.uuid,
            requestor: requestor.id,
            device: Device(device),
            client: client.id,
            provider: provider,
            redirect: redirect,
            created: call.now,
            expires: call.now.advanced(byMilliseconds: lifetime * 1000)
        )
        try await core.store.add(session, at: call.now)
        return try answer(session, call, device: device, status: .created, prefersJSON: true)
    }

    private func show(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await requestor(call)
        guard let session = try await core.store.session(call.segment("code"), at: call.now),
            session.requestor == requestor.id
        else { throw EndpointError(404, "Not found") }
        return try answer(session, call, device: nil, status: .ok, prefersJSON: false)
    }

    private func remove(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await requestor(call)
        guard try await core.store.removeSession(call.segment("code"), of: requestor.id) else {
            throw EndpointError(404, "Not found")
        }
        return .empty(.noContent)
    }

    private func answer(
        _ session: LoginSession,
        _ call: EndpointRequest,
        device: String?,
        status: HTTPResponse.Status,
        prefersJSON: Bool
    ) throws -> Response {
        // Only the device itself gets its identifier back. Others get the fingerprint.
        let deviceName = device ?? session.device.fingerprint
        let agent = call.headers[.userAgent].flatMap { $0.isLegalXML ? $0 : nil } ?? ""
        if call.wantsJSON(default: prefersJSON) {
            let device = (name: deviceName, information: call.header("X-Device-Info"), agent: agent)
            return .json(Self.json(session, device), status: status)
        }
        return .xml(try Self.xml(session, device: deviceName, agent: agent), status: status)
    }

    private static func json(
        _ session: LoginSession,
        _ device: (name: String, information: String?, agent: String)
    ) -> JSON {
        let info = JSON.object([
            ("deviceId", .string(device.name)), ("deviceInfo", .optional(device.information)),
            ("userAgent", .string(device.agent)), ("originalUserAgent", .string(device.agent)),
            ("authorizationType", .string("OAUTH2")),
            (
                "sourceApplicationInformation",
                .object([
                    ("id", .optional(session.client)), ("name", .string("application")),
                    ("version", .string("1.0")),
                ])
            ),
        ])
        return .object([
            ("id", .string(session.id)), ("code", .string(session.code)),
            ("requestor", .string(session.requestor)), ("mvpd", .optional(session.provider)),
            ("generated", .number(session.created.millisecondsSince1970)),
            ("expires", .number(session.expires.millisecondsSince1970)), ("info", info),
        ])
    }

    private static func xml(_ session: LoginSession, device: String, agent: String) throws -> String {
        func field(_ name: String, _ text: String?) -> [XMLElement] { text.map { [XMLElement(name, text: $0)] } ?? [] }
        let info = XMLElement(
            "info",
            children: field("deviceId", device) + field("userAgent", agent) + field("originalUserAgent", agent)
                + field("authorizationType", "OAUTH2")
        )
        let regcode = XMLElement(
            "regcode",
            namespace: "model.mvc.reggie.pass.adobe.com",
            children: field("id", session.id) + field("code", session.code) + field("requestor", session.requestor)
                + field("mvpd", session.provider) + field("generated", "\(session.created.millisecondsSince1970)")
                + field("expires", "\(session.expires.millisecondsSince1970)") + [info]
        )
        return try regcode.document(prefix: "ns2")
    }
}
