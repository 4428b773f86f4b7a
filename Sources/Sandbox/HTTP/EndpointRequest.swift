// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Platform

/// A request as the endpoints see it: all of it is there, and of bounded size.
struct EndpointRequest: Sendable {
    let method: HTTPRequest.Method
    let headers: HTTPFields
    /// What the client calls this service: the `Host` header as it came.
    let authority: String?
    /// What stands for the names in the endpoint's path, decoded.
    let segments: [String: String]
    let query: Fields
    /// Empty where the body is no form.
    let form: Fields
    let body: [UInt8]
    /// The address at the other end of the connection.
    let peer: SocketAddress?
    let channel: any Channel
    /// When it came.
    let now: Timestamp
    /// Names the answer.
    let trace: String
    /// How its errors are told.
    let dialect: Dialect

    /// The most that a body may have, in bytes.
    static let bodyLimit = 256 * 1024

    /// What the path has for `name`.
    func segment(_ name: String) -> String { segments[name] ?? "" }

    /// A parameter under the first of these names that has a value, in the query or in the form.
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

    /// Where this service is, as the client calls it: `http://127.0.0.1:8070`.
    var origin: String { "http://\(host ?? "localhost")" }

    /// The `Host` header, where it is one.
    var host: String? {
        guard let host = authority, !host.isEmpty, host.utf8.count <= 255,
            host.utf8.allSatisfy({ $0.isHostCharacter })
        else { return nil }
        return host
    }

    /// Where the device is that it is about, as a server says that asks for it.
    var forwardedAddress: String? {
        guard let forwarded = header("X-Forwarded-For")?.split(separator: ",").first else { return nil }
        return String(forwarded.filter { $0 != " " }.prefix(64))
    }

    /// Whether JSON is wanted, and not XML.
    func wantsJSON(default fallback: Bool) -> Bool {
        switch parameter("format")?.lowercased() {
        case "json": return true
        case "xml": return false
        default: break
        }
        // Browsers, and what looks like one, name XML among much else: that says nothing.
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
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
