// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Platform

/// A parsed request, complete in memory and of bounded size.
struct EndpointRequest: Sendable {
    let method: HTTPRequest.Method
    let headers: HTTPFields
    /// The `Host` header field as the client sent it.
    let authority: String?
    /// The values of the named path segments, percent-decoded.
    let segments: [String: String]
    let query: Fields
    /// The form fields; empty if the body is not a form.
    let form: Fields
    let body: [UInt8]
    /// The remote address of the connection.
    let peer: SocketAddress?
    let channel: any Channel
    /// The time of the request.
    let now: Timestamp
    /// An identifier of the request, for answers and logs.
    let trace: String
    /// The form of its errors.
    let dialect: Dialect

    /// The maximum size of a body in bytes.
    static let bodyLimit = 256 * 1024

    /// Returns the value of the path segment `name`; empty if there is none.
    func segment(_ name: String) -> String { segments[name] ?? "" }

    /// Returns the value of the first of these parameters that is not empty. The query comes before the form.
    func parameter(_ names: String...) -> String? {
        for name in names {
            if let value = query.first(name) ?? form.first(name) { return value }
        }
        return nil
    }

    func header(_ name: String) -> String? {
        guard let name = HTTPField.Name(name), let value = headers[name], !value.isEmpty else { return nil }
        return value
    }

    /// The token of `Authorization: Bearer`.
    var bearer: String? {
        guard let value = headers[.authorization] else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// The base URL of this service as the client addresses it: `http://127.0.0.1:8070`.
    var origin: String { "http://\(host ?? "localhost")" }

    /// The `Host` header field; `nil` if it is missing, longer than 255 bytes or malformed.
    var host: String? {
        guard let host = authority, !host.isEmpty, host.utf8.count <= 255,
            host.utf8.allSatisfy({ $0.isHostCharacter })
        else { return nil }
        return host
    }

    /// The address of the device, if a server that acts for it sends `X-Forwarded-For`.
    var forwardedAddress: String? {
        guard let forwarded = header("X-Forwarded-For")?.split(separator: ",").first else { return nil }
        return String(forwarded.filter { $0 != " " }.prefix(64))
    }

    /// True if the client prefers JSON to XML.
    func wantsJSON(default fallback: Bool) -> Bool {
        switch parameter("format")?.lowercased() {
        case "json": return true
        case "xml": return false
        default: break
        }
        // Browsers and browser-like clients list XML among other types, so `text/html` in `Accept` means no preference.
        let accept = headers[.accept]?.lowercased() ?? ""
        guard !accept.contains("text/html") else { return fallback }
        if accept.contains("json") { return true }
        if accept.contains("xml") { return false }
        return fallback
    }
}

extension UInt8 {
    fileprivate var isHostCharacter: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): true
        default: isASCIIAlphanumeric
        }
    }
}
