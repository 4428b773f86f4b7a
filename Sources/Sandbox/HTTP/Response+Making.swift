// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension Response {
    /// Returns a response with an entitlement value in JSON.
    static func json(
        _ value: some Encodable,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) throws -> Response {
        .bytes(
            try EntitlementBody.json(value),
            type: "application/json;charset=UTF-8",
            status: status,
            headers: headers
        )
    }

    /// Returns a response with a JSON text.
    static func json(_ text: JSON, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> Response {
        .bytes([UInt8](text.line.utf8), type: "application/json;charset=UTF-8", status: status, headers: headers)
    }

    /// Returns a response with an entitlement value, in the format that the client prefers.
    static func body(_ value: some Encodable, xml: String, to call: EndpointRequest) throws -> Response {
        call.wantsJSON(default: true) ? try .json(value) : .xml(xml)
    }

    static func xml(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        .bytes([UInt8](text.utf8), type: "application/xml;charset=UTF-8", status: status)
    }

    static func text(
        _ text: String,
        type: String = "text/plain;charset=UTF-8",
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> Response { .bytes([UInt8](text.utf8), type: type, status: status, headers: headers) }

    static func empty(_ status: HTTPResponse.Status) -> Response { Response(status: status) }

    /// Returns a redirect (302) for a browser.
    static func redirect(to url: String) -> Response {
        Response(status: .found, headers: [.location: url, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }

    static func bytes(
        _ bytes: [UInt8],
        type: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = type
        headers[.cacheControl] = "no-store"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension HTTPField.Name {
    /// A marker of the sandbox: the response is not from a TV provider.
    static let playgateSandbox = of("Playgate-Sandbox")
    static let referrerPolicy = of("Referrer-Policy")
    static let adobeRequestID = of("Adobe-Request-Id")
    static let adobeResponseConfidence = of("Adobe-Response-Confidence")
    static let forwarded = of("Forwarded")
    static let forwardedFor = of("X-Forwarded-For")
    /// A value that a registered device sends with later requests.
    static let devicePass = of("pass_sfp")

    private static func of(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a header field name") }
        return name
    }
}
